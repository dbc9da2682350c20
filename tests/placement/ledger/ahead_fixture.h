// LedgerAhead: a ledger whose message waits for the ledger's lock while the test gives it more
// commands. For the tests of batches that are decided while the one before is being committed.
#ifndef BERTH_TESTS_PLACEMENT_LEDGER_AHEAD_FIXTURE_H_
#define BERTH_TESTS_PLACEMENT_LEDGER_AHEAD_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/ledger/ledger.h"
#include "placement/store/schema.h"
#include "tests/placement/ledger/gate.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {

class LedgerAhead : public ::testing::Test {
 protected:
  static constexpr int kCommands = 20;  // fill a batch
  static constexpr int kManyProviders = 3 * kCommands;

  LedgerAhead() { Use(AtGate(NewDatabase()), 1); }

  LedgerOptions AtGate(const std::string& url) {
    LedgerOptions options = OptionsFor(url);
    options.batch_weight_max = kCommands;
    options.at_step = [this](LedgerStep step) { gate_.Pass(step); };
    return options;
  }
  // Replaces the ledger of the test by one with `options` and so many providers of kCommands units.
  void Use(const LedgerOptions& options, int providers) {
    runner_.reset();
    url_ = options.database_url;
    holder_ = ConnectOrDie(url_);
    observer_ = ConnectOrDie(url_);
    runner_ = std::make_unique<LedgerRunner>(options);
    MakeProviders(*runner_, providers, kCommands, 1024);
  }

  // A claim that changes more rows than a shared batch may. Takes nothing of the first provider.
  static CommandBody LargeClaim(int consumer) {
    std::vector<int> providers;
    for (int i = 2; i <= kManyProviders; ++i) providers.push_back(i);
    return Claim(consumer, providers, 1);
  }
  LedgerOptions WithLargeBatches() {
    LedgerOptions options = AtGate(NewDatabase());
    options.batch_rows_max = 2 * kCommands;
    return options;
  }
  std::string Waiting(const char* columns) const {
    return absl::StrCat("SELECT ", columns,
                        " FROM pg_stat_activity WHERE wait_event = 'advisory' AND "
                        "application_name = 'berth-placement writer' AND datname = "
                        "current_database()");
  }
  void TakeLock() {
    ASSERT_EQ(holder_->Run(absl::StrCat("BEGIN; SELECT pg_advisory_xact_lock(", kLedgerLock, ")"),
                           nullptr),
              absl::OkStatus());
  }
  // Begins `first`, whose message waits for the lock, which TakeLock has taken.
  std::future<Decision> Send(Command first) {
    std::future<Decision> sent = runner_->Begin(std::move(first));
    AwaitSent();
    return sent;
  }
  void AwaitSent() {
    EXPECT_TRUE(
        LedgerRunner::Eventually([&] { return QueryOne(*observer_, Waiting("count(*)")) == "1"; }));
  }
  // Begins a claim of one unit for each of kCommands consumers, the first one being `base` + 1, and
  // waits until a batch of them is decided on the state that the batch which was sent will make.
  std::vector<std::future<Decision>> DecideAhead(int base = 100) {
    gate_.Close(LedgerStep::kDecidedAhead);
    std::vector<std::future<Decision>> claims = BeginClaims(base);
    gate_.AwaitWriter();
    return claims;
  }
  std::vector<std::future<Decision>> BeginClaims(int base = 100) {
    std::vector<std::future<Decision>> claims;
    for (int i = 1; i <= kCommands; ++i) {
      const std::string request_id = absl::StrCat("id", base + i);
      claims.push_back(runner_->Begin(WithId(Claim(base + i, {1}, 1), request_id)));
    }
    return claims;
  }
  // Gives the writer the time of some queries.
  void PassSomeTime() {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(QueryOne(*observer_, "SELECT 1"), "1");
  }
  // Begins claims while a batch waits for the lock, and expects that they are decided after it.
  void ExpectNotAhead() {
    const int64_t before = runner_->ledger().health().ahead_batches;
    std::vector<std::future<Decision>> claims = BeginClaims();
    PassSomeTime();
    LetGo();
    CountOk(claims);
    EXPECT_EQ(runner_->ledger().health().ahead_batches, before);
    ExpectCleanSelfCheck(*runner_, url_);
  }
  void LetGo() {
    ASSERT_EQ(holder_->Run("COMMIT", nullptr), absl::OkStatus());
    gate_.Open();
  }
  int CountOk(std::vector<std::future<Decision>>& claims) {
    int ok = 0;
    for (std::future<Decision>& claim : claims) {
      const Decision decision = claim.get();
      ok += decision.status.ok() ? 1 : 0;
      EXPECT_TRUE(decision.status.ok() || ReasonOf(decision) == "CAPACITY_EXCEEDED")
          << decision.status;
    }
    return ok;
  }

  std::string url_;
  Gate gate_;
  std::atomic<int64_t> seconds_{1'700'000'000};  // of the boot clock of some tests
  std::unique_ptr<LedgerRunner> runner_;
  std::unique_ptr<Database> holder_;
  std::unique_ptr<Database> observer_;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_PLACEMENT_LEDGER_AHEAD_FIXTURE_H_
