// A database that went back in time, and the epoch that an operator begins after it.

#include "placement/ledger/epoch.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/ledger/ledger.h"
#include "placement/log/codec.h"
#include "placement/store/rows.h"
#include "placement/values/refusal.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/processes/restorable.h"

namespace berth::placement {
namespace {

std::string ReasonOf(const absl::Status& status) {
  const std::optional<Refusal> refusal = RefusalOf(status);
  return refusal ? refusal->reason : std::string(absl::StatusCodeToString(status.code()));
}

EpochStart StartAt(Revision head) { return {"operator", "", "restored a backup", head}; }

// What the newest log row says of why it is there.
std::string ReasonInLog(const std::string& url) {
  auto database = ConnectOrDie(url);
  const auto head = ReadHead(*database);
  const auto rows = ReadLog(*database, (*head)->position.revision.number - 1, 2);
  const auto commands = DecodeBatch(rows->back().payload);
  return commands->at(0).reason;
}

// Claims by `count` consumers from `first` on, once the ledger takes writes again.
void ClaimAll(LedgerRunner& runner, int first, int count) {
  for (int i = first; i < first + count; ++i) {
    ASSERT_TRUE(LedgerRunner::Eventually([&] {
      return runner.Do(Claim(i, {1}, 1)).status.ok() ||
             runner.ledger().Newest()->FindConsumer(ConsumerNumber(i)) != nullptr;
    }));
  }
}

// lost acknowledged writes are found, writing stops, and an operator begins a new epoch.
TEST(LedgerEpoch, ADatabaseThatWentBackIsFoundAndTakenOver) {
  Restorable database;
  LedgerRunner runner(OptionsFor(database.url()));
  MakeProviders(runner, 1, 100, 1024);
  runner.Must(Claim(1, {1}, 1));
  database.Save();
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return runner.ledger().Fresh().ok(); }));
  EXPECT_EQ(runner.ledger().FindLoss().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(runner.ledger().KnownLoss().status()), "WRONG_LEDGER_STATE");
  ClaimAll(runner, 2, 3);
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
  const Revision head{lost.revision.epoch, lost.revision.number - 3};
  ASSERT_TRUE(
      LedgerRunner::Eventually([&] { return runner.ledger().health().database_revision == head; }));
  const absl::StatusOr<LossPtr> loss = runner.ledger().FindLoss();
  ASSERT_TRUE(loss.ok()) << loss.status();
  std::vector<EntityKey> lost_keys = {{EntityKind::kProviderUsage, ProviderNumber(1).ToString()}};
  for (int i = 2; i <= 4; ++i) {
    lost_keys.push_back({EntityKind::kConsumer, ConsumerNumber(i).ToString()});
  }
  EXPECT_TRUE((*loss)->differences == lost_keys);
  EXPECT_EQ((*loss)->database->position().revision, head);
  EXPECT_EQ(*runner.ledger().FindLoss(), *loss);  // read once
  EXPECT_EQ(*runner.ledger().KnownLoss(), *loss);

  // Two operators do not begin two epochs.
  EXPECT_EQ(runner.ledger().StartEpoch(StartAt(lost.revision)).code(), absl::StatusCode::kAborted);
  ASSERT_EQ(runner.ledger().StartEpoch(StartAt(head)), absl::OkStatus());
  EXPECT_TRUE(absl::StrContains(runner.told(), "restored a backup")) << runner.told();
  EXPECT_EQ(ReasonInLog(database.url()), "restored a backup");
  const Position begun = runner.ledger().Newest()->position();
  EXPECT_EQ(begun.revision, (Revision{lost.revision.epoch + 1, head.number + 1}));
  EXPECT_EQ(begun.epoch_began_at, begun.revision.number);
  EXPECT_GE(begun.command_count, lost.command_count + (int64_t{1} << 40));
  EXPECT_GE(begun.next_class_id, lost.next_class_id + (1u << 20));
  EXPECT_FALSE(runner.ledger().StartEpoch(StartAt(head)).ok());
  EXPECT_EQ(runner.ledger().Newest()->consumers().size(), 1);

  // nothing of the lost future is met again.
  absl::Status last;
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    last = runner.Do(Claim(2, {1}, 1)).status;
    return last.ok();
  })) << last;
  EXPECT_GT(runner.ledger().Newest()->FindConsumer(ConsumerNumber(2))->generation.value,
            lost.command_count);
  runner.ledger().AwaitRevision(lost.revision, absl::InfiniteDuration(), {}, [](auto state) {
    EXPECT_EQ(ReasonOf(state.status()), "REVISION_LOST");
  });
  ExpectCleanSelfCheck(runner, database.url());
}

// Loses what `count` consumers claim, with the database of before, and begins an epoch: the newest
// revision that was lost.
Revision LoseAndBegin(Restorable& database, LedgerRunner& runner, int first, int count) {
  database.Save();
  ClaimAll(runner, first, count);
  const Revision lost = runner.ledger().Newest()->position().revision;
  database.Restore();
  EXPECT_TRUE(LedgerRunner::Eventually([&] {
    const Revision head = runner.ledger().health().database_revision;
    return runner.ledger().StartEpoch(StartAt(head)).ok();
  }));
  return lost;
}

