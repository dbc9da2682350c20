// Batches that are decided before the lock and sent in one message: what moves meanwhile, and every
// step at which a session, a connection or a command may end.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/ledger/ledger.h"
#include "placement/store/schema.h"
#include "placement/values/refusal.h"
#include "tests/placement/ledger/gate.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

LedgerOptions ShortAtGate(const std::string& url, Gate& gate,
                          LedgerRoads roads = LedgerRoads::kShortFirst) {
  LedgerOptions options = OptionsFor(url);
  options.roads = roads;
  options.at_step = [&gate](LedgerStep step) { gate.Pass(step); };
  return options;
}

bool Answered(const std::future<Decision>& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

// Begins `command` and waits until its batch is decided and not sent.
std::future<Decision> Decide(LedgerRunner& runner, Gate& gate, Command command,
                             absl::Duration limit = absl::Seconds(30)) {
  gate.Close(LedgerStep::kDecided);
  std::future<Decision> future = runner.Begin(std::move(command), limit);
  gate.AwaitWriter();
  return future;
}

std::string LockSql() { return absl::StrCat("SELECT pg_advisory_xact_lock(", kLedgerLock, ")"); }

TEST(LedgerShortRoad, AProcessThatWritesAloneTakesIt) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 1000, 1024);
  const LedgerHealth before = runner.ledger().health();
  for (int i = 1; i <= 100; ++i) runner.Must(Claim(i, {1}, 1), absl::StrCat(i));
  const LedgerHealth after = runner.ledger().health();
  EXPECT_EQ(after.short_batches - before.short_batches, 100);
  EXPECT_EQ(after.batches - before.batches, 100);
  EXPECT_EQ(after.moved_batches + after.dropped_batches, 0);
  ExpectCleanSelfCheck(runner, url);
}

// A batch of any size is one message.
TEST(LedgerShortRoad, AFullBatchTakesIt) {
  const std::string url = NewDatabase();
  Gate gate;
  LedgerRunner runner(ShortAtGate(url, gate, LedgerRoads::kByHistory));
  MakeProviders(runner, 1, 1000, 1024);
  gate.Close(LedgerStep::kBeforeLock);
  std::future<Decision> held = runner.Begin(WithId(FindRequest{"tester", "none"}, ""));
  gate.AwaitWriter();
  std::vector<std::future<Decision>> claims;
  for (int i = 1; i <= 256; ++i) {
    claims.push_back(runner.Begin(WithId(Claim(i, {1}, 1), absl::StrCat(i))));
  }
  const int64_t before = runner.ledger().health().short_batches;
  gate.Open();
  for (std::future<Decision>& claim : claims) EXPECT_EQ(claim.get().status, absl::OkStatus());
  EXPECT_EQ(runner.ledger().health().short_batches - before, 1);
  held.get();
  ExpectCleanSelfCheck(runner, url);
}

TEST(LedgerShortRoad, WhatAnotherProcessWroteMeanwhileIsSeen) {
  const std::string url = NewDatabase();
  Gate gate;
  LedgerRunner one(ShortAtGate(url, gate));
  LedgerRunner two(OptionsFor(url));
  MakeProviders(one, 1, 100, 1024);
  std::future<Decision> first = Decide(one, gate, WithId(Claim(1, {1}, 1), ""));
  const Decision second = two.Must(Claim(2, {1}, 1));
  gate.Open();
  const Decision decision = first.get();
  EXPECT_EQ(decision.status, absl::OkStatus());
  EXPECT_GT(decision.revision, second.revision);
  EXPECT_EQ(UsedOf(*one.ledger().Newest(), 1), 2);
  EXPECT_EQ(one.ledger().health().moved_batches, 1);
  ExpectCleanSelfCheck(one, url);
}

