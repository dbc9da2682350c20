// A server that answers and refuses writes: the writer comes again, but not without end.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/ledger.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

// While the outcome of a batch is unknown and the server refuses, nobody is told anything wrong,
// newcomers are refused at once, and the attempts come at growing distances.
TEST(LedgerBackoff, AServerThatRefusesIsAskedLessAndLess) {
  constexpr size_t kAttempts = 7;
  // 20 ms, twice as long each time.
  constexpr absl::Duration kTogetherMin = absl::Milliseconds(1200);
  const std::string url = NewDatabase();
  CuttingProxy proxy(url);
  auto database = ConnectOrDie(url);
  Mutex mutex;
  std::vector<absl::Time> attempts;
  LedgerOptions options = OptionsFor(proxy.Through(url));
  options.at_step = [&](LedgerStep step) {
    if (step != LedgerStep::kBeforeLock || proxy.cuts() == 0) return;
    const MutexLock lock(&mutex);
    if (attempts.empty()) {
      EXPECT_TRUE(database->Run("ALTER TABLE log RENAME TO log_away", nullptr).ok());
    }
    attempts.push_back(absl::Now());
  };
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 100, 1024);
  proxy.CutNext(CuttingProxy::Cut::kAfterCommit);
  std::future<Decision> unknown = runner.Begin(WithId(Claim(1, {1}, 1), "doubt"));
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    const MutexLock lock(&mutex);
    return attempts.size() >= kAttempts;
  }));
  EXPECT_EQ(runner.Do(Claim(2, {1}, 1)).status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(unknown.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  {
    const MutexLock lock(&mutex);
    EXPECT_GE(attempts[kAttempts - 1] - attempts[0], kTogetherMin);
  }
  ASSERT_TRUE(ConnectOrDie(url)->Run("ALTER TABLE log_away RENAME TO log", nullptr).ok());
  EXPECT_EQ(unknown.get().status, absl::OkStatus());
  runner.Must(Claim(3, {1}, 1));
  ExpectCleanSelfCheck(runner, url);
}

}  // namespace
}  // namespace berth::placement
