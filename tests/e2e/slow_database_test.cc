// Searches and lists need no database: they go on while other calls wait for one that is slow.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "tests/e2e/calls.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::e2e {
namespace {

// One worker, as on two cores.
class SlowDatabase : public ::testing::Test {
 protected:
  SlowDatabase()
      : server_(StartAt(scratch_.path(), url_, {"--workers=1", "--service-down-time=2s"})),
        channel_(grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials())),
        database_(placement::ConnectOrDie(url_)),
        looking_(placement::ConnectOrDie(url_)) {}

  void Lock(const std::string& table) {
    ASSERT_EQ(database_->Run(absl::StrCat("BEGIN; LOCK TABLE ", table), nullptr), absl::OkStatus());
  }
  void Unlock() { ASSERT_EQ(database_->Run("COMMIT", nullptr), absl::OkStatus()); }
  // Waits until the connection with this purpose waits for the lock.
  void AwaitWaiting(const std::string& purpose) {
    const std::string sql = absl::StrCat(
        "SELECT count(pid) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
        "application_name = 'berth-placement ",
        purpose, "'");
    ASSERT_TRUE(placement::LedgerRunner::Eventually(
        [&] { return placement::QueryOne(*looking_, sql) == "t"; }));
  }
  // A search that is too large for gRPC's own thread.
  grpc::Status Search() {
    pb::FindCandidatesRequest request;
    (*request.mutable_query()->add_groups()->mutable_resources())["VCPU"] = 1;
    pb::FindCandidatesResponse response;
    return InvokeOn(channel_, "CandidateService/FindCandidates", request, &response,
                    absl::Seconds(30));
  }

  placement::ScratchDirectory scratch_;
  const std::string url_ = placement::NewDatabase();
  const std::unique_ptr<PlacementServer> server_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<placement::Database> database_;
  const std::unique_ptr<placement::Database> looking_;
};

TEST_F(SlowDatabase, SearchesDoNotWaitForASelfCheck) {
  ASSERT_TRUE(Search().ok());
  Lock("consumer");
  grpc::Status checked;
  std::thread checking([&] {
    pb::SelfCheckResponse response;
    checked = InvokeOn(channel_, "LedgerService/SelfCheck", pb::SelfCheckRequest(), &response);
  });
  AwaitWaiting("self-check");
  const grpc::Status found = Search();
  EXPECT_TRUE(found.ok()) << found.error_message();
  Unlock();
  checking.join();
  EXPECT_TRUE(checked.ok()) << checked.error_message();
}

TEST_F(SlowDatabase, SearchesDoNotWaitForHeartbeats) {
  Lock("heartbeat");
  AwaitWaiting("heartbeats");
  const grpc::Status found = Search();
  EXPECT_TRUE(found.ok()) << found.error_message();
  Unlock();
}

}  // namespace
}  // namespace berth::e2e
