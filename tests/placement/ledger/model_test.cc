// Random commands through the whole ledger, against a model in plain maps.

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "placement/ledger/ledger.h"
#include "placement/state/lookup.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/worlds/model_ledger.h"
#include "tests/worlds/random_bodies.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/seed.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

// Commands come in volleys, so that batches hold many; they are decided in the order in which they
// were submitted, and the model settles them in the same one.
void RunAgainstModel(const std::string& url, uint64_t seed, int volleys) {
  ModelLedger model;
  RandomBodies bodies(seed);
  // Both clocks, in seconds: time moves between volleys, and the model knows it.
  std::atomic<int64_t> clock = 1'700'000'000;
  StatePtr last;
  LedgerOptions options = OptionsFor(url);
  options.wall_clock = [&clock] { return absl::FromUnixSeconds(clock); };
  options.boot_clock = [&clock] { return absl::Seconds(clock.load()); };
  {
    options.batch_rows_max = 50;
    options.log_rows_kept = 50;
    LedgerRunner runner(options);
    std::mt19937_64 random(seed);
    int64_t refusals = 0;
    for (int volley = 0; volley < volleys; ++volley) {
      model.now = absl::FromUnixSeconds(clock);
      std::vector<CommandBody> sent;
      std::vector<std::future<Decision>> answers;
      const uint64_t size = 1 + random() % 30;
      for (uint64_t i = 0; i < size; ++i) {
        sent.push_back(bodies.Next(model));
        answers.push_back(runner.Begin(WithId(sent.back(), "")));
      }
      for (size_t i = 0; i < sent.size(); ++i) {
        const Decision decision = answers[i].get();
        ASSERT_EQ(model.Do(sent[i], decision.fresh), ReasonOf(decision)) << "volley " << volley;
        refusals += decision.status.ok() ? 0 : 1;
      }
      CheckSafety(*runner.ledger().Newest());
      // The ledger releases by itself what is due now.
      clock += static_cast<int64_t>(random() % 5);
      model.now = absl::FromUnixSeconds(clock);
      model.Do(ExpireLeases(), Generation());
      EXPECT_TRUE(LedgerRunner::Eventually([&] {
        const std::optional<absl::Time> end = FirstLeaseEnd(*runner.ledger().Newest());
        return !end || *end > model.now;
      }));
      ASSERT_EQ(TextOf(*runner.ledger().Newest()), model.Text()) << "volley " << volley;
    }
    EXPECT_GT(refusals, 0);
    EXPECT_EQ(TextOf(*runner.ledger().Newest()), model.Text());
    ExpectCleanSelfCheck(runner, url);
    last = runner.ledger().Newest();
  }
  LedgerRunner again(options);
  ExpectEqualStates(*last, *again.ledger().Newest());
  EXPECT_EQ(TextOf(*again.ledger().Newest()), model.Text());
}

TEST(LedgerModel, TheLedgerDoesWhatTheModelDoes) {
  const uint64_t seed = Seed();
  for (uint64_t round = 0; round < 2; ++round) RunAgainstModel(NewDatabase(), seed + round, 60);
}

}  // namespace
}  // namespace berth::placement
