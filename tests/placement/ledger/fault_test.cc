// What the ledger does when its database or its neighbour fails.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ledger/ledger.h"
#include "placement/values/refusal.h"
#include "tests/placement/ledger/gate.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

LedgerOptions GatedOptions(const std::string& url, Gate& gate,
                           LedgerRoads roads = LedgerRoads::kByHistory) {
  LedgerOptions options = OptionsFor(url);
  options.roads = roads;
  options.at_step = [&gate](LedgerStep step) { gate.Pass(step); };
  return options;
}

class LedgerFaultOnRoad : public ::testing::TestWithParam<LedgerRoads> {};
INSTANTIATE_TEST_SUITE_P(Roads, LedgerFaultOnRoad,
                         ::testing::Values(LedgerRoads::kLong, LedgerRoads::kShortFirst));

// what is too late is not done, also where a batch had begun with it.
TEST_P(LedgerFaultOnRoad, WhatIsTooLateIsNotDecidedAgain) {
  const std::string url = NewDatabase();
  Gate gate;
  // Without loops nobody looks at deadlines there.
  LedgerRunner paused(GatedOptions(url, gate, GetParam()), false);
  LedgerRunner other(OptionsFor(url));
  MakeProviders(paused, 1, 100, 1024);
  gate.Close(LedgerStep::kBeforeWrite);
  std::future<Decision> late = paused.Begin(WithId(Claim(1, {1}, 1), "late"), absl::Seconds(1));
  const absl::Time deadline = absl::Now() + absl::Seconds(1);
  gate.AwaitWriter();
  other.Must(Claim(2, {1}, 1));  // writes before the batch of the late claim
  const Command lost = WithId(Claim(1, {1}, 1), "late");
  EXPECT_EQ(ReasonOf(other.Do(FindRequest{lost.actor, lost.request_id})), "REQUEST_NOT_FOUND");
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return absl::Now() > deadline; }));
  gate.Open();
  EXPECT_EQ(ReasonOf(late.get()), "DEADLINE_BEFORE_START");
  other.Must(Claim(3, {1}, 1));
  EXPECT_EQ(UsedOf(*other.ledger().Newest(), 1), 2);
}

// What was cancelled stays so, also where a batch had begun with it that would be decided again.
TEST_P(LedgerFaultOnRoad, WhatWasCancelledIsNotDecidedAgain) {
  const std::string url = NewDatabase();
  Gate gate;
  LedgerRunner paused(GatedOptions(url, gate, GetParam()));
  LedgerRunner other(OptionsFor(url));
  MakeProviders(paused, 1, 100, 1024);
  gate.Close(LedgerStep::kBeforeWrite);
  std::future<Decision> late = paused.Begin(WithId(Claim(1, {1}, 1), "late"));
  gate.AwaitWriter();
  EXPECT_FALSE(other.Must(FindRequest{"tester", "late", true}).replayed);  // writes first
  gate.Open();
  EXPECT_EQ(ReasonOf(late.get()), "REQUEST_CANCELLED");
  EXPECT_EQ(UsedOf(*paused.ledger().Newest(), 1), 0);
  ExpectCleanSelfCheck(other, url);
}

// F-3: who holds the lock and does not move is ended; his batch is decided again.
TEST(LedgerFault, APausedHolderOfTheLockIsPassedBy) {
  for (const LedgerStep step : {LedgerStep::kLocked, LedgerStep::kBeforeWrite}) {
    const std::string url = NewDatabase();
    Gate gate;
    LedgerOptions options = GatedOptions(url, gate);
    options.roads = LedgerRoads::kLong;  // on the short road the lock is held by PostgreSQL alone
    LedgerRunner paused(options);
    LedgerRunner other(OptionsFor(url));
    MakeProviders(paused, 1, 100, 1024);
    gate.Close(step);
    std::future<Decision> late = paused.Begin(WithId(Claim(1, {1}, 1), ""));
    gate.AwaitWriter();
    const absl::Time begun = absl::Now();
    other.Must(Claim(2, {1}, 1));
    EXPECT_LT(absl::Now() - begun, absl::Seconds(15));
    gate.Open();
    EXPECT_EQ(late.get().status, absl::OkStatus());
    EXPECT_EQ(UsedOf(*paused.ledger().Newest(), 1), 2);
    ExpectCleanSelfCheck(paused, url);
  }
}

