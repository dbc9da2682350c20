#include "placement/ledger/ledger.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/log/feed.h"
#include "placement/values/refusal.h"
#include "tests/placement/ledger/gate.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

TEST(Ledger, AClaimIsDecidedWrittenAndPublished) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 2, 8, 1024);
  const Decision decision = runner.Must(Claim(1, {1, 2}, 3));
  EXPECT_EQ(decision.revision, runner.ledger().Newest()->position().revision);
  ASSERT_EQ(decision.result.consumers.size(), 1u);
  EXPECT_EQ(decision.result.consumers[0].first, ConsumerNumber(1));
  EXPECT_EQ(decision.fresh, decision.result.consumers[0].second);
  EXPECT_EQ(UsedOf(*runner.ledger().Newest(), 1), 3);
  auto database = ConnectOrDie(url);
  EXPECT_EQ(QueryOne(*database, "SELECT sum(amount) FROM allocations"), "6");
  EXPECT_EQ(QueryOne(*database, "SELECT sum(used) FROM inventories"), "6");
  EXPECT_EQ(QueryOne(*database, "SELECT used FROM usages"), "6");
  ExpectCleanSelfCheck(runner, url);
}

TEST(Ledger, ARefusalLeavesNoTrace) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 8, 1024);
  const StatePtr before = runner.ledger().Newest();
  EXPECT_EQ(ReasonOf(runner.Do(Claim(1, {1}, 9))), "CAPACITY_EXCEEDED");
  const Decision missing = runner.Do(Claim(1, {7}, 1));
  EXPECT_EQ(ReasonOf(missing), "PROVIDER_NOT_FOUND");
  EXPECT_EQ(missing.revision, before->position().revision);
  EXPECT_EQ(missing.fresh.value, 0);
  EXPECT_EQ(runner.ledger().Newest()->position().revision, before->position().revision);
  EXPECT_EQ(QueryOne(*ConnectOrDie(url), "SELECT count(*) FROM consumer"), "0");
}

// The follower sees the row of a committed batch before the writer has published it.
TEST(Ledger, TheFollowerLeavesTheBatchInFlightToTheWriter) {
  Gate gate;
  LedgerOptions options = OptionsFor(NewDatabase());
  options.at_step = [&gate](LedgerStep step) { gate.Pass(step); };
  LedgerRunner runner(options, false);
  MakeProviders(runner, 1, 8, 1024);
  const Revision before = runner.ledger().Newest()->position().revision;
  gate.Close(LedgerStep::kCommitted);
  std::future<Decision> claim = runner.Begin(WithId(Claim(1, {1}, 1), ""));
  gate.AwaitWriter();
  const absl::StatusOr<int> applied = runner.ledger().Follow();
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(*applied, 0);
  EXPECT_EQ(runner.ledger().Newest()->position().revision, before);
  gate.Open();
  EXPECT_EQ(claim.get().revision.number, before.number + 1);
}

// Of two writes with one generation exactly one succeeds.
TEST(Ledger, OneGenerationServesOneWrite) {
  LedgerRunner runner(OptionsFor(NewDatabase()));
  MakeProviders(runner, 1, 100, 1024);
  for (int round = 0; round < 20; ++round) {
    const Generation generation =
        runner.ledger().Newest()->FindProvider(ProviderNumber(1))->config().generation;
    std::vector<std::future<Decision>> writes;
    for (int i = 0; i < 8; ++i) {
      writes.push_back(runner.Begin(WithId(Offer(1, generation, 100 + round * 10 + i, 1024), "")));
    }
    int succeeded = 0;
    for (std::future<Decision>& write : writes) {
      const Decision decision = write.get();
      succeeded += decision.status.ok() ? 1 : 0;
      EXPECT_EQ(ReasonOf(decision), decision.status.ok() ? "OK" : "PROVIDER_GENERATION_CONFLICT");
    }
    EXPECT_EQ(succeeded, 1);  // P-147
  }
}

// N claims of 1 on a capacity of N succeed, the others are refused for room.
TEST(Ledger, ExactlyTheCapacityIsGivenAway) {
  const std::string url = NewDatabase();
  LedgerRunner runner(OptionsFor(url));
  MakeProviders(runner, 1, 50, 1024);
  std::vector<std::future<Decision>> claims;
  for (int i = 1; i <= 70; ++i) claims.push_back(runner.Begin(WithId(Claim(i, {1}, 1), "")));
  int succeeded = 0;
  int refused = 0;
  for (std::future<Decision>& claim : claims) {
    const Decision decision = claim.get();
    succeeded += decision.status.ok() ? 1 : 0;
    refused += ReasonOf(decision) == "CAPACITY_EXCEEDED" ? 1 : 0;
  }
  EXPECT_EQ(succeeded, 50);  // P-153
  EXPECT_EQ(refused, 20);    // P-153
  ExpectCleanSelfCheck(runner, url);
}

