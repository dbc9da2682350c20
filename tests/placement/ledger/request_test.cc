// Request ids: an id takes effect once, or never.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "placement/store/rows.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

Amount UsedOfFirst(LedgerRunner& runner) {
  return runner.ledger().Newest()->FindProvider(ProviderNumber(1))->used(0);
}

// a request id takes effect once; its answer comes again.
TEST(LedgerRequest, ARequestIdTakesEffectOnce) {
  const std::string url = NewDatabase();
  Decision first;
  {
    LedgerRunner runner(OptionsFor(url));
    MakeProviders(runner, 1, 8, 1024);
    first = runner.Must(Claim(1, {1}, 3), "r-1");
    EXPECT_FALSE(first.replayed);
    runner.Must(Claim(2, {1}, 1));
    const Decision again = runner.Must(Claim(1, {1}, 3), "r-1");
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.revision, first.revision);
    EXPECT_EQ(again.fresh, first.fresh);
    EXPECT_EQ(again.result.consumers, first.result.consumers);
    EXPECT_EQ(again.changes->size(), first.changes->size());
    Command other = WithId(Claim(1, {1}, 4), "r-1");
    other.body_hash = std::string(32, 'x');
    const Decision refused = runner.Do(other);
    EXPECT_EQ(ReasonOf(refused), "REQUEST_ID_REUSED");
    EXPECT_EQ(RefusalOf(refused.status)->items, (std::vector<FaultItem>{{{"request_id", "r-1"}}}));
    // Another identity has ids of its own, and refusals are not kept.
    Command another = WithId(Claim(3, {1}, 9), "r-1");
    another.actor = "somebody";
    EXPECT_EQ(ReasonOf(runner.Do(another)), "CAPACITY_EXCEEDED");
    another.body = Claim(3, {1}, 2);
    EXPECT_EQ(runner.Do(another).status, absl::OkStatus());
  }
  LedgerRunner runner(OptionsFor(url));
  EXPECT_EQ(runner.Must(Claim(1, {1}, 3), "r-1").revision, first.revision);
  const Decision found = runner.Must(FindRequest{"tester", "r-1"});
  EXPECT_EQ(found.revision, first.revision);
  EXPECT_TRUE(found.replayed);
  EXPECT_EQ(ReasonOf(runner.Do(FindRequest{"tester", "r-2"})), "REQUEST_NOT_FOUND");
  EXPECT_EQ(UsedOfFirst(runner), 6);
}

// The same id twice in one batch, and thrice in flight.
TEST(LedgerRequest, ARequestIdTakesEffectOnceWithinABatch) {
  LedgerRunner runner(OptionsFor(NewDatabase()));
  MakeProviders(runner, 1, 8, 1024);
  std::vector<std::future<Decision>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(runner.Begin(WithId(Claim(1, {1}, 3), "r")));
  int firsts = 0;
  for (std::future<Decision>& call : calls) {
    const Decision decision = call.get();
    EXPECT_EQ(decision.status, absl::OkStatus());
    firsts += decision.replayed ? 0 : 1;
  }
  EXPECT_EQ(firsts, 1);
  EXPECT_EQ(UsedOfFirst(runner), 3);
}

// A row of the database may be seen before it is durable everywhere; what is said by it waits until
// a row after it is.
TEST(LedgerRequest, AKeptAnswerIsGivenWhenARowAfterItIsDurable) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 8, 1024);
  runner.Must(Claim(1, {1}, 3), "done");
  runner.Must(FindRequest{"tester", "never", true});
  LedgerRunner other(OptionsFor(url));
  const auto database = ConnectOrDie(url);
  const auto rows = [&] { return (*ReadHead(*database))->position.revision.number; };
  const auto rows_after = [&](LedgerRunner& asked, const std::string& id, bool cancel) {
    const int64_t before = rows();
    (void)asked.Do(FindRequest{"tester", id, cancel});
    return rows() - before;
  };
  EXPECT_EQ(rows_after(runner, "done", false), 0);  // its own: it knows
  EXPECT_EQ(rows_after(other, "done", false), 1);
  EXPECT_EQ(rows_after(other, "done", false), 0);
  EXPECT_EQ(rows_after(runner, "never", true), 1);
  EXPECT_EQ(rows_after(other, "unknown", false), 0);  // nothing is said that could be lost
  const int64_t before = rows();
  EXPECT_TRUE(other.Must(Claim(1, {1}, 3), "done").replayed);
  EXPECT_EQ(rows() - before, 1);
}

