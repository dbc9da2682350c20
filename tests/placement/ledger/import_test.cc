// An import on its way through a ledger: a batch of its own, all of it or nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ledger/ledger.h"
#include "placement/log/feed.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/worlds/imported.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

// `count` hosts, each with a child and a consumer that holds something of both.
ImportLedger Fleet(int count) {
  ImportLedger import;
  int64_t record = 0;
  import.classes.push_back({++record, "CUSTOM_LARGE"});
  for (int i = 0; i < count; ++i) {
    const ProviderId host{Uuid{70, static_cast<uint64_t>(i)}};
    const ProviderId child{Uuid{71, static_cast<uint64_t>(i)}};
    for (const ProviderId id : {host, child}) {
      ImportedProvider& provider = import.providers.emplace_back();
      provider.record = ++record;
      provider.id = id;
      provider.name = absl::StrCat(id == host ? "large" : "part", i);
      if (id == child) provider.parent = host;
      provider.inventories = {{"CUSTOM_LARGE", {8}}};
      provider.aggregates = {AggregateId{Uuid{72, static_cast<uint64_t>(i % 7)}}};
    }
    ImportedConsumer& consumer = import.consumers.emplace_back();
    consumer.id = ConsumerId{Uuid{73, static_cast<uint64_t>(i)}};
    consumer.project = absl::StrCat("p", i % 5);
    consumer.user = "u";
    consumer.type = "INSTANCE";
    consumer.allocations = {{host, {{"CUSTOM_LARGE", 2}}}, {child, {{"CUSTOM_LARGE", 1}}}};
  }
  for (ImportedConsumer& consumer : import.consumers) consumer.record = ++record;
  return import;
}

TEST(LedgerImport, ALargeOneHasABatchOfItsOwnAmongClaims) {
  const std::string url = NewDatabase();
  StatePtr before;
  const ImportLedger import = Fleet(2'000);
  Decision first;
  {
    LedgerRunner runner(OptionsFor(url));
    LedgerRunner other(OptionsFor(url));
    MakeProviders(runner, 4, 1'000, 1'000);
    std::vector<std::future<Decision>> claims;
    for (int i = 1; i <= 50; ++i) claims.push_back(runner.Begin(WithId(Claim(i, {1}, 1), "")));
    auto importing = runner.Begin(WithId(import, "large"));
    for (int i = 51; i <= 200; ++i) {
      claims.push_back((i % 2 == 0 ? runner : other).Begin(WithId(Claim(i, {1}, 1), "")));
    }
    first = importing.get();
    ASSERT_TRUE(first.status.ok()) << first.status;
    EXPECT_EQ(first.result.imported, import.size());
    for (auto& claim : claims) EXPECT_EQ(claim.get().status, absl::OkStatus());
    // Nobody else's command stands in its log row.
    const auto feed =
        runner.ledger().feed().After({first.revision.epoch, first.revision.number - 1}, 1);
    ASSERT_TRUE(feed.ok());
    EXPECT_EQ(feed->front()->commands.size(), 1u);
    const Decision again = runner.Do(WithId(import, "large"));
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.revision, first.revision);
    EXPECT_EQ(again.result.imported, import.size());
    EXPECT_EQ(ReasonOf(runner.Do(import)), "DUPLICATE_PROVIDER");
    CheckSafety(*runner.ledger().Newest());
    ExpectCleanSelfCheck(runner, url);
    before = runner.ledger().Newest();
    EXPECT_TRUE(LedgerRunner::Eventually([&] {
      return other.ledger().Newest()->position().revision == before->position().revision;
    }));
    ExpectEqualStates(*before, *other.ledger().Newest());
  }
  LedgerRunner runner(OptionsFor(url));
  ExpectEqualStates(*before, *runner.ledger().Newest());
  EXPECT_EQ(runner.Must(FindRequest{"tester", "large"}).revision, first.revision);
}

