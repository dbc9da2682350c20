#include "tests/placement/ledger/race.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"
#include "tests/processes/private_cluster.h"
#include "tests/worlds/safety.h"

namespace berth::placement {
namespace {

constexpr int kNumbersOfARound = 100;
const char* const kWaitForTheLock =
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = "
    "current_database() AND application_name = 'berth-placement writer'";

bool Answered(const std::future<Decision>& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

std::string WordOf(const Decision& decision) {
  if (decision.status.ok()) return "OK";
  const std::optional<Refusal> refusal = RefusalOf(decision.status);
  return refusal ? refusal->reason : decision.status.ToString();
}

Race::Race(LedgerRoads roads)
    : roads_(roads),
      url_(NewDatabase()),
      proxy_(url_),
      one_(GatedOptions(), false),
      two_(OptionsFor(url_), false),
      observer_(ConnectOrDie(url_)) {
  one_.Must(EnsureStandardNames{{"VCPU", "MEMORY_MB"}, {}});
  // What a writer does first of all, under the lock too, is behind it when it answers.
  (void)two_.Do(FindRequest{"tester", "none"});
}

LedgerOptions Race::GatedOptions() {
  LedgerOptions options = OptionsFor(proxy_.Through(url_));
  options.roads = roads_;
  options.at_step = [this](LedgerStep step) { gate_.Pass(step); };
  return options;
}

std::vector<Decision> Race::InOneBatch(const std::vector<CommandBody>& bodies) {
  // One that changes nothing keeps the writer at the gate while the others gather.
  gate_.Close(LedgerStep::kBeforeLock);
  std::future<Decision> before = one_.Begin(WithId(FindRequest{"tester", "none"}, ""));
  gate_.AwaitWriter();
  std::vector<std::future<Decision>> waiting;
  for (const CommandBody& body : bodies) waiting.push_back(one_.Begin(WithId(body, "")));
  gate_.Open();
  std::vector<Decision> decisions;
  for (std::future<Decision>& each : waiting) decisions.push_back(each.get());
  for (const Decision& decision : decisions) {
    EXPECT_EQ(decision.revision, decisions[0].revision) << "decided in several batches";
  }
  return decisions;
}

std::future<Decision> Race::Hold(LedgerStep step, const CommandBody& held) {
  gate_.Close(step);
  std::future<Decision> future = one_.Begin(WithId(held, ""));
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return gate_.reached() || Answered(future); }));
  return future;
}

std::pair<Decision, Decision> Race::Overtake(const Order& order, const CommandBody& held,
                                             const CommandBody& other) {
  std::future<Decision> first;
  if (order.lost == Lost::kNothing) {
    first = Hold(order.step, held);
  } else {
    proxy_.CutNext(order.lost == Lost::kWrite ? CuttingProxy::Cut::kBeforeCommit
                                              : CuttingProxy::Cut::kAfterCommit);
    first = Hold(LedgerStep::kBeforeWrite, held);
    gate_.Close(order.step);
    EXPECT_TRUE(LedgerRunner::Eventually([&] { return gate_.reached() || Answered(first); }));
    proxy_.CutNext(CuttingProxy::Cut::kNever);
  }
  std::future<Decision> second = two_.Begin(WithId(other, ""));
  const bool has_lock = roads_ == LedgerRoads::kLong && (order.step == LedgerStep::kLocked ||
                                                         order.step == LedgerStep::kBeforeWrite);
  EXPECT_TRUE(LedgerRunner::Eventually([&] {
    return Answered(second) || (has_lock && QueryOne(*observer_, kWaitForTheLock) == "1");
  }));
  gate_.Open();
  Decision decision = first.get();
  return {std::move(decision), second.get()};
}

const State& Race::CatchUp() {
  const auto follow = [](LedgerRunner& runner) {
    absl::StatusOr<int> rows = runner.ledger().Follow();
    while (rows.ok() && *rows > 0) rows = runner.ledger().Follow();
    EXPECT_TRUE(rows.ok()) << rows.status();
  };
  follow(one_);
  follow(two_);
  newest_ = one_.ledger().Newest();
  ExpectEqualStates(*newest_, *two_.ledger().Newest());
  CheckSafety(*newest_);
  return *newest_;
}

void Race::InEveryOrder(const Make& make, const Check& check) {
  const bool is_short = roads_ == LedgerRoads::kShortFirst;
  const Order kOrders[] = {
      {LedgerStep::kBeforeLock, Lost::kNothing, "before its lock"},
      {is_short ? LedgerStep::kDecided : LedgerStep::kLocked, Lost::kNothing,
       is_short ? "decided and not begun" : "under the lock"},
      {LedgerStep::kBeforeWrite, Lost::kNothing, "decided and not written"},
      {LedgerStep::kCommitted, Lost::kNothing, "committed and not answered"},
      {LedgerStep::kBeforeLock, Lost::kWrite, "its write was lost"},
      {LedgerStep::kBeforeLock, Lost::kAnswer, "its answer was lost"},
  };
  for (const bool turned : {false, true}) {
    const char* const who = turned ? "the second " : "the first ";
    const auto run = [&](const std::string& words, const auto& meet) {
      SCOPED_TRACE(words);
      base_ += kNumbersOfARound;
      const Pair pair = make(base_);
      auto [held, other] = turned ? meet(pair.second, pair.first) : meet(pair.first, pair.second);
      const State& state = CatchUp();
      turned ? check(base_, other, held, state) : check(base_, held, other, state);
    };
    run(absl::StrCat("one batch, ", who, "in front"),
        [this](const CommandBody& held, const CommandBody& other) {
          std::vector<Decision> both = InOneBatch({held, other});
          return std::make_pair(std::move(both[0]), std::move(both[1]));
        });
    for (const Order& order : kOrders) {
      run(absl::StrCat(who, "is stopped: ", order.words),
          [&](const CommandBody& held, const CommandBody& other) {
            return Overtake(order, held, other);
          });
    }
  }
  ExpectCleanSelfCheck(one_, url_);
  ExpectCleanSelfCheck(two_, url_);
}

}  // namespace berth::placement
