#include "berth/placement/v1/report.grpc.pb.h"
#include "services/api/services.h"
#include "services/report/session.h"

namespace berth::services {
namespace {

class ReportService final : public pb::ReportService::CallbackService {
 public:
  explicit ReportService(ReportSessions* sessions) : sessions_(sessions) {}

  grpc::ServerBidiReactor<pb::SessionRequest, pb::SessionResponse>* Session(
      grpc::CallbackServerContext*) override {
    return ReportSession::Open(sessions_);
  }

 private:
  ReportSessions* const sessions_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeReportService(ReportSessions* sessions) {
  return std::make_unique<ReportService>(sessions);
}

}  // namespace berth::services