// Each large command needs a batch of its own, and nothing else waits.
TEST(LedgerImport, LargeOnesAloneDoNotBlockEachOther) {
  for (const LedgerRoads roads : {LedgerRoads::kLong, LedgerRoads::kShortFirst}) {
    LedgerOptions options = OptionsFor(NewDatabase());
    options.roads = roads;
    options.batch_rows_max = 50;
    LedgerRunner runner(options);
    MakeProviders(runner, 1, 1'000, 1'000);
    std::vector<std::future<Decision>> imports;
    for (int i = 0; i < 4; ++i) imports.push_back(runner.Begin(WithId(Fleet(100), "")));
    int done = 0;
    for (std::future<Decision>& import : imports) {
      const Decision decision = import.get();
      done += decision.status.ok() ? 1 : 0;
      EXPECT_NE(ReasonOf(decision), "DEADLINE_BEFORE_START");
    }
    EXPECT_GE(done, 1);
  }
}

TEST(LedgerImport, ARefusedOneLeavesNothing) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  ImportLedger import = Fleet(1'500);
  import.consumers.back().allocations[0].provider = ProviderNumber(1);
  const StatePtr before = runner.ledger().Newest();
  const Decision refused = runner.Do(WithId(import, "bad"));
  EXPECT_EQ(ReasonOf(refused), "PROVIDER_NOT_FOUND");
  EXPECT_EQ(RefusalOf(refused.status)->items[0].at("record"), absl::StrCat(import.size()));
  EXPECT_EQ(runner.ledger().Newest()->position().revision, before->position().revision);
  import.consumers.pop_back();
  import.validate_only = true;
  runner.Must(import, "bad");
  EXPECT_EQ(runner.ledger().Newest()->position().revision, before->position().revision);
  import.validate_only = false;
  EXPECT_FALSE(runner.Must(import, "bad").replayed);  // neither was kept
  ExpectCleanSelfCheck(runner, url);
}

// A process that decides something large is silent for longer than a paused one may be.
TEST(LedgerImport, NobodyTakesItForAPausedProcess) {
  const std::string url = NewDatabase();
  std::atomic<bool> importing{false}, waited{false};
  LedgerRunner other(OptionsFor(url));
  LedgerOptions options = OptionsFor(url);
  std::future<Decision> meanwhile;
  options.at_step = [&](LedgerStep step) {
    if (step != LedgerStep::kBeforeWrite || !importing || waited) return;
    meanwhile = other.Begin(WithId(NewProvider(1), ""));
    waited = LedgerRunner::Eventually([&] {
      return other.told().find("the ledger's lock is held by another process") != std::string::npos;
    });
  };
  LedgerRunner runner(options);
  importing = true;
  auto decision = runner.Begin(WithId(Fleet(1'000), ""));
  ASSERT_TRUE(decision.get().status.ok());
  EXPECT_TRUE(waited);
  EXPECT_TRUE(meanwhile.get().status.ok());
  EXPECT_EQ(runner.ledger().health().in_doubt, 0);
  ExpectCleanSelfCheck(runner, url);
}

// The callback of an import frees the whole import, which takes long.
TEST(LedgerImport, IsNotAnsweredOnTheThreadOfTheWriter) {
  std::thread::id writer;
  LedgerOptions options = OptionsFor(NewDatabase());
  options.at_step = [&writer](LedgerStep) { writer = std::this_thread::get_id(); };
  LedgerRunner runner(options);
  std::promise<std::thread::id> promise;
  runner.ledger().Submit(
      WithId(Fleet(1), ""), BootNow() + absl::Seconds(30), nullptr,
      [&promise](const Decision&) { promise.set_value(std::this_thread::get_id()); });
  const std::thread::id answering = promise.get_future().get();
  runner.ledger().Stop(BootNow() + absl::Seconds(30));
  EXPECT_NE(answering, writer);
}

}  // namespace
}  // namespace berth::placement