// A refusal and a look-up write nothing. They are answered after the comparison all the same.
TEST(LedgerShortRoad, ARefusalIsOfTheNewestState) {
  const std::string url = NewDatabase();
  Gate gate;
  LedgerRunner one(ShortAtGate(url, gate));
  LedgerRunner two(OptionsFor(url));
  MakeProviders(one, 1, 1, 1024);
  const Decision full = one.Must(Claim(1, {1}, 1));
  std::future<Decision> refused = Decide(one, gate, WithId(Claim(2, {1}, 1), ""));
  two.Must(Release(1, full.result.consumers.at(0).second));
  gate.Open();
  EXPECT_EQ(refused.get().status, absl::OkStatus());
  std::future<Decision> look_up = Decide(one, gate, WithId(FindRequest{"tester", "late"}, ""));
  two.Must(NewProvider(2), "late");
  gate.Open();
  const Decision found = look_up.get();
  EXPECT_EQ(found.status, absl::OkStatus());
  EXPECT_TRUE(found.replayed);
  // And where nothing moved, one round trip is enough for both.
  const int64_t before = one.ledger().health().short_batches;
  EXPECT_EQ(ReasonOf(one.Do(Claim(5, {1}, 1))), "CAPACITY_EXCEEDED");
  EXPECT_EQ(ReasonOf(one.Do(FindRequest{"tester", "never"})), "REQUEST_NOT_FOUND");
  EXPECT_EQ(one.ledger().health().short_batches - before, 2);
}

// The other process commits while the message waits for the lock: the comparison sees that commit.
TEST(LedgerShortRoad, TheHeadIsReadAfterTheLock) {
  const std::string url = NewDatabase();
  Gate gate;
  Gate other_gate;
  LedgerRunner one(ShortAtGate(url, gate));
  MakeProviders(one, 1, 1, 1024);
  const Decision full = one.Must(Claim(1, {1}, 1));
  LedgerRunner two(ShortAtGate(url, other_gate, LedgerRoads::kLong));
  other_gate.Close(LedgerStep::kBeforeWrite);
  std::future<Decision> release =
      two.Begin(WithId(Release(1, full.result.consumers.at(0).second), ""));
  other_gate.AwaitWriter();
  std::future<Decision> claim = one.Begin(WithId(Claim(2, {1}, 1), ""));
  auto observer = ConnectOrDie(url);
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    return QueryOne(*observer,
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'") == "1";
  }));
  other_gate.Open();
  EXPECT_EQ(release.get().status, absl::OkStatus());
  EXPECT_EQ(claim.get().status, absl::OkStatus());
  EXPECT_EQ(one.ledger().health().moved_batches, 1);
}

TEST(LedgerShortRoad, ARequestIdThatIsKeptIsAnsweredAgain) {
  const std::string url = NewDatabase();
  Gate gate;
  LedgerRunner runner(ShortAtGate(url, gate));
  MakeProviders(runner, 1, 100, 1024);
  const Decision first = runner.Must(Claim(1, {1}, 1), "one");
  const Decision again = runner.Do(Claim(1, {1}, 1), "one");
  EXPECT_EQ(again.status, absl::OkStatus());
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.revision, first.revision);
  Command other = WithId(Claim(2, {1}, 1), "one");
  other.body_hash = std::string(32, 'x');
  EXPECT_EQ(ReasonOf(runner.Do(other)), "REQUEST_ID_REUSED");
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 1);
  EXPECT_EQ(runner.ledger().health().moved_batches, 2);
}

