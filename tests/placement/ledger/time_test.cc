// Ledger time: who writes, how often and how slowly does not change its pace. Clocks are the test's.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/ledger/ledger.h"
#include "placement/log/codec.h"
#include "placement/store/rows.h"
#include "placement/writer/clock.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

// The clocks of a machine, standing still until they are moved.
struct Clocks {
  std::atomic<int64_t> wall{1'700'000'000};
  std::atomic<int64_t> boot{1'000'000};

  void Pass(int64_t seconds) {
    wall += seconds;
    boot += seconds;
  }
  LedgerOptions OptionsFor(const std::string& url) {
    LedgerOptions options = placement::OptionsFor(url);
    options.wall_clock = [this] { return absl::FromUnixSeconds(wall); };
    options.boot_clock = [this] { return absl::Seconds(boot.load()); };
    return options;
  }
};

absl::Time TimeOf(LedgerRunner& runner) { return runner.ledger().Newest()->position().ledger_time; }

CommandBody Leased(int consumer, absl::Duration lease, std::vector<int> providers = {1}) {
  CommandBody body = Claim(consumer, std::move(providers), 1);
  std::get<SetAllocations>(body).consumers[0].lease = lease;
  return body;
}

Position At(int64_t number, int64_t seconds, int64_t epoch = 1) {
  Position position;
  position.revision = {epoch, number};
  position.batch = BatchId{Uuid{static_cast<uint64_t>(epoch), static_cast<uint64_t>(number)}};
  position.ledger_time = absl::FromUnixSeconds(seconds);
  return position;
}

TEST(LedgerClock, RunsWithTheBootClock) {
  int64_t wall = 5000, boot = 100;
  LedgerClock clock([&] { return absl::FromUnixSeconds(wall); },
                    [&] { return absl::Seconds(boot); });
  const auto now = [&](const Position& newest) { return absl::ToUnixSeconds(clock.Now(newest)); };
  EXPECT_EQ(now(At(1, 1000)), 1060) << "a start: a step towards the wall clock";
  wall = 0;
  boot += 10;
  EXPECT_EQ(now(At(1, 1000)), 1070);
  EXPECT_EQ(now(At(2, 1065)), 1070) << "a row of somebody whose clock is behind";
  EXPECT_EQ(clock.Standing(At(2, 1065)), absl::ZeroDuration());
  boot += 10;
  EXPECT_EQ(clock.Standing(At(2, 1065)), absl::Seconds(10));
  EXPECT_EQ(now(At(3, 2000)), 2000) << "of somebody whose clock is ahead";
  boot += 10;
  EXPECT_EQ(now(At(3, 2000)), 2010) << "ahead of the wall clock, too";
  wall = 5000;
  EXPECT_EQ(now(At(2, 1000, 2)), 1060) << "another epoch: what was lost is not made up for";
}

TEST(LedgerClock, AnEmptyLedgerHasTheTimeOfItsFirstRow) {
  LedgerClock clock([] { return absl::FromUnixSeconds(9000); }, [] { return absl::Seconds(1); });
  EXPECT_EQ(clock.Now(Position()), absl::FromUnixSeconds(9000));
  EXPECT_EQ(clock.Now(At(1, 2000)), absl::FromUnixSeconds(2000));
}

TEST(LedgerTime, AnOutageIsNotMadeUpForByThoseWhoAlternate) {
  const std::string url = NewDatabase();
  Clocks clocks;
  absl::Time before;
  {
    LedgerRunner runner(clocks.OptionsFor(url));
    MakeProviders(runner, 1, 800, 64);
    runner.Must(Leased(1, absl::Minutes(10)));
    before = TimeOf(runner);
  }
  clocks.Pass(3600);
  LedgerRunner one(clocks.OptionsFor(url)), two(clocks.OptionsFor(url));
  for (int i = 0; i < 40; ++i) (i % 2 == 0 ? one : two).Must(Claim(100 + i, {1}, 1));
  one.Must(Claim(200, {1}, 1));
  EXPECT_EQ(TimeOf(one), before + absl::Seconds(60));
  EXPECT_NE(one.ledger().Newest()->FindConsumer(ConsumerNumber(1)), nullptr);
}

TEST(LedgerTime, GoesOnAheadOfEveryWallClock) {
  const std::string url = NewDatabase();
  Clocks clocks;
  LedgerRunner one(clocks.OptionsFor(url));
  MakeProviders(one, 1, 800, 64);
  clocks.wall -= 3600;
  LedgerRunner two(clocks.OptionsFor(url));
  const absl::Time before = TimeOf(one);
  for (int i = 0; i < 20; ++i) {
    clocks.Pass(1);
    (i % 2 == 0 ? one : two).Must(Claim(100 + i, {1}, 1));
  }
  EXPECT_EQ(TimeOf(two), before + absl::Seconds(20));
}

// Whoever writes alone, or takes turns with others: what batches took has passed.
TEST(LedgerTime, WhatABatchTakesHasPassed) {
  for (const int processes : {1, 2}) {
    const std::string url = NewDatabase();
    Clocks clocks;
    std::atomic<bool> slow{false};
    std::atomic<int> attempts{0};  // a batch is sent a second time if another process has written
    LedgerOptions options = clocks.OptionsFor(url);
    options.at_step = [&](LedgerStep step) {
      if (!slow || step != LedgerStep::kBeforeWrite) return;
      clocks.Pass(3);
      ++attempts;
    };
    LedgerRunner one(options), two(options);
    MakeProviders(one, 1, 800, 64);
    one.Must(Claim(1, {1}, 1));
    const absl::Time before = TimeOf(one);
    slow = true;
    for (int i = 0; i < 10; ++i) {
      (i % processes == 0 ? one : two).Must(Claim(100 + i, {1}, 1));
    }
    slow = false;
    one.Must(Claim(2, {1}, 1));
    EXPECT_GE(attempts, 10);
    EXPECT_EQ(TimeOf(one), before + attempts.load() * absl::Seconds(3)) << processes;
  }
}

// While somebody has a lease, the log falls no further behind than a start makes up for.
TEST(LedgerTime, IsWrittenThoughNobodyAsks) {
  const std::string url = NewDatabase();
  Clocks clocks;
  LedgerRunner runner(clocks.OptionsFor(url));
  MakeProviders(runner, 1, 8, 64);
  runner.Must(Leased(1, absl::Hours(1)));
  const absl::Time before = TimeOf(runner);
  // Refused: a round of the writer that writes nothing, but has seen the row.
  runner.Do(Release(7, Generation{1}));
  clocks.Pass(59);
  runner.Do(Release(7, Generation{1}));
  EXPECT_EQ(TimeOf(runner), before);
  clocks.Pass(1);
  EXPECT_TRUE(
      LedgerRunner::Eventually([&] { return TimeOf(runner) == before + absl::Seconds(60); }));
}

TEST(LedgerTime, ARowThatIsRefusedIsNotTriedAgainAtOnce) {
  for (const std::string code : {"53100", "25006", "P0001"}) {
    const std::string url = NewDatabase();
    Clocks clocks;
    std::atomic<int> writes{0};
    LedgerOptions options = clocks.OptionsFor(url);
    options.at_step = [&](LedgerStep step) { writes += step == LedgerStep::kBeforeWrite ? 1 : 0; };
    LedgerRunner runner(options);
    MakeProviders(runner, 1, 8, 64);
    runner.Must(Leased(1, absl::Hours(1)));
    const absl::Time before = TimeOf(runner);
    const int written = writes;
    auto database = ConnectOrDie(url);
    ASSERT_EQ(
        database->Run(absl::StrCat("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql "
                                   "AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '",
                                   code,
                                   "'; END $$; CREATE TRIGGER refuse BEFORE INSERT ON log "
                                   "FOR EACH ROW EXECUTE FUNCTION refuse()"),
                      nullptr),
        absl::OkStatus());
    clocks.Pass(60);
    ASSERT_TRUE(LedgerRunner::Eventually([&] { return writes > written; }));
    // Each is a round of the writer that writes nothing of its own.
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(runner.Do(Release(7, Generation{1})).status.code(), absl::StatusCode::kNotFound);
    }
    EXPECT_EQ(writes, written + 1) << code;
    EXPECT_FALSE(runner.ledger().health().writing_stopped) << code;
    ASSERT_EQ(database->Run("DROP TRIGGER refuse ON log", nullptr), absl::OkStatus());
    clocks.Pass(10);
    EXPECT_TRUE(LedgerRunner::Eventually([&] {
      return TimeOf(runner) == before + absl::Seconds(70);
    })) << code;
  }
}

