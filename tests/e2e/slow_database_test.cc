// Searches and lists need no database and no disk: they go on while others wait for one that is slow.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "tests/e2e/calls.h"
#include "tests/processes/identity.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::e2e {
namespace {

// A search that is too large for gRPC's own thread.
grpc::Status SearchOn(const std::shared_ptr<grpc::Channel>& channel) {
  pb::FindCandidatesRequest request;
  (*request.mutable_query()->add_groups()->mutable_resources())["VCPU"] = 1;
  pb::FindCandidatesResponse response;
  return InvokeOn(channel, "CandidateService/FindCandidates", request, &response,
                  absl::Seconds(30));
}

// One worker, as on two cores.
class SlowDatabase : public ::testing::Test {
 protected:
  SlowDatabase()
      : server_(StartAt(scratch_.path(), url_, {"--workers=1", "--service-down-time=2s"})),
        channel_(grpc::CreateChannel(server_->address(), CredentialsOf())),
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
  grpc::Status Search() { return SearchOn(channel_); }

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

// The position is written to a file that cannot be opened until somebody reads it.
TEST(SlowStateDirectory, HoldsUpNeitherSearchesNorTheEnd) {
  placement::ScratchDirectory scratch;
  const std::string state = scratch.path() + "/state";
  std::filesystem::create_directory(state);
  ASSERT_EQ(mkfifo((state + "/position.new").c_str(), 0600), 0);
  const auto server =
      StartAt(scratch.path(), placement::NewDatabase(), {"--workers=1", "--state-dir=" + state});
  const auto channel = grpc::CreateChannel(server->address(), CredentialsOf());
  EXPECT_TRUE(placement::LedgerRunner::Eventually([&] {
    return server->Log().find("the state directory does not answer") != std::string::npos;
  }));
  EXPECT_TRUE(SearchOn(channel).ok());
  server->Signal(SIGTERM);
  EXPECT_EQ(server->AwaitEnd(absl::Seconds(40)), 0);
  EXPECT_NE(server->Log().find("the newest position is not kept"), std::string::npos);
}

}  // namespace
}  // namespace berth::e2e