// a frozen database holds nobody beyond his deadline, and all goes on when it thaws.
TEST(LedgerFault, AFrozenDatabaseHoldsNobody) {
  ScratchDirectory directory;
  ClusterOptions cluster_options;
  cluster_options.directory = directory.path();
  cluster_options.settings = {"fsync=off"};
  auto cluster = Cluster::Start(cluster_options);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  CreateDatabase(**cluster, "berth");
  Gate gate;
  LedgerOptions options = GatedOptions((*cluster)->Url("berth"), gate);
  options.no_progress_max = absl::Seconds(1);
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 100, 1024);

  gate.Close(LedgerStep::kBeforeWrite);
  std::future<Decision> in_flight =
      runner.Begin(WithId(Claim(1, {1}, 1), "r1"), absl::Milliseconds(300));
  gate.AwaitWriter();
  std::future<Decision> waiting =
      runner.Begin(WithId(Claim(2, {1}, 1), ""), absl::Milliseconds(300));
  FreezeServer(**cluster);
  gate.Open();
  const absl::Time begun = absl::Now();
  const Decision unknown = in_flight.get();
  EXPECT_EQ(unknown.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(RefusalOf(unknown.status).has_value());
  EXPECT_EQ(ReasonOf(waiting.get()), "DEADLINE_BEFORE_START");
  EXPECT_LT(absl::Now() - begun, absl::Seconds(10));
  // The writer's connection is shut, and from then on writes are refused at once.
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return !runner.ledger().health().writable; }));
  EXPECT_EQ(ReasonOf(runner.Do(Claim(3, {1}, 1))), "STORE_UNAVAILABLE");
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return !runner.ledger().Fresh().ok(); }));
  ThawServer(**cluster);
  ASSERT_TRUE(LedgerRunner::Eventually(
      [&] { return runner.ledger().health().writable && runner.ledger().Fresh().ok(); }));
  // What was unknown is known now, and is one of two things.
  const Decision asked = runner.Do(FindRequest{"tester", "r1"});
  EXPECT_EQ(asked.status.ok() ? 1 : 0, UsedOf(*runner.ledger().Newest(), 1));
  EXPECT_EQ(runner.Do(Claim(4, {1}, 1)).status, absl::OkStatus());
  ExpectCleanSelfCheck(runner, (*cluster)->Url("berth"));
}

// A session that waits for a synchronous standby has committed: nobody ends it, nobody is answered
// before it is through, and both claims are there afterwards.
TEST(LedgerFault, ACommitThatWaitsForAStandbyIsLeftAlone) {
  ScratchDirectory directory;
  ClusterOptions cluster_options;
  cluster_options.directory = directory.path();
  cluster_options.settings = {"fsync=off"};
  auto cluster = Cluster::Start(cluster_options);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  CreateDatabase(**cluster, "berth");
  const std::string url = (*cluster)->Url("berth");
  LedgerOptions options = OptionsFor(url);
  options.no_progress_max = absl::Seconds(4);
  LedgerRunner one(options);
  LedgerRunner two(options);
  MakeProviders(one, 1, 100, 1024);
  auto database = ConnectOrDie(url);
  const auto configure = [&](const std::string& sql, const std::string& names) {
    ASSERT_EQ(database->Run(sql, nullptr), absl::OkStatus());
    ASSERT_EQ(database->Run("SELECT pg_reload_conf()", nullptr), absl::OkStatus());
    ASSERT_TRUE(LedgerRunner::Eventually(
        [&] { return QueryOne(*database, "SHOW synchronous_standby_names") == names; }));
  };
  configure("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "nobody");
  const std::string waiting =
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = "
      "'berth-placement writer'";
  // PostgreSQL takes its time to heed the setting: claims until one waits.
  std::future<Decision> first;
  int claims = 0;
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    first = one.Begin(WithId(Claim(++claims, {1}, 1), ""), absl::Minutes(2));
    const auto answered = [&] {
      return first.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    while (!answered() && QueryOne(*database, waiting) != "1") std::this_thread::yield();
    return !answered();
  }));
  std::future<Decision> second = two.Begin(WithId(Claim(++claims, {1}, 1), ""), absl::Minutes(2));
  ASSERT_TRUE(LedgerRunner::Eventually(
      [&] { return absl::StrContains(two.told(), "held by another process"); }));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return one.ledger().health().in_doubt > 0; }));
  EXPECT_EQ(QueryOne(*database, waiting), "1");
  EXPECT_NE(first.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  configure("ALTER SYSTEM RESET synchronous_standby_names", "");
  EXPECT_EQ(first.get().status, absl::OkStatus());
  EXPECT_EQ(second.get().status, absl::OkStatus());
  ASSERT_TRUE(
      LedgerRunner::Eventually([&] { return UsedOf(*one.ledger().Newest(), 1) == claims; }));
  ExpectCleanSelfCheck(one, url);
}

