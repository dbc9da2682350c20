#include <memory>

#include "berth/placement/v1/report.grpc.pb.h"
#include "services/api/services.h"
#include "services/process/caller.h"
#include "services/process/open_calls.h"
#include "services/process/status.h"
#include "services/report/session.h"

namespace berth::services {
namespace {

// The gRPC stream of one tracker. Owns itself: OnDone, the last call by gRPC, deletes it.
class ReportStream final : public grpc::ServerBidiReactor<pb::SessionRequest, pb::SessionResponse>,
                           public ReportSink {
 public:
  ReportStream(ReportSessions* sessions, const Caller& caller)
      : session_(std::make_shared<ReportSession>(
            sessions, this, TrackerCertificate{caller.name, caller.not_after})) {
    const auto session = session_;
    if (const OpenCallPtr& call = OpenCall::Current()) {
      call->OnEnding([session](const absl::Status& why) { session->End(why); });
    }
    session->Open();
  }

  void Read(pb::SessionRequest* to) override { StartRead(to); }
  void Send(const pb::SessionResponse& message) override { StartWrite(&message); }
  void Finish(const absl::Status& status) override {
    ServerBidiReactor::Finish(PlacementStatus(status));
  }

  void OnReadDone(bool ok) override { session_->HandleRead(ok); }
  void OnWriteDone(bool ok) override { session_->HandleSent(ok); }
  void OnDone() override {
    session_->Closed();
    delete this;
  }

 private:
  const std::shared_ptr<ReportSession> session_;
};

class ReportService final : public pb::ReportService::CallbackService {
 public:
  explicit ReportService(ReportSessions* sessions) : sessions_(sessions) {}

  grpc::ServerBidiReactor<pb::SessionRequest, pb::SessionResponse>* Session(
      grpc::CallbackServerContext* context) override {
    return new ReportStream(sessions_, CallerOf(*context));
  }

 private:
  ReportSessions* const sessions_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeReportService(ReportSessions* sessions) {
  return std::make_unique<ReportService>(sessions);
}

}  // namespace berth::services
