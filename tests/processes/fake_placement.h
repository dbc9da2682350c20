// FakePlacement: the server end of a tracker's stream, which answers as the test says.
#ifndef BERTH_TESTS_PROCESSES_FAKE_PLACEMENT_H_
#define BERTH_TESTS_PROCESSES_FAKE_PLACEMENT_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/placement/v1/report.grpc.pb.h"
#include "berth/placement/v1/report.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/check.h"
#include "tracker/ground/mutex.h"

namespace berth::tracker {

class FakePlacement final : public placement::v1::ReportService::Service {
 public:
  using Request = placement::v1::SessionRequest;
  using Response = placement::v1::SessionResponse;
  using Report = placement::v1::Report;

  // What the fake answers to a report.
  enum class Fate { kAck, kConflict, kLater, kInvalid, kInUse, kGap, kDaily, kLimited, kSilence };

  // Listens on `port`; 0: one that the system chooses. `prepare` sets what a tracker must find that
  // connects at once.
  explicit FakePlacement(
      int port = 0, const std::function<void(FakePlacement*)>& prepare = [](FakePlacement*) {}) {
    prepare(this);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    BERTH_CHECK(server_ != nullptr);
  }
  ~FakePlacement() override { server_->Shutdown(std::chrono::system_clock::now()); }

  int port() const { return port_; }
  std::string target() const { return "127.0.0.1:" + std::to_string(port_); }

  // Set them before the session to which they apply.
  placement::v1::NodeStanding standing = placement::v1::NODE_STANDING_SEND_ALL;
  int64_t last_sequence = 0;
  std::string service_uuid;  // of the service in a Welcome
  std::vector<placement::v1::RecordedNode> recorded;
  std::function<Fate(const Report&)> fate = [](const Report&) { return Fate::kAck; };
  std::function<void(Response*)> conflict = [](Response*) {};
  // Answers a write of records; nothing: does not.
  std::function<std::optional<Response>(const placement::v1::RecordWrite&)> write =
      [](const placement::v1::RecordWrite&) { return std::nullopt; };
  std::vector<std::string> unknown_traits;             // named in every Ack
  std::vector<placement::v1::ProviderLimits> limited;  // in every Ack
  std::string words;                                   // the message of every Reject
  bool welcomes = true;                                // false: does not answer a Hello
  bool reads = true;                                   // false: reads nothing after the Hello
  grpc::Status end;  // the status with which EndSession() ends a session

  // A refusal as placement sends it.
  static grpc::Status Refusal(grpc::StatusCode code, const std::string& reason,
                              const std::string& words, const std::string& key = "") {
    google::rpc::ErrorInfo info;
    if (!key.empty()) (*info.mutable_metadata())[key] = "true";
    info.set_reason(reason);
    info.set_domain("berth.placement");
    google::rpc::Status details;
    details.set_code(code);
    details.set_message(words);
    details.add_details()->PackFrom(info);
    return {code, words, details.SerializeAsString()};
  }

  // Waits until `enough` is true of all requests so far; false after ten seconds.
  bool Wait(const std::function<bool(const std::vector<Request>&)>& enough) {
    const auto deadline = BootClock::now() + std::chrono::seconds(10);
    MutexLock lock(&mutex_);
    while (!enough(requests_)) {
      changed_.WaitUntil(&mutex_, deadline);
      if (BootClock::now() >= deadline) return enough(requests_);
    }
    return true;
  }
  bool WaitForReports(size_t count) {
    return Wait([count](const std::vector<Request>& all) { return Reports(all).size() >= count; });
  }
  // Whether the tracker says that the audit `order_id` is over; a report may follow that.
  bool WaitForAuditDone(const std::string& order_id) {
    return Wait([&order_id](const std::vector<Request>& all) {
      return std::any_of(all.begin(), all.end(), [&order_id](const Request& request) {
        return request.has_audit_done() && request.audit_done().order_id() == order_id;
      });
    });
  }
  static std::vector<Report> Reports(const std::vector<Request>& all) {
    std::vector<Report> reports;
    for (const Request& request : all) {
      if (request.has_report()) reports.push_back(request.report());
    }
    return reports;
  }
  std::vector<Request> requests() {
    MutexLock lock(&mutex_);
    return requests_;
  }
  std::vector<Report> reports() { return Reports(requests()); }
  // The addresses of the connections on which sessions came.
  std::set<std::string> peers() {
    MutexLock lock(&mutex_);
    return peers_;
  }