// A command has not begun before its batch is sent: also one that is too late by then is not done,
// and its neighbour is decided again without it.
TEST(LedgerShortRoad, WhatIsTooLateOrCancelledWhenItIsSentIsNotDone) {
  for (const bool cancels : {false, true}) {
    const std::string url = NewDatabase();
    Gate gate;
    LedgerRunner runner(ShortAtGate(url, gate, LedgerRoads::kByHistory));
    MakeProviders(runner, 1, 100, 1024);
    // While the first batch is written, both claims come to the queue: they are the next batch.
    gate.Close(LedgerStep::kBeforeWrite);
    std::future<Decision> held = runner.Begin(WithId(Claim(3, {1}, 1), ""));
    gate.AwaitWriter();
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    std::promise<Decision> late;
    runner.ledger().Submit(WithId(Claim(1, {1}, 1), ""),
                           BootNow() + absl::Seconds(cancels ? 30 : 3), cancelled,
                           [&](Decision decision) { late.set_value(std::move(decision)); });
    std::future<Decision> neighbour = runner.Begin(WithId(Claim(2, {1}, 1), ""));
    gate.Close(LedgerStep::kDecided);
    gate.AwaitWriter();
    std::future<Decision> late_answer = late.get_future();
    if (cancels) {
      *cancelled = true;
    } else {
      late_answer.wait();  // the watchdog says so while the batch is decided and not sent
    }
    gate.Open();
    const Decision decision = late_answer.get();
    EXPECT_EQ(ReasonOf(decision), cancels ? "CANCELLED" : "DEADLINE_BEFORE_START");
    EXPECT_EQ(neighbour.get().status, absl::OkStatus());
    EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 2);
    EXPECT_EQ(runner.ledger().health().dropped_batches, 1);
    held.get();
    ExpectCleanSelfCheck(runner, url);
  }
}

// Whenever a batch is decided and not sent, the next of its commands is cancelled. The batch is
// dropped once: the long road, which comes then, leaves out only what is cancelled.
TEST(LedgerShortRoad, WhatIsCancelledStopsItsNeighboursOnce) {
  constexpr int kClaims = 8;
  Gate gate;
  std::atomic<bool> cancels{false};
  std::atomic<size_t> next{0};
  std::vector<std::shared_ptr<std::atomic<bool>>> cancelled;
  LedgerOptions options = ShortAtGate(NewDatabase(), gate, LedgerRoads::kByHistory);
  options.at_step = [&](LedgerStep step) {
    gate.Pass(step);
    if (cancels && step == LedgerStep::kDecided && next < kClaims) *cancelled[next++] = true;
  };
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 100, 1024);
  // While the first batch is written, the claims come to the queue: they are the next batch.
  gate.Close(LedgerStep::kBeforeWrite);
  std::future<Decision> held = runner.Begin(WithId(Claim(99, {1}, 1), ""));
  gate.AwaitWriter();
  std::vector<std::promise<Decision>> answers(kClaims);
  for (int i = 0; i < kClaims; ++i) {
    cancelled.push_back(std::make_shared<std::atomic<bool>>(false));
    runner.ledger().Submit(
        WithId(Claim(1 + i, {1}, 1), ""), BootNow() + absl::Seconds(30), cancelled.back(),
        [&answers, i](Decision decision) { answers[i].set_value(std::move(decision)); });
  }
  cancels = true;
  gate.Open();
  EXPECT_EQ(ReasonOf(answers[0].get_future().get()), "CANCELLED");
  for (int i = 1; i < kClaims; ++i) {
    EXPECT_EQ(answers[i].get_future().get().status, absl::OkStatus()) << i;
  }
  EXPECT_EQ(runner.ledger().health().dropped_batches, 1);
  EXPECT_EQ(held.get().status, absl::OkStatus());
}

TEST(LedgerShortRoad, NothingIsAnsweredBeforeTheCommit) {
  const std::string url = NewDatabase();
  Gate gate;
  LedgerRunner runner(ShortAtGate(url, gate));
  MakeProviders(runner, 1, 1, 1024);
  auto holder = ConnectOrDie(url);
  auto observer = ConnectOrDie(url);
  for (const char* reason : {"OK", "CAPACITY_EXCEEDED"}) {
    ASSERT_EQ(holder->Run(absl::StrCat("BEGIN; ", LockSql()), nullptr), absl::OkStatus());
    std::future<Decision> claim = runner.Begin(WithId(Claim(reason[0], {1}, 1), ""));
    ASSERT_TRUE(LedgerRunner::Eventually([&] {
      return QueryOne(*observer,
                      "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'") == "1";
    }));
    EXPECT_FALSE(Answered(claim));
    ASSERT_EQ(holder->Run("COMMIT", nullptr), absl::OkStatus());
    EXPECT_EQ(ReasonOf(claim.get()), reason);
  }
}

