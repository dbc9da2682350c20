// Tracker: the tracker's end of a stream, for one process with one node. It sends what the test
// says. Not thread-safe.
#ifndef BERTH_TESTS_PROCESSES_SCRIPTED_TRACKER_H_
#define BERTH_TESTS_PROCESSES_SCRIPTED_TRACKER_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/report.grpc.pb.h"
#include "grpcpp/client_context.h"
#include "placement/ground/uuid.h"

namespace berth::e2e {

namespace pb = ::berth::placement::v1;

class Tracker {
 public:
  Tracker(const std::shared_ptr<grpc::Channel>& channel, const std::string& host,
          const std::string& node)
      : stub_(pb::ReportService::NewStub(channel)), host_(host), node_(node) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    stream_ = stub_->Session(&context_);
  }

  void Hello(const std::string& digest, const std::string& machine = "m1",
             const std::optional<pb::Revision>& pushed = std::nullopt) {
    stream_->Write(MakeHello(digest, machine, pushed));
  }
  pb::SessionRequest MakeHello(const std::string& digest, const std::string& machine = "m1",
                               const std::optional<pb::Revision>& pushed = std::nullopt) {
    pb::SessionRequest request;
    pb::Hello& hello = *request.mutable_hello();
    hello.set_host(host_);
    hello.set_binary("berth-tracker");
    hello.set_incarnation(incarnation_);
    hello.set_machine_id(machine);
    hello.set_zone("zone-1");
    pb::NodeDigest* named = hello.add_nodes();
    named->set_node_uuid(node_);
    named->set_node_name(host_);
    named->set_digest(digest);
    if (pushed) *named->mutable_pushed_revision() = *pushed;
    return request;
  }

  // A snapshot of a root with `vcpus`, based on a generation if one is given.
  void Snapshot(int64_t sequence, int64_t vcpus, std::optional<int64_t> base) {
    stream_->Write(MakeSnapshot(sequence, vcpus, base));
  }
  pb::SessionRequest MakeSnapshot(int64_t sequence, int64_t vcpus, std::optional<int64_t> base) {
    pb::SessionRequest request;
    pb::Report& report = *request.mutable_report();
    report.set_node_uuid(node_);
    report.set_node_name(host_);
    report.set_sequence(sequence);
    report.set_kind(pb::REPORT_KIND_SNAPSHOT);
    report.set_digest(absl::StrCat("digest-", vcpus));
    report.mutable_facts()->set_vcpus(static_cast<int32_t>(vcpus));
    report.mutable_audit();
    pb::WantedProvider* root = report.add_providers();
    root->set_uuid(node_);
    root->set_name(host_);
    if (base) root->set_base_generation(*base);
    (*root->mutable_inventories())["VCPU"].set_total(vcpus);
    root->add_traits_present("COMPUTE_NODE");
    return request;
  }

  void Beat(int64_t count, bool audit_overdue = false) {
    pb::SessionRequest request;
    request.mutable_heartbeat()->set_count(count);
    pb::NodeBeat* const beat = request.mutable_heartbeat()->add_nodes();
    beat->set_node_uuid(node_);
    beat->set_audit_overdue(audit_overdue);
    stream_->Write(request);
  }

  // The next message that is no push; pushes go to `pushes`. Nothing if the stream has ended. Pushes
  // that tell only the tracker's service are left out, here and in NextPush: one may come at any
  // time after a Hello, also before the push of everything.
  pb::SessionResponse Next() {
    pb::SessionResponse response;
    while (stream_->Read(&response)) {
      if (!response.has_push()) return response;
      if (TakePush(response)) pushes.push_back(response.push());
    }
    return pb::SessionResponse();
  }
  pb::Push NextPush() {
    pb::SessionResponse response;
    while (stream_->Read(&response)) {
      if (response.has_push() && TakePush(response)) return response.push();
    }
    return pb::Push();
  }
  grpc::Status End() {
    stream_->WritesDone();
    pb::SessionResponse rest;
    while (stream_->Read(&rest)) {
    }
    return stream_->Finish();
  }

  // Sends Hello and the first snapshot. Returns the root's generation.
  int64_t Appear(int64_t vcpus) {
    Hello("");
    EXPECT_EQ(Next().welcome().nodes(0).standing(), pb::NODE_STANDING_SEND_ALL);
    Snapshot(1, vcpus, std::nullopt);
    const pb::Ack ack = Next().ack();
    EXPECT_EQ(ack.sequence(), 1);
    return ack.generations().empty() ? -1 : ack.generations(0).generation();
  }

  grpc::ClientReaderWriter<pb::SessionRequest, pb::SessionResponse>& stream() { return *stream_; }
  std::vector<pb::Push> pushes;
  pb::Revision told_up_to;  // of the last push

 private:
  // Returns whether the push tells anything but the service.
  bool TakePush(const pb::SessionResponse& response) {
    told_up_to = response.revision();
    pb::Push rest = response.push();
    if (!rest.has_service()) return true;
    rest.clear_service();
    rest.clear_node_uuid();
    return rest.ByteSizeLong() != 0;
  }

  std::unique_ptr<pb::ReportService::Stub> stub_;
  const std::string host_;
  const std::string node_;
  const std::string incarnation_ = placement::Uuid::Random().ToString();
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<pb::SessionRequest, pb::SessionResponse>> stream_;
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_SCRIPTED_TRACKER_H_