TEST(Ledger, ARestartGivesTheSameState) {
  const std::string url = NewDatabase();
  StatePtr before;
  {
    LedgerRunner runner(OptionsFor(url));
    MakeProviders(runner, 3, 8, 1024);
    for (int i = 1; i <= 5; ++i) runner.Must(Claim(i, {1 + i % 3}, 1));
    before = runner.ledger().Newest();
  }
  LedgerRunner runner(OptionsFor(url));
  ExpectEqualStates(*before, *runner.ledger().Newest());
  runner.Must(Claim(9, {1}, 1));
  ExpectCleanSelfCheck(runner, url);
}

TEST(Ledger, ReadersWaitForARevision) {
  LedgerRunner runner(OptionsFor(NewDatabase()));
  MakeProviders(runner, 1, 8, 1024);
  const Revision now = runner.ledger().Newest()->position().revision;
  const auto await = [&](Revision minimum, absl::Duration limit) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<StatePtr>>>();
    auto future = promise->get_future();
    runner.ledger().AwaitRevision(minimum, BootNow() + limit, {},
                                  [promise](auto state) { promise->set_value(std::move(state)); });
    return future;
  };
  EXPECT_TRUE(await(now, absl::Seconds(9)).get().ok());
  auto next = await({now.epoch, now.number + 1}, absl::Seconds(30));
  runner.Must(Claim(1, {1}, 1));
  const auto reached = next.get();
  ASSERT_TRUE(reached.ok()) << reached.status();
  EXPECT_GE((*reached)->position().revision.number, now.number + 1);
  const auto late = await({now.epoch, now.number + 9}, absl::Milliseconds(20)).get();
  EXPECT_EQ(RefusalOf(late.status())->reason, "REVISION_NOT_REACHED");
  const auto unknown = await({now.epoch + 1, 1}, absl::Seconds(30)).get();
  EXPECT_EQ(RefusalOf(unknown.status())->reason, "EPOCH_UNKNOWN");
}

TEST(Ledger, NoMoreReadersWaitThanMay) {
  LedgerOptions options = OptionsFor(NewDatabase());
  options.awaits_max = 2;
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 8, 1024);
  Revision next = runner.ledger().Newest()->position().revision;
  ++next.number;
  std::promise<absl::Status> first;
  std::promise<absl::Status> second;
  std::promise<absl::Status> third;
  int owner = 0;
  for (std::promise<absl::Status>* const told : {&first, &second, &third}) {
    runner.ledger().AwaitRevision(next, absl::InfiniteDuration(), {absl::StrCat(++owner), nullptr},
                                  [told](auto state) { told->set_value(state.status()); });
  }
  const absl::Status refused = third.get_future().get();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RefusalOf(refused)->reason, "TOO_MANY_WAIT") << refused;
  EXPECT_GT(RefusalOf(refused)->retry_after, absl::ZeroDuration());
  runner.Must(Claim(1, {1}, 1));
  EXPECT_EQ(first.get_future().get(), absl::OkStatus());
  EXPECT_EQ(second.get_future().get(), absl::OkStatus());
}

// Nobody is told of a revision on the way to the newest one when that is already too old.
TEST(Ledger, WhoWaitsIsToldNothingOld) {
  const std::string url = NewDatabase();
  LedgerRunner writer(OptionsFor(url));
  MakeProviders(writer, 1, 8, 1024);
  std::atomic<int64_t> seconds{1};
  LedgerOptions options = OptionsFor(url);
  options.boot_clock = [&seconds] { return absl::Seconds(seconds.load()); };
  LedgerRunner reader(options, false);
  const Revision now = writer.ledger().Newest()->position().revision;
  std::promise<absl::StatusOr<StatePtr>> told;
  reader.ledger().AwaitRevision({now.epoch, now.number + 1}, absl::InfiniteDuration(), {},
                                [&told](auto state) { told.set_value(std::move(state)); });
  for (int i = 1; i <= 3; ++i) writer.Must(Claim(i, {1}, 1));
  seconds = 10;  // so long has it not looked at the database
  ASSERT_TRUE(reader.ledger().Follow().ok());
  const auto reached = told.get_future().get();
  ASSERT_TRUE(reached.ok()) << reached.status();
  EXPECT_EQ((*reached)->position().revision.number, now.number + 3);
}

std::vector<ProviderId> NodesOf(const FeedCommand& command) {
  std::vector<ProviderId> nodes;
  for (const NodeNews& news : command.concerned.nodes) nodes.push_back(news.node);
  return nodes;
}

