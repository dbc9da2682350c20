#include "placement/state/tree.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

ProviderId IdOf(uint64_t number) { return ProviderId{Uuid{0, number}}; }

Provider MakeProvider(uint64_t number, std::optional<uint64_t> parent) {
  auto config = std::make_shared<ProviderConfig>();
  config->id = IdOf(number);
  if (parent) config->parent = IdOf(*parent);
  Provider provider;
  for (uint64_t i = 0; i < number % 10; ++i) {
    config->inventories.push_back({.resource_class = ClassId(i), .inventory = {}});
    provider.used.push_back(static_cast<Amount>(10 * number + i));
  }
  provider.allocation_generation = {static_cast<int64_t>(number)};
  provider.config = std::move(config);
  return provider;
}

TEST(Tree, StandsInOneOrderWhateverItWasMadeFrom) {
  std::vector<Provider> providers = {
      MakeProvider(5, std::nullopt),
      MakeProvider(1, 5),
      MakeProvider(9, 5),
      MakeProvider(2, 9),
      MakeProvider(7, 1),
      MakeProvider(3, 1),
  };
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(providers.begin(), providers.end(), random);
    const TreePtr tree = MakeTree(providers);
    for (const auto& [position, number] :
         std::vector<std::pair<int, int>>{{0, 5}, {1, 1}, {2, 3}, {3, 7}, {4, 9}, {5, 2}}) {
      EXPECT_EQ(tree->config(position).id, IdOf(number));
      EXPECT_EQ(tree->Find(IdOf(number)), position);
      // Each has as many inventories as its number says.
      EXPECT_EQ(tree->shape->first_row[position + 1] - tree->shape->first_row[position], number);
      EXPECT_EQ(tree->used_of(position, number - 1), 10 * number + number - 1);
      EXPECT_EQ(tree->allocation_generations[position].value, number);
    }
    EXPECT_EQ(tree->shape->parent_of, (absl::InlinedVector<int32_t, 4>{-1, 0, 1, 1, 0, 4}));
    EXPECT_EQ(tree->shape->end_of, (absl::InlinedVector<int32_t, 4>{6, 4, 3, 4, 6, 6}));
    EXPECT_EQ(tree->root_id(), IdOf(5));
    EXPECT_EQ(tree->Find(IdOf(8)), -1);
    EXPECT_TRUE(tree->IsAncestorOrSelf(1, 3));
    EXPECT_TRUE(tree->IsAncestorOrSelf(3, 3));
    EXPECT_FALSE(tree->IsAncestorOrSelf(3, 1));
    EXPECT_FALSE(tree->IsAncestorOrSelf(1, 4));
  }
}

TEST(Tree, MayBeDeepAndWide) {
  constexpr int kCount = kSanitized ? 50'000 : 200'000;
  std::vector<Provider> chain = {MakeProvider(1, std::nullopt)};
  std::vector<Provider> fan = {MakeProvider(1, std::nullopt)};
  for (int i = 2; i <= kCount; ++i) {
    chain.push_back(MakeProvider(i, i - 1));
    fan.push_back(MakeProvider(i, 1));
  }
  const TreePtr deep = MakeTree(chain);  // P-50
  EXPECT_EQ(deep->shape->parent_of.back(), kCount - 2);
  EXPECT_EQ(deep->shape->end_of.front(), kCount);
  const TreePtr wide = MakeTree(fan);  // P-50
  EXPECT_EQ(wide->shape->parent_of.back(), 0);
  EXPECT_EQ(wide->shape->end_of[1], 2);
}

TEST(TreeDeathTest, RefusesWhatIsNoTree) {
  EXPECT_DEATH(MakeTree({}), "BERTH_CHECK");
  EXPECT_DEATH(MakeTree({MakeProvider(1, std::nullopt), MakeProvider(2, std::nullopt)}),
               "BERTH_CHECK");
  // P-1: a circle beside the root
  EXPECT_DEATH(MakeTree({MakeProvider(1, std::nullopt), MakeProvider(2, 3), MakeProvider(3, 2)}),
               "BERTH_CHECK");
}

}  // namespace
}  // namespace berth::placement
