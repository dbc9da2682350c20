// Two ledgers on one database, as two placement processes would have them.

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "placement/ledger/ledger.h"
#include "placement/values/refusal.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

constexpr int kProviders = 5;
constexpr int kThreadsEach = 3;
constexpr int kCommandsEach = 150;

// Claims, changes and releases consumers of its own on hosts that everybody wants.
class Client {
 public:
  Client(LedgerRunner& runner, uint64_t seed, int first_consumer)
      : runner_(runner), random_(seed), first_consumer_(first_consumer) {}

  void Run() {
    for (int i = 0; i < kCommandsEach; ++i) {
      const int consumer = first_consumer_ + Below(12);
      const auto held = generations_.find(consumer);
      if (held == generations_.end()) {
        Take(consumer, std::nullopt);
      } else if (Below(2) == 0) {
        Take(consumer, held->second);
      } else {
        EXPECT_EQ(runner_.Do(Release(consumer, held->second)).status, absl::OkStatus());
        generations_.erase(consumer);
      }
      if (Below(10) == 0) Resize();
    }
  }

  const std::map<int, Generation>& generations() const { return generations_; }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }

  void Take(int consumer, std::optional<Generation> generation) {
    std::vector<int> providers = {1 + Below(kProviders)};
    if (Below(2) == 0) providers.push_back(1 + providers[0] % kProviders);
    const Decision decision = runner_.Do(Claim(consumer, providers, 1 + Below(3), generation));
    if (!decision.status.ok()) {
      // Nobody else touches these consumers: only room can be lacking.
      EXPECT_EQ(RefusalOf(decision.status)->reason, "CAPACITY_EXCEEDED") << decision.status;
      return;
    }
    ASSERT_EQ(decision.result.consumers.size(), 1u);
    generations_[consumer] = decision.result.consumers[0].second;
  }

  // Of one host, with the generation that this process sees: it may be stale.
  void Resize() {
    const int provider = 1 + Below(kProviders);
    const auto place = runner_.ledger().Newest()->FindProvider(ProviderNumber(provider));
    (void)runner_.Do(Offer(provider, place->config().generation, 10 + Below(10), 1024));
  }

  LedgerRunner& runner_;
  std::mt19937_64 random_;
  const int first_consumer_;
  std::map<int, Generation> generations_;
};

std::string ServerLog() {
  const std::string url = PrivateCluster().Url("postgres");
  const size_t begin = url.find("host=") + 5;
  const std::string run = url.substr(begin, url.find('&', begin) - begin);
  std::ifstream file(run.substr(0, run.rfind('/')) + "/postgres.log");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

LedgerOptions OptionsWith(const std::string& url, LedgerRoads roads) {
  LedgerOptions options = OptionsFor(url);
  options.roads = roads;
  return options;
}

// On the roads of the first process and of the second one.
class LedgerPair : public ::testing::TestWithParam<std::pair<LedgerRoads, LedgerRoads>> {};
INSTANTIATE_TEST_SUITE_P(
    Roads, LedgerPair,
    ::testing::Values(std::pair(LedgerRoads::kByHistory, LedgerRoads::kByHistory),
                      std::pair(LedgerRoads::kShortFirst, LedgerRoads::kShortFirst),
                      std::pair(LedgerRoads::kShortFirst, LedgerRoads::kLong)));

TEST_P(LedgerPair, TwoProcessesTakeClaimsOnTheSameHosts) {
  const uint64_t seed = Seed();
  const std::string url = NewDatabase();
  LedgerRunner one(OptionsWith(url, GetParam().first));
  MakeProviders(one, kProviders, 15, 1024);
  LedgerRunner two(OptionsWith(url, GetParam().second));
  const int64_t begun = one.ledger().Newest()->position().revision.number;
  const LedgerHealth one_before = one.ledger().health();

  std::vector<Client> clients;
  for (int i = 0; i < 2 * kThreadsEach; ++i) {
    clients.emplace_back(i % 2 == 0 ? one : two, seed + static_cast<uint64_t>(i), 1000 * (i + 1));
  }
  std::vector<std::thread> threads;
  for (Client& client : clients) threads.emplace_back([&client] { client.Run(); });
  for (std::thread& thread : threads) thread.join();

  ASSERT_TRUE(LedgerRunner::Eventually([&] {
    return one.ledger().Newest()->position().revision == two.ledger().Newest()->position().revision;
  }));
  const StatePtr state = one.ledger().Newest();
  ExpectEqualStates(*state, *two.ledger().Newest());
  CheckSafety(*state);
  int64_t held = 0;
  for (const Client& client : clients) {
    held += static_cast<int64_t>(client.generations().size());
    for (const auto& [number, generation] : client.generations()) {
      const ConsumerPtr consumer = state->FindConsumer(ConsumerNumber(number));
      ASSERT_NE(consumer, nullptr);
      EXPECT_EQ(consumer->generation, generation);
    }
  }
  EXPECT_EQ(state->consumers().size(), held);

  // Catching up read each row that the other one wrote, once, and no other. A process counts what it
  // wrote and what it read after it has published that.
  const int64_t written = state->position().revision.number - begun;
  LedgerHealth one_after, two_after;
  int64_t by_one = 0;
  EXPECT_TRUE(LedgerRunner::Eventually([&] {
    one_after = one.ledger().health();
    two_after = two.ledger().health();
    by_one = one_after.batches - one_before.batches;
    return by_one + two_after.batches == written && two_after.followed_rows == by_one &&
           one_after.followed_rows - one_before.followed_rows == two_after.batches;
  }));
  EXPECT_EQ(by_one + two_after.batches, written);
  EXPECT_GT(by_one, 0);
  EXPECT_GT(two_after.batches, 0);
  EXPECT_EQ(one_after.followed_rows - one_before.followed_rows, two_after.batches);
  EXPECT_EQ(two_after.followed_rows, by_one);
  EXPECT_EQ(one_after.reloads + two_after.reloads, 0);

  ExpectCleanSelfCheck(one, url);
  ExpectCleanSelfCheck(two, url);
  const std::string log = ServerLog();
  EXPECT_FALSE(log.empty());
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    // The server ends what a process began before the machine stood still.
    if (absl::StrContains(line, "due to lock timeout") ||
        absl::StrContains(line, "due to idle-in-transaction timeout")) {
      continue;
    }
    for (const char* words : {"deadlock", "could not serialize", "ERROR", "FATAL"}) {
      EXPECT_FALSE(absl::StrContains(line, words)) << line;
    }
  }
}

}  // namespace
}  // namespace berth::placement