  // Sends a message in the open session.
  void Say(const Response& response) {
    MutexLock lock(&mutex_);
    if (stream_ != nullptr) stream_->Write(response);
  }
  void EndSession() {
    MutexLock lock(&mutex_);
    if (context_ != nullptr) context_->TryCancel();
  }

 private:
  using Stream = grpc::ServerReaderWriter<Response, Request>;
  static constexpr std::chrono::milliseconds kLook{5};  // between two looks at a session's end

  grpc::Status Session(grpc::ServerContext* context, Stream* stream) override {
    {
      MutexLock lock(&mutex_);
      context_ = context;
      stream_ = stream;
      peers_.insert(context->peer());
    }
    Request request;
    while (stream->Read(&request)) {
      MutexLock lock(&mutex_);
      requests_.push_back(request);
      if (!end.ok()) break;
      if (request.has_hello() && welcomes) Welcome(request.hello(), stream);
      if (request.has_report()) Answer(request.report(), stream);
      if (request.has_record_write()) {
        const std::optional<Response> answer = write(request.record_write());
        if (answer) stream->Write(*answer);
      }
      changed_.NotifyAll();
      while (!reads && !context->IsCancelled()) {
        changed_.WaitUntil(&mutex_, BootClock::now() + kLook);
      }
    }
    MutexLock lock(&mutex_);
    context_ = nullptr;
    stream_ = nullptr;
    changed_.NotifyAll();
    return end;
  }

  void Welcome(const placement::v1::Hello& hello, Stream* stream) {
    Response response;
    auto* const welcome = response.mutable_welcome();
    welcome->mutable_service()->set_uuid(service_uuid);
    welcome->mutable_heartbeat_interval()->set_nanos(50'000'000);
    for (const auto& node : recorded) *welcome->add_recorded_nodes() = node;
    for (const auto& node : hello.nodes()) {
      auto* const told = welcome->add_nodes();
      told->set_node_uuid(node.node_uuid());
      told->set_standing(standing);
      told->set_last_sequence(last_sequence);
      for (const auto& one : recorded) {
        if (one.node_uuid() == node.node_uuid()) *told->mutable_recorded() = one;
      }
    }
    stream->Write(response);
  }

  void Answer(const Report& report, Stream* stream) {
    Response response;
    const Fate what = fate(report);
    if (what == Fate::kSilence) return;
    if (what == Fate::kAck) {
      response.mutable_ack()->set_node_uuid(report.node_uuid());
      response.mutable_ack()->set_sequence(report.sequence());
      for (const std::string& trait : unknown_traits) {
        response.mutable_ack()->add_unknown_traits(trait);
      }
      for (const auto& provider : limited) *response.mutable_ack()->add_limited() = provider;
      for (const auto& provider : report.providers()) {
        auto* const generation = response.mutable_ack()->add_generations();
        generation->set_provider_uuid(provider.uuid());
        generation->set_generation(report.sequence() * 10);
      }
    } else {
      auto* const reject = response.mutable_reject();
      reject->set_node_uuid(report.node_uuid());
      reject->set_sequence(report.sequence());
      const grpc::StatusCode code =
          what == Fate::kConflict                          ? grpc::StatusCode::ABORTED
          : what == Fate::kLater                           ? grpc::StatusCode::UNAVAILABLE
          : what == Fate::kDaily || what == Fate::kLimited ? grpc::StatusCode::RESOURCE_EXHAUSTED
          : what == Fate::kInvalid                         ? grpc::StatusCode::INVALID_ARGUMENT
                                                           : grpc::StatusCode::FAILED_PRECONDITION;
      const char* const reason = what == Fate::kConflict  ? "PROVIDER_GENERATION_CONFLICT"
                                 : what == Fate::kLater   ? "STORE_UNAVAILABLE"
                                 : what == Fate::kInvalid ? "INVALID_FIELD"
                                 : what == Fate::kInUse   ? "INVENTORY_IN_USE"
                                 : what == Fate::kDaily   ? "DAILY_LIMIT_REACHED"
                                 : what == Fate::kLimited ? "CAPACITY_EXCEEDED"
                                                          : "REPORT_GAP";
      const char* const key = what == Fate::kLimited ? "limited" : "";
      reject->mutable_status()->ParseFromString(Refusal(code, reason, words, key).error_details());
      if (what == Fate::kConflict) conflict(&response);
    }
    stream->Write(response);
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Request> requests_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> peers_ ABSL_GUARDED_BY(mutex_);
  grpc::ServerContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace berth::tracker

#endif  // BERTH_TESTS_PROCESSES_FAKE_PLACEMENT_H_