// F-3: also a claim that is under way already waits until the session of the paused process is
// ended.
TEST(LedgerShortRoad, ALockThatIsNotHadRefusesNobody) {
  const std::string url = NewDatabase();
  Gate gate;
  LedgerRunner runner(ShortAtGate(url, gate));
  MakeProviders(runner, 1, 100, 1024);
  auto holder = ConnectOrDie(url);
  ASSERT_EQ(holder->Run(absl::StrCat("BEGIN; ", LockSql()), nullptr), absl::OkStatus());
  EXPECT_EQ(runner.Do(Claim(1, {1}, 1)).status, absl::OkStatus());
  EXPECT_TRUE(absl::StrContains(runner.told(), "its database session was ended")) << runner.told();
  EXPECT_EQ(runner.ledger().health().in_doubt, 0);
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 1);
}

struct StepInPostgres {
  const char* words;
  const char* prepare;  // makes the batch wait at the step
  const char* hold;     // is run in a session of its own, before the batch
  const char* event;    // what the batch waits for
};

constexpr char kWaitsForSeven[] =
    "CREATE FUNCTION wait_for_seven() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM "
    "pg_advisory_xact_lock(7); RETURN NULL; END $$; ";

// The session of the batch is ended at a step that only PostgreSQL sees: the batch is in doubt, it
// is found missing, and its command is done once.
TEST(LedgerShortRoad, ASessionMayEndAtEveryStepInPostgres) {
  const std::string after = absl::StrCat(
      kWaitsForSeven,
      "CREATE TRIGGER waits AFTER INSERT ON log FOR EACH ROW EXECUTE FUNCTION wait_for_seven()");
  const std::string deferred =
      absl::StrCat(kWaitsForSeven,
                   "CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON log DEFERRABLE INITIALLY "
                   "DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_seven()");
  const std::string lock = LockSql();
  const StepInPostgres kSteps[] = {
      {"before the lock", "SELECT 1", lock.c_str(), "advisory"},
      {"between lock and comparison", "SELECT 1", "LOCK TABLE log IN ACCESS EXCLUSIVE MODE",
       "relation"},
      {"after writing", after.c_str(), "SELECT pg_advisory_xact_lock(7)", "advisory"},
      {"in the commit", deferred.c_str(), "SELECT pg_advisory_xact_lock(7)", "advisory"},
  };
  for (const StepInPostgres& step : kSteps) {
    SCOPED_TRACE(step.words);
    const std::string url = NewDatabase();
    Gate gate;
    LedgerRunner runner(ShortAtGate(url, gate), false);
    MakeProviders(runner, 1, 100, 1024);
    auto holder = ConnectOrDie(url);
    auto observer = ConnectOrDie(url);
    ASSERT_EQ(holder->Run(step.prepare, nullptr), absl::OkStatus());
    ASSERT_EQ(holder->Run(absl::StrCat("BEGIN; ", step.hold), nullptr), absl::OkStatus());
    std::future<Decision> claim = runner.Begin(WithId(Claim(1, {1}, 1), ""));
    const std::string waiting = absl::StrCat(
        "FROM pg_stat_activity WHERE application_name = 'berth-placement writer' AND "
        "datname = current_database() AND wait_event = '",
        step.event, "'");
    ASSERT_TRUE(LedgerRunner::Eventually(
        [&] { return QueryOne(*observer, absl::StrCat("SELECT count(*) ", waiting)) == "1"; }));
    EXPECT_EQ(QueryOne(*observer, absl::StrCat("SELECT pg_terminate_backend(pid, 5000) ", waiting)),
              "t");
    ASSERT_EQ(holder->Run("COMMIT", nullptr), absl::OkStatus());
    EXPECT_EQ(claim.get().status, absl::OkStatus());
    EXPECT_EQ(runner.ledger().health().in_doubt, 1);
    EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 1);
    ExpectCleanSelfCheck(runner, url);
  }
}

}  // namespace
}  // namespace berth::placement
