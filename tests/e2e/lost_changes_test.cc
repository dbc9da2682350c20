// Readers ask again and again what a restored database has lost. An operator begins a new epoch
// meanwhile, and nobody else notices anything.
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "tests/e2e/calls.h"
#include "tests/processes/identity.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/processes/restorable.h"

namespace berth::e2e {
namespace {

using placement::LedgerRunner;

// More than wait for the database otherwise (16).
constexpr int kReaders = 40;

class LostChangesFlood : public ::testing::Test {
 protected:
  LostChangesFlood()
      : server_(StartAt(scratch_.path(), database_.url(), {"--workers=1"})),
        channel_(grpc::CreateChannel(server_->address(), CredentialsOf())) {}

  grpc::Status Create(const std::string& name) {
    pb::CreateProviderRequest request;
    request.set_name(name);
    pb::CreateProviderResponse response;
    return InvokeOn(channel_, "ProviderService/CreateProvider", request, &response);
  }
  pb::GetRevisionResponse Standing() {
    pb::GetRevisionResponse response;
    const grpc::Status status =
        InvokeOn(channel_, "LedgerService/GetRevision", pb::GetRevisionRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  grpc::Status Lost(pb::ListLostChangesResponse* lost) {
    return InvokeOn(channel_, "LedgerService/ListLostChanges", pb::ListLostChangesRequest(), lost);
  }
  grpc::Status StartEpoch(const pb::Revision& newest) {
    pb::StartEpochRequest request;
    *request.mutable_expected_database_revision() = newest;
    request.set_reason("restored the backup of noon");
    pb::StartEpochResponse response;
    return InvokeOn(channel_, "LedgerService/StartEpoch", request, &response);
  }
  grpc::Status Search() {
    pb::FindCandidatesRequest request;
    (*request.mutable_query()->add_groups()->mutable_resources())["VCPU"] = 1;
    pb::FindCandidatesResponse response;
    return InvokeOn(channel_, "CandidateService/FindCandidates", request, &response);
  }
  // Writes something, and restores a backup of before.
  void LoseSomething() {
    ASSERT_TRUE(Create("kept").ok());
    database_.Save();
    int tries = 0;
    ASSERT_TRUE(
        LedgerRunner::Eventually([&] { return Create(absl::StrCat("lost-", ++tries)).ok(); }));
    database_.Restore();
    ASSERT_TRUE(LedgerRunner::Eventually([this] {
      const pb::GetRevisionResponse standing = Standing();
      return standing.state() == pb::LEDGER_STATE_RECOVERY_REQUIRED &&
             standing.database_revision().number() > 0;
    }));
  }
  // Waits until a connection with this application name waits for a lock.
  static bool AwaitWaiting(placement::Database& looking, const std::string& name) {
    const std::string sql = absl::StrCat(
        "SELECT count(pid) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
        "datname = current_database() AND application_name = '",
        name, "'");
    return LedgerRunner::Eventually([&] { return placement::QueryOne(looking, sql) == "t"; });
  }

  placement::Restorable database_;
  placement::ScratchDirectory scratch_;
  const std::unique_ptr<PlacementServer> server_;
  const std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(LostChangesFlood, DoesNotKeepAnOperatorFromANewEpoch) {
  LoseSomething();
  const pb::Revision newest = Standing().database_revision();
  const auto blocking = placement::ConnectOrDie(database_.url());
  const auto looking = placement::ConnectOrDie(database_.url());
  ASSERT_EQ(blocking->Run("BEGIN; LOCK TABLE provider", nullptr), absl::OkStatus());
  std::atomic<int> refused{0};
  std::atomic<int> told_of_nothing{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      pb::ListLostChangesResponse changes;
      grpc::Status lost;
      // Without certificates all of them are one identity, which waits with one call at a time.
      LedgerRunner::Eventually([&] {
        lost = Lost(&changes);
        return ReasonOf(lost) != "OVERLOADED";
      });
      // Whichever epoch it is in, the database lacks a provider.
      if (lost.ok() && changes.changes().empty()) ++told_of_nothing;
      if (!lost.ok() && ReasonOf(lost) != "WRONG_LEDGER_STATE") ++refused;  // the epoch has begun
    });
  }
  EXPECT_TRUE(AwaitWaiting(*looking, "berth-placement recovery"));
  EXPECT_TRUE(Search().ok());
  std::atomic<bool> begun{false};
  std::thread restarting(
      [&] { begun = LedgerRunner::Eventually([&] { return StartEpoch(newest).ok(); }); });
  // The new epoch's session, which is named so that no writer ends it.
  EXPECT_TRUE(AwaitWaiting(*looking, "berth-placement writer, large batch"));
  EXPECT_EQ(blocking->Run("COMMIT", nullptr), absl::OkStatus());
  restarting.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(begun);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(told_of_nothing, 0);
  EXPECT_TRUE(LedgerRunner::Eventually([this] { return Create("of the new epoch").ok(); }));
}

}  // namespace
}  // namespace berth::e2e
