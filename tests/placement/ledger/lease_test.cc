// Leases end in the ledger, at ledger time: clocks are the test's.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "placement/ledger/ledger.h"
#include "placement/log/codec.h"
#include "placement/store/rows.h"
#include "tests/placement/ledger/gate.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/worlds/safety.h"

namespace berth::placement {
namespace {

// Both clocks of a process, standing still until they are moved.
struct Clocks {
  std::atomic<int64_t> seconds{1'700'000'000};

  LedgerOptions OptionsFor(const std::string& url) {
    LedgerOptions options = placement::OptionsFor(url);
    options.wall_clock = [this] { return absl::FromUnixSeconds(seconds); };
    options.boot_clock = [this] { return absl::Seconds(seconds.load()); };
    return options;
  }
};

CommandBody Leased(int consumer, int32_t vcpu, absl::Duration lease) {
  CommandBody body = Claim(consumer, {1}, vcpu);
  std::get<SetAllocations>(body).consumers[0].lease = lease;
  return body;
}

bool Holds(LedgerRunner& runner, int consumer) {
  return runner.ledger().Newest()->FindConsumer(ConsumerNumber(consumer)) != nullptr;
}

// The actors of all commands that removed consumers, in order.
std::vector<std::string> Releasers(const std::string& url) {
  std::vector<std::string> actors;
  const auto log = ReadLog(*ConnectOrDie(url), 0, 10'000);
  EXPECT_TRUE(log.ok());
  for (const LogRow& row : *log) {
    const auto commands = DecodeBatch(row.payload);
    EXPECT_TRUE(commands.ok());
    for (const LogCommand& command : *commands) {
      for (const Change& change : *command.changes) {
        if (std::holds_alternative<ConsumerRemoved>(change)) actors.push_back(command.actor);
      }
    }
  }
  return actors;
}

TEST(LedgerLease, EndsAtItsTimeThoughNobodyAsks) {
  const std::string url = NewDatabase();
  Clocks clocks;
  LedgerRunner runner(clocks.OptionsFor(url));
  MakeProviders(runner, 1, 8, 64);
  runner.Must(Leased(1, 2, absl::Seconds(10)));
  runner.Must(Leased(2, 3, absl::Seconds(30)));
  runner.Must(Claim(3, {1}, 1));
  clocks.seconds += 9;
  runner.Must(Claim(4, {1}, 1));  // a batch at this time
  EXPECT_TRUE(Holds(runner, 1));
  clocks.seconds += 1;
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return !Holds(runner, 1); }));
  EXPECT_TRUE(Holds(runner, 2));
  EXPECT_TRUE(Holds(runner, 3));
  runner.Must(SetLease{ConsumerNumber(2), std::nullopt, std::nullopt});  // confirmed
  clocks.seconds += 3600;
  runner.Must(Claim(5, {1}, 1));
  EXPECT_TRUE(Holds(runner, 2));
  EXPECT_EQ(Releasers(url), std::vector<std::string>{kLeaseActor});
  CheckSafety(*runner.ledger().Newest());
  ExpectCleanSelfCheck(runner, url);
}

// The command that releases leases comes on top of a full batch.
TEST(LedgerLease, EndsInAFullBatch) {
  const std::string url = NewDatabase();
  Clocks clocks;
  Gate gate;
  LedgerOptions options = clocks.OptionsFor(url);
  options.roads = LedgerRoads::kLong;
  options.batch_weight_max = 2;
  options.at_step = [&gate](LedgerStep step) { gate.Pass(step); };
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 8, 64);
  runner.Must(Leased(1, 2, absl::Seconds(10)));
  gate.Close(LedgerStep::kLocked);
  std::vector<std::future<Decision>> claims;
  claims.push_back(runner.Begin(WithId(Claim(2, {1}, 1), "")));
  gate.AwaitWriter();
  for (int i = 3; i <= 5; ++i) claims.push_back(runner.Begin(WithId(Claim(i, {1}, 1), "")));
  gate.Close(LedgerStep::kBeforeLock);  // of a batch with the last two claims
  gate.AwaitWriter();
  clocks.seconds += 10;
  gate.Open();
  for (std::future<Decision>& claim : claims) EXPECT_EQ(claim.get().status, absl::OkStatus());
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return !Holds(runner, 1); }));
}

TEST(LedgerLease, RoomIsThereForTheSameBatch) {
  const std::string url = NewDatabase();
  Clocks clocks;
  LedgerRunner runner(clocks.OptionsFor(url));
  MakeProviders(runner, 1, 8, 64);
  runner.Must(Leased(1, 8, absl::Seconds(10)));
  EXPECT_FALSE(runner.Do(Claim(2, {1}, 8)).status.ok());
  clocks.seconds += 10;
  runner.Must(Claim(2, {1}, 8));
}

TEST(LedgerLease, SurvivesALoadOfTheTables) {
  const std::string url = NewDatabase();
  Clocks clocks;
  StatePtr last;
  {
    LedgerRunner runner(clocks.OptionsFor(url));
    MakeProviders(runner, 1, 8, 64);
    runner.Must(Leased(1, 2, absl::Seconds(90)));
    runner.Must(Claim(2, {1}, 1));
    last = runner.ledger().Newest();
    EXPECT_EQ(last->leases().size(), 1);
  }
  clocks.seconds += 3600;
  // Nobody moved time meanwhile: it goes on by a minute, and then with the clock.
  LedgerRunner runner(clocks.OptionsFor(url));
  runner.Must(Claim(3, {1}, 1));
  EXPECT_EQ(runner.ledger().Newest()->position().ledger_time,
            last->position().ledger_time + absl::Seconds(60));
  EXPECT_TRUE(Holds(runner, 1));
  EXPECT_EQ(runner.ledger().Newest()->leases().size(), 1);
  clocks.seconds += 30;
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return !Holds(runner, 1); }));
  EXPECT_TRUE(Holds(runner, 2));
  ExpectCleanSelfCheck(runner, url);
}

TEST(LedgerLease, SeveralProcessesReleaseOnce) {
  const std::string url = NewDatabase();
  Clocks clocks;
  LedgerRunner one(clocks.OptionsFor(url)), two(clocks.OptionsFor(url));
  MakeProviders(one, 1, 800, 64);
  for (int i = 1; i <= 50; ++i) {
    (i % 2 == 0 ? one : two).Must(Leased(i, 1, absl::Seconds(5 + i % 3)));
  }
  for (int second = 0; second < 8; ++second) {
    ++clocks.seconds;
    one.Must(Claim(100 + second, {1}, 1));
    two.Must(Claim(200 + second, {1}, 1));
  }
  for (LedgerRunner* runner : {&one, &two}) {
    EXPECT_TRUE(LedgerRunner::Eventually(
        [&] { return runner->ledger().Newest()->consumers().size() == 16; }));
    EXPECT_TRUE(runner->ledger().Newest()->leases().empty());
  }
  EXPECT_EQ(Releasers(url), std::vector<std::string>(50, kLeaseActor));
  ExpectCleanSelfCheck(one, url);
}

}  // namespace
}  // namespace berth::placement
