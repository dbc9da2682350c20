// Commands whose batch was lost: its outcome is unknown, and the log or nobody can tell it.

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ledger/ledger.h"
#include "placement/values/refusal.h"
#include "tests/placement/ledger/gate.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

LedgerOptions OptionsAtGate(const std::string& url, Gate& gate) {
  LedgerOptions options = OptionsFor(url);
  options.at_step = [&gate](LedgerStep step) { gate.Pass(step); };
  return options;
}

// Keeps the writer busy with a command that writes nothing, so that what comes next has one batch.
std::future<Decision> HoldWriter(LedgerRunner& runner, Gate& gate) {
  gate.Close(LedgerStep::kBeforeLock);
  std::future<Decision> held = runner.Begin(WithId(FindRequest{"tester", "none"}, ""));
  gate.AwaitWriter();
  return held;
}

int Occurrences(const std::string& text, const std::string& words) {
  int count = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
    ++count;
  return count;
}

// A write that ends its own session is tried twice: with its neighbours, and alone. The neighbours
// and those who come later are served.
TEST(LedgerDoubt, AWriteThatBreaksItsConnectionIsRefusedAfterTheSecondTime) {
  const std::string url = NewDatabase();
  Gate gate;
  LedgerRunner runner(OptionsAtGate(url, gate));
  MakeProviders(runner, 1, 1000, 1024);
  ASSERT_EQ(ConnectOrDie(url)->Run(
                "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$; "
                "CREATE TRIGGER poison BEFORE INSERT ON consumer FOR EACH ROW "
                "WHEN (NEW.amount[1] = 13) EXECUTE FUNCTION end_session()",
                nullptr),
            absl::OkStatus());
  std::future<Decision> held = HoldWriter(runner, gate);
  std::vector<std::future<Decision>> neighbours;
  std::future<Decision> poison;
  for (int i = 1; i <= 9; ++i) {
    std::future<Decision> claim = runner.Begin(WithId(Claim(i, {1}, i == 5 ? 13 : 1), ""));
    (i == 5 ? poison : neighbours.emplace_back()) = std::move(claim);
  }
  gate.Open();
  for (int i = 10; i < 20; ++i) {
    EXPECT_EQ(runner.Do(Claim(i, {1}, 1)).status, absl::OkStatus());
  }
  for (std::future<Decision>& claim : neighbours) EXPECT_EQ(claim.get().status, absl::OkStatus());
  const Decision refused = poison.get();
  EXPECT_EQ(ReasonOf(refused), "STORE_UNAVAILABLE") << refused.status;
  EXPECT_TRUE(absl::StrContains(refused.status.message(), "broke twice")) << refused.status;
  EXPECT_EQ(Occurrences(runner.told(), "the last batch of writes was committed"), 2)
      << runner.told();
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 18);
  held.get();
  ExpectCleanSelfCheck(runner, url);
}

// The log row of a batch in doubt has been deleted as old: nobody can tell whether it was
// committed, but a request id can.
TEST(LedgerDoubt, AnOutcomeThatTheLogForgotIsUnknown) {
  const std::string url = NewDatabase();
  CuttingProxy proxy(url);
  Gate gate;
  LedgerRunner runner(OptionsAtGate(absl::StrCat(proxy.Through(url), "&connect_timeout=60"), gate));
  LedgerOptions forgetful = OptionsFor(url);
  forgetful.log_rows_kept = 3;
  LedgerRunner other(forgetful);
  MakeProviders(runner, 1, 1000, 1024);
  std::future<Decision> held = HoldWriter(runner, gate);
  std::future<Decision> without_id = runner.Begin(WithId(Claim(1, {1}, 1), ""));
  std::future<Decision> with_id = runner.Begin(WithId(Claim(2, {1}, 1), "two"));
  proxy.HoldNew(true);
  proxy.CutNext(CuttingProxy::Cut::kAfterCommit);
  gate.Open();
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return proxy.cuts() == 1 && proxy.held() > 0; }));
  for (int i = 11; i <= 30; ++i) other.Must(Claim(i, {1}, 1));
  proxy.HoldNew(false);
  const Decision unknown = without_id.get();
  EXPECT_EQ(unknown.status.code(), absl::StatusCode::kDeadlineExceeded) << unknown.status;
  EXPECT_FALSE(RefusalOf(unknown.status).has_value()) << unknown.status;
  const Decision found = with_id.get();
  EXPECT_EQ(found.status, absl::OkStatus());
  EXPECT_TRUE(found.replayed);
  EXPECT_EQ(UsedOf(*other.ledger().Newest(), 1), 22);  // both had been committed
  held.get();
  ExpectCleanSelfCheck(other, url);
}

}  // namespace
}  // namespace berth::placement