TEST(LedgerEpoch, WhatAnEarlierEpochLostStaysLost) {
  Restorable database;
  LedgerOptions options = OptionsFor(database.url());
  options.log_rows_kept = 4;  // the log itself has forgotten
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 100, 1024);
  const Revision lost = LoseAndBegin(database, runner, 1, 3);
  ClaimAll(runner, 11, 20);
  LoseAndBegin(database, runner, 41, 1);
  ASSERT_GT(runner.ledger().Newest()->position().epoch_began_at, lost.number);
  LedgerRunner late(options);
  ExpectEqualStates(*runner.ledger().Newest(), *late.ledger().Newest());
  for (LedgerRunner* each : {&runner, &late}) {
    each->ledger().AwaitRevision(lost, absl::InfiniteDuration(), {}, [](auto state) {
      EXPECT_EQ(ReasonOf(state.status()), "REVISION_LOST");
    });
  }
}

// Takes back step 2 of the schema, as if the backup had been made before it.
constexpr char kWithoutStep2[] =
    "DO $$ DECLARE made regprocedure; BEGIN "
    "DROP VIEW IF EXISTS request_partitions; "
    "FOR made IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'public'::regnamespace "
    "AND proname NOT IN ('at_micros', 'micros_of', 'each_within') LOOP "
    "EXECUTE 'DROP FUNCTION ' || made; END LOOP; END $$; "
    "DELETE FROM ledger_schema WHERE version > 1";

TEST(LedgerEpoch, ABackupOfAnOlderReleaseIsBroughtUpToDate) {
  Restorable database;
  LedgerRunner runner(OptionsFor(database.url()));
  MakeProviders(runner, 1, 100, 1024);
  database.Save();
  ClaimAll(runner, 1, 1);
  database.Restore();
  ASSERT_EQ(ConnectOrDie(database.url())->Run(kWithoutStep2, nullptr), absl::OkStatus());
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return runner.ledger().FindLoss().ok(); }));
  // To look at what is lost, which readers may do, changes nothing.
  EXPECT_EQ(QueryOne(*ConnectOrDie(database.url()), "SELECT max(version) FROM ledger_schema"), "1");
  EXPECT_TRUE(LedgerRunner::Eventually([&] {
    const Revision head = runner.ledger().health().database_revision;
    return runner.ledger().StartEpoch(StartAt(head)).ok();
  }));
  ClaimAll(runner, 2, 1);
  LedgerRunner late(OptionsFor(database.url()));
  ExpectEqualStates(*runner.ledger().Newest(), *late.ledger().Newest());
  ExpectCleanSelfCheck(late, database.url());
}

TEST(LedgerEpoch, ABackupThatCannotBeReadIsAnOlderReleases) {
  Restorable database;
  LedgerRunner runner(OptionsFor(database.url()));
  MakeProviders(runner, 1, 100, 1024);
  database.Save();
  ClaimAll(runner, 1, 1);
  database.Restore();
  const auto operator_ = ConnectOrDie(database.url());
  ASSERT_EQ(operator_->Run("ALTER TABLE record RENAME TO of_old; DELETE FROM ledger_schema WHERE "
                           "version > 1",
                           nullptr),
            absl::OkStatus());
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return runner.ledger().health().recovery_required; }));
  const absl::Status lost = runner.ledger().FindLoss().status();
  EXPECT_EQ(ReasonOf(lost), "WRONG_LEDGER_STATE") << lost;
  EXPECT_TRUE(absl::StrContains(lost.message(), "older release")) << lost;
  // An operator is told why, once, however often readers ask.
  const std::string why = "relation \"record\" does not exist";
  const std::string told = runner.told();
  EXPECT_TRUE(absl::StrContains(told, why)) << told;
  EXPECT_EQ(ReasonOf(runner.ledger().FindLoss().status()), "WRONG_LEDGER_STATE");
  EXPECT_FALSE(absl::StrContains(runner.told().substr(told.size()), why)) << runner.told();
}

// Beginning an epoch takes long, under the lock: whoever waits for the lock leaves the session alone.
TEST(LedgerEpoch, NobodyEndsTheSessionThatBeginsOne) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 100, 1024);
  CuttingProxy proxy(url);
  auto begins = ConnectOrDie(proxy.Through(url));
  auto blocks = ConnectOrDie(url);
  auto looks = ConnectOrDie(url);
  // It has the lock, and waits for a table.
  ASSERT_EQ(blocks->Run("BEGIN; LOCK TABLE provider IN ACCESS EXCLUSIVE MODE", nullptr),
            absl::OkStatus());
  const StatePtr last_good = runner.ledger().Newest();
  std::future<absl::StatusOr<State>> begun = std::async(std::launch::async, [&] {
    return BeginEpoch(*begins, last_good->position(), StartAt(last_good->position().revision));
  });
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    return QueryOne(*looks,
                    "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation' "
                    "AND database = (SELECT oid FROM pg_database WHERE datname = "
                    "current_database())") == "1";
  }));
  // Then its process is busy: PostgreSQL only waits for it.
  proxy.Hold(true);
  ASSERT_EQ(blocks->Run("COMMIT", nullptr), absl::OkStatus());
  std::future<Decision> claim = runner.Begin(WithId(Claim(1, {1}, 1), ""));
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return !runner.told().empty(); }));
  EXPECT_TRUE(absl::StrContains(runner.told(), "held by another process")) << runner.told();
  proxy.Hold(false);
  const absl::StatusOr<State> epoch = begun.get();
  ASSERT_EQ(epoch.status(), absl::OkStatus());
  EXPECT_EQ(claim.get().status, absl::OkStatus());
  EXPECT_EQ(runner.ledger().Newest()->position().revision.epoch, epoch->position().revision.epoch);
  ExpectCleanSelfCheck(runner, url);
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
    return one.ledger().StartEpoch(StartAt({lost.epoch, lost.number - 1})).ok();
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
