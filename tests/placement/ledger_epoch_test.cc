// A database that went back in time, and the epoch that an operator begins after it.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/ledger.h"
#include "placement/refusal.h"
#include "tests/placement/ledger_runner.h"
#include "tests/placement/private_cluster.h"

namespace berth::placement {
namespace {

std::string ReasonOf(const absl::Status& status) {
  const std::optional<Refusal> refusal = RefusalOf(status);
  return refusal ? refusal->reason : std::string(absl::StatusCodeToString(status.code()));
}

// A database that can be copied and put back as it was, whoever is connected.
class Restorable {
 public:
  Restorable() : url_(NewDatabase()), cluster_(PrivateCluster()) {
    const size_t begin = url_.find("///") + 3;
    name_ = url_.substr(begin, url_.find('?') - begin);
  }

  const std::string& url() const { return url_; }

  void Save() {
    auto database = ConnectOrDie(cluster_.Url("postgres"));
    CutOff(*database);
    Run(*database, absl::StrCat("CREATE DATABASE saved_", name_, " TEMPLATE ", name_));
    Run(*database, absl::StrCat("ALTER DATABASE ", name_, " ALLOW_CONNECTIONS true"));
  }

  void Restore() {
    auto database = ConnectOrDie(cluster_.Url("postgres"));
    CutOff(*database);
    Run(*database, absl::StrCat("DROP DATABASE ", name_));
    Run(*database, absl::StrCat("ALTER DATABASE saved_", name_, " RENAME TO ", name_));
  }

 private:
  void CutOff(Database& database) {
    Run(database, absl::StrCat("ALTER DATABASE ", name_, " ALLOW_CONNECTIONS false"));
    const std::string others = absl::StrCat(
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE "
        "datname = '",
        name_, "'");
    EXPECT_TRUE(LedgerRunner::Eventually([&] { return QueryOne(database, others) == "0"; }));
  }

  static void Run(Database& database, const std::string& sql) {
    EXPECT_EQ(database.Run(sql, nullptr), absl::OkStatus()) << sql;
  }

  const std::string url_;
  Cluster& cluster_;
  std::string name_;
};

// lost acknowledged writes are found, writing stops, and an operator begins a new epoch.
TEST(LedgerEpoch, ADatabaseThatWentBackIsFoundAndTakenOver) {
  Restorable database;
  LedgerRunner runner(OptionsFor(database.url()));
  MakeProviders(runner, 1, 100, 1024);
  runner.Must(Claim(1, {1}, 1));
  database.Save();
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return runner.ledger().Fresh().ok(); }));
  EXPECT_EQ(runner.ledger().AffectedByLoss().status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (int i = 2; i <= 4; ++i) {
    ASSERT_TRUE(LedgerRunner::Eventually([&] {
      return runner.Do(Claim(i, {1}, 1)).status.ok() ||
             runner.ledger().Newest()->FindConsumer(ConsumerNumber(i)) != nullptr;
    }));
  }
  const Position lost = runner.ledger().Newest()->position();
  database.Restore();

  // Found by the follower or by the next command, whichever comes first.
  ASSERT_TRUE(LedgerRunner::Eventually(
      [&] { return ReasonOf(runner.Do(Claim(9, {1}, 1)).status) == "RECOVERY_REQUIRED"; }));
  EXPECT_TRUE(runner.ledger().health().recovery_required);
  EXPECT_FALSE(runner.ledger().health().writable);
  EXPECT_TRUE(absl::StrContains(runner.told(), "went back in time")) << runner.told();
  // The last good state is served on.
  EXPECT_EQ(runner.ledger().Newest()->position().revision, lost.revision);
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return runner.ledger().Fresh().ok(); }));
  const auto affected = runner.ledger().AffectedByLoss();
  ASSERT_TRUE(affected.ok()) << affected.status();
  for (int i = 2; i <= 4; ++i) {
    const std::string words = absl::StrCat("consumer ", ConsumerNumber(i).ToString(), ": lost");
    EXPECT_NE(std::find(affected->begin(), affected->end(), words), affected->end()) << words;
  }

  // Two operators do not begin two epochs.
  const Revision head{lost.revision.epoch, lost.revision.number - 3};
  EXPECT_EQ(runner.ledger().StartEpoch("operator", lost.revision).code(),
            absl::StatusCode::kAborted);
  ASSERT_EQ(runner.ledger().StartEpoch("operator", head), absl::OkStatus());
  const Position begun = runner.ledger().Newest()->position();
  EXPECT_EQ(begun.revision, (Revision{lost.revision.epoch + 1, head.number + 1}));
  EXPECT_EQ(begun.epoch_began_at, begun.revision.number);
  EXPECT_GE(begun.command_count, lost.command_count + (int64_t{1} << 40));
  EXPECT_GE(begun.next_class_id, lost.next_class_id + (1u << 20));
  EXPECT_FALSE(runner.ledger().StartEpoch("operator", head).ok());
  EXPECT_EQ(runner.ledger().Newest()->consumers().size(), 1);

  // nothing of the lost future is met again.
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return runner.Do(Claim(2, {1}, 1)).status.ok(); }));
  EXPECT_GT(runner.ledger().Newest()->FindConsumer(ConsumerNumber(2))->generation.value,
            lost.command_count);
  runner.ledger().AwaitRevision(lost.revision, absl::InfiniteFuture(), [](auto state) {
    EXPECT_EQ(ReasonOf(state.status()), "REVISION_LOST");
  });
  ExpectCleanSelfCheck(runner, database.url());
}

TEST(LedgerEpoch, AnotherProcessLearnsOfTheEpoch) {
  Restorable database;
  LedgerRunner one(OptionsFor(database.url()));
  MakeProviders(one, 1, 100, 1024);
  database.Save();
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return one.Do(Claim(1, {1}, 1)).status.ok(); }));
  LedgerRunner two(OptionsFor(database.url()));
  database.Restore();
  for (LedgerRunner* runner : {&one, &two}) {
    ASSERT_TRUE(
        LedgerRunner::Eventually([&] { return runner->ledger().health().recovery_required; }));
  }
  const Revision lost = one.ledger().Newest()->position().revision;
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    return one.ledger().StartEpoch("operator", {lost.epoch, lost.number - 1}).ok();
  }));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return !two.ledger().health().recovery_required; }));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return two.Do(Claim(2, {1}, 1)).status.ok(); }));
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    return one.ledger().Newest()->position().revision == two.ledger().Newest()->position().revision;
  }));
  ExpectEqualStates(*one.ledger().Newest(), *two.ledger().Newest());
  ExpectCleanSelfCheck(one, database.url());
}

}  // namespace
}  // namespace berth::placement