// what was acknowledged survives kill -9 of PostgreSQL.
TEST(LedgerFault, AcknowledgedClaimsSurviveACrashOfPostgres) {
  ScratchDirectory directory;
  ClusterOptions options;
  options.directory = directory.path();
  options.settings = {"fsync=off"};  // the machine goes on: what was written is in its memory
  auto cluster = Cluster::Start(options);
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  CreateDatabase(**cluster, "berth");
  LedgerRunner runner(OptionsFor((*cluster)->Url("berth")));
  MakeProviders(runner, 3, 1'000'000, 1024);
  int consumer = 0;
  int64_t acknowledged = 0;
  int64_t refused = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::future<Decision>> claims;
    for (int i = 0; i < 200; ++i) {
      ++consumer;
      claims.push_back(
          runner.Begin(WithId(Claim(consumer, {1 + consumer % 3}, 1), absl::StrCat(consumer))));
      if (i == 100) {
        KillServer(**cluster);
      }
    }
    RestartServer(**cluster);
    for (std::future<Decision>& claim : claims) {
      const Decision decision = claim.get();
      acknowledged += decision.status.ok() ? 1 : 0;
      refused += ReasonOf(decision) == "STORE_UNAVAILABLE" ? 1 : 0;
    }
    ASSERT_TRUE(LedgerRunner::Eventually([&] {
      return runner.Do(FindRequest{"tester", "none"}).status.code() == absl::StatusCode::kNotFound;
    }));
  }
  EXPECT_EQ(acknowledged + refused, consumer);
  EXPECT_EQ(runner.ledger().Newest()->consumers().size(), acknowledged);
  ExpectCleanSelfCheck(runner, (*cluster)->Url("berth"));
}

TEST(LedgerFault, OnePoisonedCommandFailsAlone) {
  const std::string url = NewDatabase();
  Gate gate;
  LedgerRunner runner(GatedOptions(url, gate));
  MakeProviders(runner, 1, 1000, 1024);
  ASSERT_TRUE(
      ConnectOrDie(url)
          ->Run("ALTER TABLE consumer ADD CONSTRAINT poison CHECK (amount[1] <> 13)", nullptr)
          .ok());
  gate.Close(LedgerStep::kBeforeLock);
  std::vector<std::future<Decision>> claims;
  claims.push_back(runner.Begin(WithId(Claim(100, {1}, 1), "")));
  gate.AwaitWriter();
  for (int i = 1; i <= 9; ++i) {
    claims.push_back(runner.Begin(WithId(Claim(i, {1}, i == 5 ? 13 : 1), "")));
  }
  gate.Open();
  int failed = 0;
  for (std::future<Decision>& claim : claims) {
    const Decision decision = claim.get();
    failed += decision.status.code() == absl::StatusCode::kInternal ? 1 : 0;
  }
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 9);
  EXPECT_TRUE(absl::StrContains(runner.told(), "in a transaction of its own")) << runner.told();
  ExpectCleanSelfCheck(runner, url);
}