TEST(Ledger, TheFeedHoldsEveryBatchOnce) {
  LedgerRunner runner(OptionsFor(NewDatabase()));
  MakeProviders(runner, 2, 8, 1024);
  const Revision from = runner.ledger().Newest()->position().revision;
  for (int i = 1; i <= 4; ++i) runner.Must(Claim(i, {1 + i % 2}, 1));
  const auto batches = runner.ledger().feed().After(from, 100);
  ASSERT_TRUE(batches.ok()) << batches.status();
  ASSERT_EQ(batches->size(), 4u);
  for (int i = 1; i <= 4; ++i) {
    const FeedBatch& batch = *(*batches)[i - 1];
    EXPECT_EQ(batch.revision.number, from.number + i);
    ASSERT_EQ(batch.commands.size(), 1u);
    EXPECT_EQ(batch.commands[0].actor, "tester");
    EXPECT_EQ(NodesOf(batch.commands[0]), std::vector<ProviderId>{ProviderNumber(1 + i % 2)});
  }
}

TEST(Ledger, TheFeedHoldsNoMoreThanTheOptionsSay) {
  const auto oldest_after = [](const LedgerOptions& options) {
    LedgerRunner runner(options);
    MakeProviders(runner, 1, 100, 1024);
    const Revision from = runner.ledger().Newest()->position().revision;
    for (int i = 1; i <= 20; ++i) runner.Must(Claim(i, {1}, 1));
    const Revision newest = runner.ledger().Newest()->position().revision;
    EXPECT_TRUE(runner.ledger().feed().After({newest.epoch, newest.number - 1}, 100).ok());
    return runner.ledger().feed().After(from, 100).status().code();
  };
  LedgerOptions options = OptionsFor(NewDatabase());
  EXPECT_EQ(oldest_after(options), absl::StatusCode::kOk);
  options = OptionsFor(NewDatabase());
  options.feed_rows_kept = 19;
  EXPECT_EQ(oldest_after(options), absl::StatusCode::kOutOfRange);
  options = OptionsFor(NewDatabase());
  options.feed_changes_kept = 2 * 20 - 1;  // a claim changes a consumer and a provider
  EXPECT_EQ(oldest_after(options), absl::StatusCode::kOutOfRange);
  options = OptionsFor(NewDatabase());
  options.feed_bytes_kept = 20 * 200;  // a batch of one claim takes more than 200 bytes
  EXPECT_EQ(oldest_after(options), absl::StatusCode::kOutOfRange);
}

// What moves nothing of the providers still concerns the nodes that the consumer holds parts of.
TEST(Ledger, TheFeedNamesTheNodesOfAConsumerThatChanges) {
  LedgerRunner runner(OptionsFor(NewDatabase()));
  MakeProviders(runner, 3, 8, 1024);
  runner.Must(Claim(1, {1, 3}, 1));
  const Revision from = runner.ledger().Newest()->position().revision;
  runner.Must(SetLease{ConsumerNumber(1), std::nullopt, absl::Hours(1)});
  AdjustAllocations adjust{ConsumerNumber(1), std::nullopt, {}};
  adjust.adjustments.push_back({ProviderNumber(3), {{"VCPU", 1}}});
  runner.Must(adjust);
  const auto batches = runner.ledger().feed().After(from, 100);
  ASSERT_TRUE(batches.ok()) << batches.status();
  ASSERT_EQ(batches->size(), 2u);
  for (const FeedBatchPtr& batch : *batches) {
    ASSERT_EQ(batch->commands.size(), 1u);
    EXPECT_EQ(NodesOf(batch->commands[0]),
              (std::vector<ProviderId>{ProviderNumber(1), ProviderNumber(3)}));
  }
}

TEST(Ledger, WhatMayNotBeginIsNotDone) {
  LedgerRunner runner(OptionsFor(NewDatabase()));
  MakeProviders(runner, 1, 8, 1024);
  EXPECT_EQ(ReasonOf(runner.Do(WithId(Claim(1, {1}, 1), ""), -absl::Seconds(1))),
            "DEADLINE_BEFORE_START");
  std::promise<Decision> promise;
  runner.ledger().Submit(WithId(Claim(1, {1}, 1), ""), absl::InfiniteDuration(),
                         std::make_shared<std::atomic<bool>>(true),
                         [&](Decision decision) { promise.set_value(std::move(decision)); });
  EXPECT_EQ(promise.get_future().get().status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(runner.ledger().Newest()->consumers().size(), 0);
  runner.ledger().Stop(BootNow() + absl::Seconds(5));
  EXPECT_EQ(ReasonOf(runner.Do(Claim(1, {1}, 1))), "STORE_UNAVAILABLE");
}

TEST(Ledger, AFullQueueRefusesAtOnce) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  std::atomic<bool> closed{false};
  LedgerOptions options = OptionsFor(NewDatabase());
  options.queue_max = 4;
  options.at_step = [&](LedgerStep step) {
    if (step == LedgerStep::kBeforeLock && closed) opened.wait();
  };
  LedgerRunner runner(options);
  MakeProviders(runner, 1, 100, 1024);
  closed = true;
  std::vector<std::future<Decision>> claims;
  claims.push_back(runner.Begin(WithId(Claim(1, {1}, 1), "")));
  ASSERT_TRUE(LedgerRunner::Eventually([&] { return runner.ledger().health().queue_length == 0; }));
  for (int i = 2; i <= 5; ++i) claims.push_back(runner.Begin(WithId(Claim(i, {1}, 1), "")));
  const Decision refused = runner.Do(Claim(6, {1}, 1));
  EXPECT_EQ(ReasonOf(refused), "OVERLOADED");
  EXPECT_TRUE(RefusalOf(refused.status)->retry_after.has_value());
  gate.set_value();
  for (std::future<Decision>& claim : claims) EXPECT_EQ(claim.get().status, absl::OkStatus());
}