// Whether leases were released in each batch after `revision`, in order.
std::vector<bool> ReleasesAfter(const std::string& url, int64_t revision) {
  std::vector<bool> releases;
  const auto log = ReadLog(*ConnectOrDie(url), revision, 10'000);
  EXPECT_TRUE(log.ok());
  for (const LogRow& row : *log) {
    if (row.position.revision.number == revision) continue;
    const auto commands = DecodeBatch(row.payload);
    EXPECT_TRUE(commands.ok());
    bool any = false;
    for (const LogCommand& command : *commands) any |= command.actor == kLeaseActor;
    releases.push_back(any);
  }
  return releases;
}

// A lease ends before every batch, and yet a big command is decided, and leases end meanwhile.
TEST(LedgerTime, LeasesAndBigCommandsMakeWayForEachOther) {
  constexpr int kLeases = 60;
  for (int size = 17; size <= 22; ++size) {
    const std::string url = NewDatabase();
    Clocks clocks;
    std::atomic<bool> passes{false};
    LedgerOptions options = clocks.OptionsFor(url);
    options.batch_rows_max = 20;
    options.at_step = [&](LedgerStep step) {
      if (passes && step == LedgerStep::kBeforeLock) clocks.Pass(1);
    };
    LedgerRunner runner(options);
    MakeProviders(runner, size, 800, 64);
    for (int i = 1; i <= kLeases; ++i) runner.Must(Leased(i, absl::Seconds(i)));
    std::vector<int> providers;
    for (int i = 1; i <= size; ++i) providers.push_back(i);
    const int64_t revision = runner.ledger().Newest()->position().revision.number;
    passes = true;
    std::vector<std::future<Decision>> bigs;
    for (int i = 0; i < 3; ++i) {
      bigs.push_back(runner.Begin(WithId(Claim(100 + i, providers, 1), "")));
    }
    for (std::future<Decision>& big : bigs) {
      const Decision decision = big.get();
      EXPECT_EQ(decision.status, absl::OkStatus());
      EXPECT_LE(decision.revision.number, revision + 12) << size;
    }
    const std::vector<bool> releases = ReleasesAfter(url, revision);
    for (size_t i = 1; i < releases.size(); ++i) {
      EXPECT_TRUE(releases[i] || releases[i - 1]) << size << ": batch " << i;
    }
  }
}

}  // namespace
}  // namespace berth::placement
