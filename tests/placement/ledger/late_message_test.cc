// A message that is on the way when its connection is cut, and arrives after all.

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ledger/ledger.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

// The message of a batch whose connection was cut lies on the way and arrives after all.
class LedgerLateMessage : public ::testing::Test {
 protected:
  LedgerOptions Options() {
    LedgerOptions options = OptionsFor(absl::StrCat(proxy_.Through(url_), "&connect_timeout=60"));
    options.roads = LedgerRoads::kShortFirst;
    options.no_progress_max = absl::Seconds(60);
    return options;
  }
  // Begins a claim of consumer 1, and cuts the connection with the claim's message on the way. The
  // next connection waits until HoldNew(false).
  std::future<Decision> Cut(LedgerRunner& runner, absl::Duration limit = absl::Seconds(60)) {
    proxy_.HoldNew(true);
    proxy_.CutNext(CuttingProxy::Cut::kLate);
    std::future<Decision> claim = runner.Begin(WithId(Claim(1, {1}, 1), ""), limit);
    EXPECT_TRUE(LedgerRunner::Eventually([&] { return proxy_.cuts() == 1 && proxy_.held() > 0; }));
    return claim;
  }

  const std::string url_ = NewDatabase();
  CuttingProxy proxy_{url_};
};

TEST_F(LedgerLateMessage, IsFoundIfItArrivesBeforeTheBatchIsSettled) {
  LedgerRunner runner(Options(), false);
  MakeProviders(runner, 1, 100, 1024);
  std::future<Decision> claim = Cut(runner);
  EXPECT_TRUE(absl::StrContains(proxy_.DeliverLate(), "SELECT 1"));
  const std::string head = QueryOne(*ConnectOrDie(url_), "SELECT max(revision) FROM log");
  proxy_.HoldNew(false);
  const Decision decision = claim.get();
  EXPECT_EQ(decision.status, absl::OkStatus());
  EXPECT_EQ(absl::StrCat(decision.revision.number), head);  // done by the late message
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 1);
  ExpectCleanSelfCheck(runner, url_);
}

TEST_F(LedgerLateMessage, WritesNothingAfterTheBatchIsSettled) {
  LedgerRunner runner(Options());
  MakeProviders(runner, 1, 100, 1024);
  std::future<Decision> claim = Cut(runner);
  proxy_.HoldNew(false);
  EXPECT_EQ(claim.get().status, absl::OkStatus());
  auto database = ConnectOrDie(url_);
  const char kHead[] = "SELECT max(revision) FROM log";
  const std::string head = QueryOne(*database, kHead);
  // The comparison was false: no row, and no error of a guard further down.
  EXPECT_TRUE(absl::StrContains(proxy_.DeliverLate(), "SELECT 0"));
  EXPECT_EQ(QueryOne(*database, kHead), head);
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 1);
  ExpectCleanSelfCheck(runner, url_);
}

// PostgreSQL refuses the row that would settle the batch. So the message can still take effect, and
// nobody is told that the claim was not done.
TEST_F(LedgerLateMessage, IsWaitedForUntilARowIsCommitted) {
  LedgerRunner runner(Options(), false);
  MakeProviders(runner, 1, 100, 1024);
  const absl::Time deadline = absl::Now() + absl::Seconds(3);
  std::future<Decision> claim = Cut(runner, absl::Seconds(3));
  ASSERT_EQ(ConnectOrDie(url_)->Run(
                "CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NOT "
                "EXISTS (SELECT FROM consumer) THEN RAISE EXCEPTION 'no space' USING ERRCODE = "
                "'53100'; END IF; RETURN NEW; END $$; CREATE TRIGGER full_disk BEFORE INSERT ON "
                "log FOR EACH ROW EXECUTE FUNCTION disk_full()",
                nullptr),
            absl::OkStatus());
  // A command that is decided again from now on is too late.
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return absl::Now() > deadline; }));
  proxy_.HoldNew(false);
  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    return absl::StrContains(runner.told(), "no space") ||
           claim.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }));
  proxy_.DeliverLate();
  EXPECT_EQ(claim.get().status, absl::OkStatus());
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 1);
  ExpectCleanSelfCheck(runner, url_);
}

}  // namespace
}  // namespace berth::placement