// Commands that touch more rows than a batch should have one of their own, and others get through.
TEST(Ledger, BigCommandsStandAlone) {
  const std::string url = NewDatabase();
  LedgerOptions options = OptionsFor(url);
  options.batch_rows_max = 4;
  LedgerRunner runner(options);
  MakeProviders(runner, 12, 100, 1024);
  std::vector<std::future<Decision>> claims;
  for (int i = 1; i <= 40; ++i) {
    std::vector<int> providers = {1 + i % 12};
    if (i % 3 == 0) providers = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    claims.push_back(runner.Begin(WithId(Claim(i, providers, 1), "")));
  }
  for (std::future<Decision>& claim : claims) EXPECT_EQ(claim.get().status, absl::OkStatus());
  ExpectCleanSelfCheck(runner, url);
}

// What does not fit into the rest of a batch comes first in the next one: nobody overtakes it.
TEST(Ledger, OrdinaryCommandsKeepTheirOrder) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  std::atomic<bool> closed{false};
  LedgerOptions options = OptionsFor(NewDatabase());
  options.batch_rows_max = 4;
  options.at_step = [&](LedgerStep step) {
    if (step == LedgerStep::kBeforeLock && closed) opened.wait();
  };
  LedgerRunner runner(options);
  MakeProviders(runner, 6, 100, 1024);
  closed = true;
  std::vector<std::future<Decision>> claims;
  for (int i = 1; i <= 30; ++i) {
    std::vector<int> providers = {1 + i % 6};
    if (i % 2 == 0) providers.push_back(1 + (i + 1) % 6);
    claims.push_back(runner.Begin(WithId(Claim(i, providers, 1), "")));
  }
  gate.set_value();
  Generation last;
  for (std::future<Decision>& claim : claims) {
    const Decision decision = claim.get();
    EXPECT_EQ(decision.status, absl::OkStatus());
    EXPECT_GT(decision.fresh, last);
    last = decision.fresh;
  }
}

// Claims change no column that has an index, so their row versions need no new index entries.
TEST(Ledger, ClaimsUpdateProvidersInPlace) {
  const std::string url = NewDatabase();
  {
    LedgerRunner runner(OptionsFor(url));
    MakeProviders(runner, 4, 1000, 1024);
    for (int i = 1; i <= 200; ++i) runner.Must(Claim(i, {1 + i % 4}, 1));
  }
  auto database = ConnectOrDie(url);
  const std::string updates =
      "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'provider'";
  QueryRows rows;
  ASSERT_TRUE(LedgerRunner::Eventually(
      [&] { return database->Run(updates, &rows).ok() && rows.Int(0, 0) >= 200; }));
  // A row version goes to another page if the page is full of versions that a reader may still see.
  EXPECT_GE(rows.Int(0, 1) * 2, rows.Int(0, 0));
  EXPECT_EQ(QueryOne(*database,
                     "SELECT count(*) FROM pg_index WHERE indrelid = 'provider'::regclass AND "
                     "pg_get_indexdef(indexrelid) ~ 'allocation_generation|used|overcommitted'"),
            "0");
}

// A state that nobody can read any more is freed by the watchdog, or, where none runs, a little later.
TEST(Ledger, OldStatesAreFreed) {
  constexpr int kFew = 12;
  LedgerRunner runner(OptionsFor(NewDatabase()), false);
  MakeProviders(runner, 1, 1000, 1024);
  std::weak_ptr<const State> old = runner.ledger().Newest();
  for (int i = 0; i < kFew; ++i) runner.Must(Claim(i, {1}, 1));
  EXPECT_FALSE(old.expired());  // not on the writer's time
  runner.ledger().Watchdog();
  EXPECT_TRUE(old.expired());
  old = runner.ledger().Newest();
  for (int i = kFew; i < 6 * kFew; ++i) runner.Must(Claim(i, {1}, 1));
  EXPECT_TRUE(old.expired());
}

}  // namespace
}  // namespace berth::placement