// What was cancelled before it came is refused for as long as ids are kept; what came before stands.
TEST(LedgerRequest, ACancelledRequestNeverTakesEffect) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 8, 1024);
  const Decision cancelled = runner.Must(FindRequest{"tester", "late", true});
  EXPECT_FALSE(cancelled.replayed);
  EXPECT_EQ(ReasonOf(runner.Do(Claim(1, {1}, 3), "late")), "REQUEST_CANCELLED");
  EXPECT_EQ(ReasonOf(runner.Do(FindRequest{"tester", "late"})), "REQUEST_CANCELLED");
  EXPECT_EQ(ReasonOf(runner.Do(FindRequest{"tester", "late", true})), "REQUEST_CANCELLED");
  EXPECT_EQ(runner.ledger().health().refusals, 1);  // of the claim: look-ups are told, not refused

  const Decision done = runner.Must(Claim(2, {1}, 1), "early");
  const Decision found = runner.Must(FindRequest{"tester", "early", true});
  EXPECT_TRUE(found.replayed);
  EXPECT_EQ(found.revision, done.revision);
  EXPECT_TRUE(runner.Must(Claim(2, {1}, 1), "early").replayed);

  // A look alone cancels nothing, nor does another identity.
  EXPECT_EQ(ReasonOf(runner.Do(FindRequest{"tester", "free"})), "REQUEST_NOT_FOUND");
  runner.Must(FindRequest{"somebody", "free", true});
  runner.Must(Claim(3, {1}, 1), "free");

  LedgerRunner other(OptionsFor(url));
  EXPECT_EQ(ReasonOf(other.Do(Claim(1, {1}, 3), "late")), "REQUEST_CANCELLED");
  EXPECT_EQ(UsedOfFirst(other), 2);
  ExpectCleanSelfCheck(other, url);
}

// A command and its cancellation side by side, in either order: both know which was first.
TEST(LedgerRequest, ACancellationRacesWithItsRequest) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 1000, 1024);
  std::vector<std::future<Decision>> claims, looks;
  for (int i = 1; i <= 40; ++i) {
    const std::string id = absl::StrCat("r-", i);
    const auto cancel = [&] {
      looks.push_back(runner.Begin(WithId(FindRequest{"tester", id, true}, "")));
    };
    if (i % 2 == 0) cancel();
    claims.push_back(runner.Begin(WithId(Claim(i, {1}, 1), id)));
    if (i % 2 != 0) cancel();
  }
  int done = 0;
  for (size_t i = 0; i < claims.size(); ++i) {
    const bool first = (i + 1) % 2 != 0;  // the claim
    EXPECT_EQ(ReasonOf(claims[i].get()), first ? "OK" : "REQUEST_CANCELLED");
    const Decision look = looks[i].get();
    EXPECT_EQ(look.status, absl::OkStatus());
    EXPECT_EQ(look.replayed, first);
    done += first ? 1 : 0;
  }
  EXPECT_EQ(UsedOfFirst(runner), done);
  ExpectCleanSelfCheck(runner, url);
}

// A backup reads the table, so PostgreSQL cannot make partitions of it. Writes go on meanwhile.
TEST(LedgerRequest, AnOperatorIsToldWhenIdsCannotBeRotated) {
  const std::string url = NewDatabase();
  const auto backup = ConnectOrDie(url);
  ASSERT_EQ(backup->Run("BEGIN; LOCK TABLE request IN ACCESS SHARE MODE", nullptr),
            absl::OkStatus());
  LedgerRunner runner(OptionsFor(url));
  EXPECT_TRUE(LedgerRunner::Eventually(
      [&] { return absl::StrContains(runner.told(), "request ids could not be rotated"); }));
  EXPECT_TRUE(absl::StrContains(runner.told(), "lock timeout")) << runner.told();
  MakeProviders(runner, 1, 8, 1024);
  runner.Must(Claim(1, {1}, 3), "kept");
  EXPECT_TRUE(runner.Must(Claim(1, {1}, 3), "kept").replayed);
}

}  // namespace
}  // namespace berth::placement
