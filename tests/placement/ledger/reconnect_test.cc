// What the ledger does when its connection to the database is lost.

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/ledger/ledger.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

// Through the proxy, with time to connect on a busy machine.
LedgerOptions OptionsThrough(const CuttingProxy& proxy, const std::string& url) {
  return OptionsFor(absl::StrCat(proxy.Through(url), "&connect_timeout=60"));
}

// A claim of each of `count` consumers, in one command.
CommandBody ClaimForEach(int first_consumer, int count) {
  SetAllocations all;
  for (int i = 0; i < count; ++i) {
    const CommandBody one = Claim(first_consumer + i, {1, 2}, 1);
    all.consumers.push_back(std::get<SetAllocations>(one).consumers.front());
  }
  return all;
}

// a connection that is lost around the commit leaves no command unanswered, none done twice;
// neither where the batch is long and its commit a message of its own.
void CutAroundCommits(CuttingProxy::Cut cut, int consumers_each) {
  const std::string url = NewDatabase();
  CuttingProxy proxy(url);
  LedgerRunner runner(OptionsThrough(proxy, url));
  MakeProviders(runner, 2, 10'000, 1024);
  for (int round = 1; round <= 5; ++round) {
    const int64_t number = runner.ledger().Newest()->position().revision.number;
    proxy.CutNext(cut);
    std::vector<std::future<Decision>> claims;
    for (int i = 0; i < 4; ++i) {
      const int place = 10 * round + i;
      claims.push_back(runner.Begin(
          WithId(ClaimForEach(place * consumers_each, consumers_each), absl::StrCat("r", place))));
    }
    for (std::future<Decision>& claim : claims) {
      const Decision decision = claim.get();
      EXPECT_EQ(decision.status, absl::OkStatus()) << runner.told();
      EXPECT_GT(decision.revision.number, number);
    }
    EXPECT_EQ(proxy.cuts(), round);
    EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 4 * round * consumers_each);
  }
  EXPECT_GE(runner.ledger().health().in_doubt, 5);
  ExpectCleanSelfCheck(runner, url);
}

TEST(LedgerReconnect, AnUnknownOutcomeIsSettledByTheLog) {
  for (const auto cut : {CuttingProxy::Cut::kBeforeCommit, CuttingProxy::Cut::kAfterCommit}) {
    for (const int consumers_each : {1, 200}) CutAroundCommits(cut, consumers_each);
  }
}

// What comes while a lost connection is made again waits for it.
TEST(LedgerReconnect, AConnectionThatIsMadeAgainRefusesNobody) {
  const std::string url = NewDatabase();
  CuttingProxy proxy(url);
  LedgerRunner runner(OptionsThrough(proxy, url));
  MakeProviders(runner, 1, 100, 1024);
  proxy.HoldNew(true);
  proxy.CutNext(CuttingProxy::Cut::kAfterCommit);
  std::vector<std::future<Decision>> claims;
  claims.push_back(runner.Begin(WithId(Claim(1, {1}, 1), "")));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return proxy.cuts() == 1 && proxy.held() > 0; }));
  EXPECT_TRUE(runner.ledger().health().writable);
  for (int i = 2; i <= 5; ++i) claims.push_back(runner.Begin(WithId(Claim(i, {1}, 1), "")));
  proxy.HoldNew(false);
  for (std::future<Decision>& claim : claims) EXPECT_EQ(claim.get().status, absl::OkStatus());
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 5);
}

// But not for ever: where the server takes the connection and says nothing, newcomers are refused.
TEST(LedgerReconnect, AConnectionThatTakesLongIsNotWaitedFor) {
  const std::string url = NewDatabase();
  CuttingProxy proxy(url);
  LedgerOptions options = OptionsThrough(proxy, url);
  options.no_progress_max = absl::Seconds(1);
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 100, 1024);
  proxy.HoldNew(true);
  proxy.CutNext(CuttingProxy::Cut::kAfterCommit);
  std::future<Decision> first = runner.Begin(WithId(Claim(1, {1}, 1), ""));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return !runner.ledger().health().writable; }));
  EXPECT_EQ(proxy.cuts(), 1);
  EXPECT_EQ(ReasonOf(runner.Do(Claim(2, {1}, 1))), "STORE_UNAVAILABLE");
  proxy.HoldNew(false);
  EXPECT_EQ(first.get().status, absl::OkStatus());
  EXPECT_TRUE(runner.ledger().health().writable);
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 1);
}

TEST(LedgerReconnect, AnIdleConnectionThatWasLostCostsNothing) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 100, 1024);
  auto database = ConnectOrDie(url);
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(QueryOne(*database,
                       "SELECT bool_and(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
                       "WHERE application_name LIKE 'berth-placement%' AND datname = "
                       "current_database()"),
              "t");
    runner.Must(Claim(i, {1}, 1));
  }
  EXPECT_EQ(runner.ledger().health().in_doubt, 0);
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 5);
}

// A cancellation is a write: where its commit is lost, it is settled before it is answered.
TEST(LedgerReconnect, ACancellationHoldsThroughALostCommit) {
  for (const auto cut : {CuttingProxy::Cut::kBeforeCommit, CuttingProxy::Cut::kAfterCommit}) {
    const std::string url = NewDatabase();
    CuttingProxy proxy(url);
    LedgerRunner runner(OptionsThrough(proxy, url));
    MakeProviders(runner, 1, 100, 1024);
    proxy.CutNext(cut);
    EXPECT_FALSE(runner.Must(FindRequest{"tester", "late", true}).replayed);
    EXPECT_EQ(proxy.cuts(), 1);
    LedgerRunner other(OptionsFor(url));
    EXPECT_EQ(ReasonOf(other.Do(Claim(1, {1}, 1), "late")), "REQUEST_CANCELLED");
    ExpectCleanSelfCheck(other, url);
  }
}

}  // namespace
}  // namespace berth::placement
