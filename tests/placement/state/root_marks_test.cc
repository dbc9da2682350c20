// Marks against the trees themselves, while random trees come, change and go. BERTH_SEED repeats.
#include "placement/state/root_marks.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "placement/state/roots.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

constexpr uint32_t kKeys = 6;

std::shared_ptr<const ProviderConfig> RandomConfig(std::mt19937_64& random, uint64_t number,
                                                   std::optional<ProviderId> parent) {
  auto config = std::make_shared<ProviderConfig>();
  config->id = ProviderId{{parent ? 2u : 1u, number}};
  config->parent = parent;
  for (uint32_t key = 1; key <= kKeys; ++key) {
    if (random() % 4 == 0) config->traits.push_back(TraitId{key});
    if (random() % 4 == 0) config->aggregates.push_back(AggregateId{{0, key}});
  }
  return config;
}

TreePtr RandomTree(std::mt19937_64& random, uint64_t number) {
  std::vector<Provider> providers(1 + random() % 2);
  providers[0].config = RandomConfig(random, number, std::nullopt);
  if (providers.size() > 1) {
    providers[1].config = RandomConfig(random, number, providers[0].config->id);
  }
  return MakeTree(std::move(providers));
}

bool AnyHas(const Tree& tree, TraitId trait) {
  for (int p = 0; p < tree.size(); ++p) {
    if (tree.config(p).HasTrait(trait)) return true;
  }
  return false;
}

bool AnyIsIn(const Tree& tree, AggregateId aggregate) {
  for (int p = 0; p < tree.size(); ++p) {
    if (tree.config(p).IsMemberOf(aggregate)) return true;
  }
  return false;
}

void ExpectMarks(const Roots& roots) {
  for (const auto& chunk : roots.chunks()) {
    for (uint32_t key = 1; key <= kKeys; ++key) {
      const TraitId trait{key};
      const AggregateId aggregate{{0, key}};
      for (int at = 0; at < kChunkRootsMax; ++at) {
        const bool there = at < chunk->trees.size();
        ASSERT_EQ(chunk->marks->traits.Find(trait)[at], there && AnyHas(*chunk->trees[at], trait))
            << "trait " << key << " at " << at;
        ASSERT_EQ(chunk->marks->RootsWith(trait)[at],
                  there && chunk->trees[at]->config(0).HasTrait(trait))
            << "trait of root " << key << " at " << at;
        ASSERT_EQ(chunk->marks->single[at], there && chunk->trees[at]->size() == 1);
        ASSERT_EQ(chunk->marks->aggregates.Find(aggregate)[at],
                  there && AnyIsIn(*chunk->trees[at], aggregate))
            << "aggregate " << key << " at " << at;
      }
    }
  }
}

TEST(RootMarks, FollowTheTrees) {
  const char* text = std::getenv("BERTH_SEED");
  const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device()();
  std::printf("BERTH_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  Roots roots;
  constexpr uint64_t kNumbers = 700;  // several chunks
  for (int step = 0; step < (kSanitized ? 2000 : 6000); ++step) {
    const uint64_t number = random() % kNumbers;
    const ProviderId root{{1, number}};
    if (random() % 3 == 0 && roots.Find(root)) {
      roots.Erase(root);
    } else {
      roots.Put(RandomTree(random, number));
    }
    if (step % 200 == 0) {
      ExpectMarks(roots);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(roots.chunks().size(), 1u);
}

// A peer decides how many aggregates its tree is in. With a move of all later rows for each of them,
// this takes a minute.
TEST(RootMarks, ManyAggregatesOfOneTreeTakeOnePass) {
  constexpr uint64_t kProviders = 200, kEach = 1000;
  std::vector<Provider> providers;
  for (uint64_t number = 0; number < kProviders; ++number) {
    auto config = std::make_shared<ProviderConfig>();
    config->id = ProviderId{{1, number}};
    if (number > 0) config->parent = ProviderId{{1, 0}};
    for (uint64_t key = 0; key < kEach; ++key) {
      config->aggregates.push_back(AggregateId{{key, kProviders - number}});
    }
    providers.emplace_back().config = std::move(config);
  }
  RootMarks marks;
  const std::clock_t start = std::clock();
  marks.Insert(3, *MakeTree(std::move(providers)));
  EXPECT_LT(std::clock() - start, 10 * CLOCKS_PER_SEC);
  for (uint64_t key = 0; key < kEach; ++key) {
    EXPECT_TRUE(marks.aggregates.Find(AggregateId{{key, 1}})[3]);
    EXPECT_TRUE(marks.aggregates.Find(AggregateId{{key, kProviders}})[3]);
  }
  EXPECT_TRUE(marks.aggregates.Find(AggregateId{{kEach, 1}}).none());
  // Keys before, among and after those that are known, and known ones.
  Provider other;
  auto config = std::make_shared<ProviderConfig>();
  config->id = ProviderId{{2, 0}};
  config->aggregates = {{{0, 0}}, {{0, 1}}, {{5, kProviders + 1}}, {{7, 2}}, {{kEach, 1}}};
  other.config = config;
  marks.Insert(4, *MakeTree({other}));
  for (const AggregateId aggregate : config->aggregates) {
    EXPECT_TRUE(marks.aggregates.Find(aggregate)[4]);
  }
  EXPECT_TRUE(marks.aggregates.Find(AggregateId{{7, 2}})[3]);
  EXPECT_FALSE(marks.aggregates.Find(AggregateId{{5, kProviders + 1}})[3]);
}

}  // namespace
}  // namespace berth::placement