// Memory and tables disagree: the tables win once; a second time within a minute writing stops.
TEST(LedgerFault, TablesThatWereTouchedAreLoadedAgainOnce) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 100, 1024);
  const char corruption[] = "UPDATE provider SET allocation_generation = allocation_generation + 5";
  ASSERT_TRUE(ConnectOrDie(url)->Run(corruption, nullptr).ok());
  runner.Must(Claim(1, {1}, 1));
  EXPECT_EQ(runner.ledger().health().reloads, 1);
  EXPECT_TRUE(absl::StrContains(runner.told(), "are loaded again")) << runner.told();
  ExpectCleanSelfCheck(runner, url);
  ASSERT_TRUE(ConnectOrDie(url)->Run(corruption, nullptr).ok());
  EXPECT_EQ(ReasonOf(runner.Do(Claim(2, {1}, 1))), "STORE_UNAVAILABLE");
  EXPECT_TRUE(runner.ledger().health().writing_stopped);
  EXPECT_EQ(ReasonOf(runner.Do(Claim(3, {1}, 1))), "STORE_UNAVAILABLE");
}

TEST(LedgerFault, ANewerFormatStopsThisRelease) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 100, 1024);
  const Position before = runner.ledger().Newest()->position();
  ASSERT_TRUE(
      ConnectOrDie(url)
          ->Run("INSERT INTO log SELECT revision + 1, epoch, gen_random_uuid(), batch_id, "
                "ledger_time, 2, command_count, next_class_id, next_trait_id, epoch_began_at, "
                "'\\xffff' FROM log ORDER BY revision DESC LIMIT 1",
                nullptr)
          .ok());
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return runner.ledger().health().format_too_new; }));
  EXPECT_EQ(ReasonOf(runner.Do(Claim(1, {1}, 1))), "STORE_UNAVAILABLE");
  EXPECT_EQ(runner.ledger().Newest()->position().revision, before.revision);
  EXPECT_EQ(Ledger::Open(OptionsFor(url)).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(LedgerFault, BelowTheHorizonTheTablesAreLoaded) {
  const std::string url = NewDatabase();
  LedgerOptions options = OptionsFor(url);
  options.log_rows_kept = 5;
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 1000, 1024);
  LedgerRunner behind(OptionsFor(url), false);
  for (int i = 1; i <= 40; ++i) runner.Must(Claim(i, {1}, 1));
  ASSERT_TRUE(behind.ledger().Follow().ok());
  EXPECT_EQ(behind.ledger().health().reloads, 1);
  ExpectEqualStates(*runner.ledger().Newest(), *behind.ledger().Newest());
  EXPECT_LE(std::stoi(QueryOne(*ConnectOrDie(url), "SELECT count(*) FROM log")), 5 + 7);
  behind.Must(Claim(99, {1}, 1));
  ExpectCleanSelfCheck(runner, url);
}

// a wall clock that jumps moves ledger time by no more than what passed.
TEST(LedgerFault, LedgerTimeFollowsNoJump) {
  std::atomic<int64_t> jump_hours{0};
  LedgerOptions options = OptionsFor(NewDatabase());
  options.wall_clock = [&] { return absl::Now() + absl::Hours(jump_hours.load()); };
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 100, 1024);
  const absl::Time before = runner.ledger().Newest()->position().ledger_time;
  for (const int hours : {24, -24}) {
    jump_hours = hours;
    runner.Must(Claim(100 + hours, {1}, 1));
    const absl::Time after = runner.ledger().Newest()->position().ledger_time;
    EXPECT_GE(after, before);
    EXPECT_LT(after - before, absl::Seconds(60));
  }
}

// Also who follows the log while it stops: his connection is shut.
TEST(LedgerFault, StoppingLeavesNobodyWaiting) {
  LedgerRunner runner(OptionsFor(NewDatabase()));
  absl::Status told;
  runner.ledger().AwaitRevision({0, 1000}, absl::InfiniteDuration(), {},
                                [&](auto state) { told = state.status(); });
  runner.ledger().Stop(BootNow() + absl::Seconds(5));
  EXPECT_EQ(told.code(), absl::StatusCode::kUnavailable);
  runner.ledger().AwaitRevision({0, 1000}, absl::InfiniteDuration(), {},
                                [&](auto state) { told = state.status(); });
  EXPECT_EQ(told.code(), absl::StatusCode::kUnavailable);
  runner.ledger().Stop(BootNow());
}

}  // namespace
}  // namespace berth::placement
