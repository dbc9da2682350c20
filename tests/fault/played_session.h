// PlayedSession: the tracker of a host, played by a test: its session with placement over TLS.
//
// For one thread.
#ifndef BERTH_TESTS_FAULT_PLAYED_SESSION_H_
#define BERTH_TESTS_FAULT_PLAYED_SESSION_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/placement/v1/report.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/fault/certified_site.h"

namespace berth::fault {

class PlayedSession {
 public:
  using Request = placement::v1::SessionRequest;
  using Response = placement::v1::SessionResponse;
  using ReportService = placement::v1::ReportService;

  // `lasts`: for how long the session may last.
  PlayedSession(const CertifiedSite& site, const std::string& host,
                absl::Duration lasts = kAnswerMax)
      : host_(host),
        context_(CallWithin(lasts)),
        service_(ReportService::NewStub(site.ConnectToPlacement("tracker/" + host))),
        stream_(service_->Session(context_.get())) {}
  ~PlayedSession() {
    stream_->WritesDone();
    context_->TryCancel();
    stream_->Finish();
  }

  // The standing of the node.
  placement::v1::NodeWelcome SayHello(const std::string& node) {
    const Response answer = SayHelloFor({node});
    return answer.welcome().nodes_size() == 1 ? answer.welcome().nodes(0)
                                              : placement::v1::NodeWelcome();
  }
  Response SayHelloFor(const std::vector<std::string>& nodes) {
    Request request;
    placement::v1::Hello& hello = *request.mutable_hello();
    hello.set_host(host_);
    hello.set_binary("berth-tracker");
    hello.set_incarnation(incarnation);
    hello.set_machine_id(host_);
    for (const std::string& node : nodes) hello.add_nodes()->set_node_uuid(node);
    return Ask(request, &Response::has_welcome);
  }
  // A snapshot of the node, which has a root only.
  static placement::v1::Report SnapshotOf(const std::string& node, const std::string& name,
                                          int64_t base) {
    placement::v1::Report report;
    report.set_node_uuid(node);
    report.set_node_name(name);
    report.set_kind(placement::v1::REPORT_KIND_SNAPSHOT);
    placement::v1::WantedProvider& root = *report.add_providers();
    root.set_uuid(node);
    root.set_name(name);
    if (base > 0) root.set_base_generation(base);
    (*root.mutable_inventories())["VCPU"].set_total(8);
    return report;
  }
  // Sends the report under the next number. Returns the Ack or the Reject. A refused report has used
  // no number.
  Response Send(placement::v1::Report report) {
    Request request;
    report.set_sequence(++sequence_);
    *request.mutable_report() = std::move(report);
    Response answer =
        Ask(request, [](const Response& one) { return one.has_ack() || one.has_reject(); });
    if (answer.has_reject()) --sequence_;
    return answer;
  }
  // Sends a snapshot of the node. Returns the code of the answer.
  int Report(const std::string& node, const std::string& name, int64_t base) {
    const Response answer = Send(SnapshotOf(node, name, base));
    EXPECT_EQ(answer.reject().providers_size(), 0);
    return answer.has_ack() ? 0 : answer.reject().status().code();
  }

  const std::string incarnation = placement::Uuid::Random().ToString();

 private:
  template <typename Wanted>
  Response Ask(const Request& request, Wanted wanted) {
    EXPECT_TRUE(stream_->Write(request));
    Response answer;
    while (stream_->Read(&answer)) {
      if (std::invoke(wanted, answer)) return answer;
    }
    ADD_FAILURE() << host_ << ": the session ended";
    return {};
  }

  const std::string host_;
  const std::unique_ptr<grpc::ClientContext> context_;
  const std::unique_ptr<ReportService::Stub> service_;
  const std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;
  int64_t sequence_ = 0;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_PLAYED_SESSION_H_
