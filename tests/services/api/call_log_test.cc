// How many lines the log gets from a caller whose calls fail.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "placement/values/refusal.h"
#include "services/api/edge.h"
#include "services/api/export_places.h"
#include "services/api/import_place.h"
#include "services/api/services.h"
#include "services/process/server.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::services {
namespace {

constexpr int kFailingCalls = 200;

class CallLogTest : public ::testing::TestWithParam<AccessLog> {
 protected:
  static ServerOptions Loopback() {
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    return options;
  }
  // Fails: the request gives no reason.
  grpc::StatusCode StartEpoch() {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    pb::StartEpochResponse response;
    return stub_->StartEpoch(&context, pb::StartEpochRequest(), &response).error_code();
  }
  // Fails: the request names no request id.
  grpc::StatusCode GetRequest() {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    pb::GetRequestResponse response;
    return stub_->GetRequest(&context, pb::GetRequestRequest(), &response).error_code();
  }

  placement::LedgerRunner runner_{placement::OptionsFor(placement::NewDatabase())};
  ExportPlaces exports_;
  ImportPlace place_;
  Workers workers_{1, 1000};
  placement::DatabaseWatch watch_;
  Metrics metrics_{"placement"};
  Edge edge_{&runner_.ledger(), &workers_, &workers_, &metrics_, GetParam()};
  const std::unique_ptr<grpc::Service> service_ =
      MakeLedgerService(&edge_, "", &watch_, &exports_, &place_, &workers_);
  const std::unique_ptr<Server> server_ = *Server::Start(Loopback(), {service_.get()});
  const std::unique_ptr<pb::LedgerService::Stub> stub_ = pb::LedgerService::NewStub(
      grpc::CreateChannel(server_->addresses()[0], grpc::InsecureChannelCredentials()));
};

TEST_P(CallLogTest, HasOneLineASecondForTheFailuresOfAMethod) {
  testing::internal::CaptureStderr();
  const placement::BootTime begun = placement::BootNow();
  for (int i = 0; i < kFailingCalls; ++i) {
    EXPECT_EQ(StartEpoch(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_EQ(GetRequest(), grpc::StatusCode::INVALID_ARGUMENT);
  const int64_t seconds = absl::ToInt64Seconds(placement::BootNow() - begun);
  const std::string log = testing::internal::GetCapturedStderr();
  int64_t lines = 0;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    if (absl::StrContains(line, "LedgerService/StartEpoch")) ++lines;
  }
  if (GetParam() == AccessLog::kAll) {
    EXPECT_EQ(lines, kFailingCalls);
  } else {
    EXPECT_GE(lines, 1);
    EXPECT_LE(lines, seconds + 1);
  }
  // The failures of one method do not hide those of another.
  EXPECT_TRUE(absl::StrContains(log, "LedgerService/GetRequest")) << log;
}

// A line says how many failures got none since the last line.
TEST_P(CallLogTest, TellsHowManyFailuresItLeavesOut) {
  const auto line_of_call = [this] {
    testing::internal::CaptureStderr();
    EXPECT_EQ(StartEpoch(), grpc::StatusCode::INVALID_ARGUMENT);
    const std::string log = testing::internal::GetCapturedStderr();
    for (const absl::string_view line : absl::StrSplit(log, '\n')) {
      if (absl::StrContains(line, "LedgerService/StartEpoch")) return std::string(line);
    }
    return std::string();
  };
  EXPECT_TRUE(absl::EndsWith(line_of_call(), " omitted=0"));
  int left_out = 0;
  std::string line;
  EXPECT_TRUE(placement::LedgerRunner::Eventually([&] {
    line = line_of_call();
    if (line.empty()) ++left_out;
    return !line.empty() && (left_out > 0 || GetParam() == AccessLog::kAll);
  }));
  EXPECT_TRUE(absl::EndsWith(line, absl::StrCat(" omitted=", left_out))) << line;
}

INSTANTIATE_TEST_SUITE_P(AccessLogs, CallLogTest,
                         testing::Values(AccessLog::kFailures, AccessLog::kAll));

// The log has one line of a call that was made to end because of its caller.
TEST(CallRecorderTest, ARefusalThatWasToldHasNoLine) {
  Metrics metrics("placement");
  const CallRecorder recorder(&metrics, AccessLog::kNone);
  const grpc::CallbackServerContext context;
  const absl::Status denied =
      placement::Refuse(absl::StatusCode::kPermissionDenied, "IDENTITY_DENIED", "it is denied");
  const auto logged = [&](bool told) {
    testing::internal::CaptureStderr();
    recorder.End(pb::StartEpochRequest(), context, denied, placement::BootNow(), told);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(logged(true), "");
  EXPECT_TRUE(absl::StrContains(logged(false), "it is denied"));
}

}  // namespace
}  // namespace berth::services
