// Random calls against an ordinary map of trees; older copies must stay as they were.
#include "placement/state/roots.h"

#include <algorithm>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

constexpr ClassId kClasses[] = {ClassId{1}, ClassId{2}, ClassId{3}};

// A tree of one or two providers that offer some of the classes.
TreePtr DrawTree(uint64_t number, std::mt19937_64& random) {
  std::vector<Provider> providers;
  for (uint64_t i = 0; i <= random() % 2; ++i) {
    ProviderConfig config;
    config.id = ProviderId{Uuid{number, i}};
    config.name = absl::StrCat(number, " ", i);
    if (i > 0) config.parent = ProviderId{Uuid{number, 0}};
    Provider& provider = providers.emplace_back();
    for (const ClassId resource_class : kClasses) {
      if (random() % 2 == 0) continue;
      InventoryRow row{.resource_class = resource_class, .inventory = {.total = 100}};
      row.inventory.max_unit = 30 + static_cast<Amount>(random() % 100);
      row.inventory.min_unit = random() % 8 == 0 ? 2 : 1;
      row.inventory.step_size = random() % 8 == 0 ? 2 : 1;
      row.capacity = random() % 5 == 0 ? kAmountMax * 4 : 100;
      config.inventories.push_back(row);
      provider.used.push_back(static_cast<Amount>(random() % 120));
    }
    provider.config = std::make_shared<const ProviderConfig>(std::move(config));
  }
  return MakeTree(std::move(providers));
}

int64_t FreeMax(const Tree& tree, ClassId resource_class) {
  int64_t most = 0;
  for (int position = 0; position < tree.size(); ++position) {
    const int row = tree.config(position).FindInventory(resource_class);
    if (row < 0) continue;
    const InventoryRow& inventory = tree.config(position).inventories[row];
    most = std::max(most, std::min(inventory.capacity - tree.used_of(position, row),
                                   inventory.inventory.max_unit));
  }
  return std::min(most, kAmountMax);
}

int32_t FreeShare(const Tree& tree, ClassId resource_class) {
  double capacity = 0;
  double free = 0;
  for (int position = 0; position < tree.size(); ++position) {
    const int row = tree.config(position).FindInventory(resource_class);
    if (row < 0) continue;
    const Amount offered = tree.config(position).inventories[row].capacity;
    capacity += static_cast<double>(offered);
    free += std::max(0.0, static_cast<double>(offered - tree.used_of(position, row)));
  }
  return capacity > 0 ? static_cast<int32_t>(free / capacity * kShareWhole) : 0;
}

bool Offers(const Tree& tree, ClassId resource_class) {
  for (int position = 0; position < tree.size(); ++position) {
    if (tree.config(position).FindInventory(resource_class) >= 0) return true;
  }
  return false;
}

using TreeModel = std::map<ProviderId, TreePtr>;

bool IsCoarse(const Tree& tree, ClassId resource_class) {
  bool coarse = false;
  for (int position = 0; position < tree.size(); ++position) {
    for (const InventoryRow& row : tree.config(position).inventories) {
      coarse |= row.resource_class == resource_class &&
                (row.inventory.min_unit > 1 || row.inventory.step_size > 1);
    }
  }
  return coarse;
}

void ExpectSame(const Roots& roots, const TreeModel& model) {
  ASSERT_EQ(roots.size(), static_cast<int64_t>(model.size()));
  auto expected = model.begin();
  for (const Counted<RootChunk>& chunk : roots.chunks()) {
    ASSERT_GT(chunk->trees.size(), 0);
    ASSERT_EQ(chunk->ids.size(), static_cast<size_t>(chunk->trees.size()));
    for (int at = 0; at < chunk->trees.size(); ++at, ++expected) {
      ASSERT_EQ(chunk->ids[at], expected->first);
      ASSERT_EQ(chunk->trees[at]->shape, expected->second->shape);
      ASSERT_EQ(chunk->trees[at]->used, expected->second->used);
      for (const ClassId resource_class : kClasses) {
        const auto column =
            std::find_if(chunk->columns.begin(), chunk->columns.end(),
                         [&](const auto& entry) { return entry.resource_class == resource_class; });
        ASSERT_EQ(column == chunk->columns.end() ? 0 : column->free->max[at],
                  FreeMax(*expected->second, resource_class));
        ASSERT_EQ(column == chunk->columns.end() ? 0 : column->free->share[at],
                  FreeShare(*expected->second, resource_class));
        ASSERT_EQ(chunk->marks->coarse.Find(resource_class)[at],
                  IsCoarse(*expected->second, resource_class));
        ASSERT_EQ(FreeShareOf(*expected->second, resource_class),
                  FreeShare(*expected->second, resource_class));
      }
    }
    for (const RootChunk::Column& column : chunk->columns) {
      int64_t most_free = 0;
      for (int at = 0; at < chunk->trees.size(); ++at) {
        most_free = std::max(most_free, FreeMax(*chunk->trees[at], column.resource_class));
      }
      ASSERT_EQ(column.most_free, most_free);
      ASSERT_EQ(column.most_share,
                *std::max_element(column.free->share.begin(), column.free->share.end()));
      bool is_offered = false;
      for (int at = 0; at < RootChunk::kRootsMax; ++at) {
        const bool offers =
            at < chunk->trees.size() && Offers(*chunk->trees[at], column.resource_class);
        ASSERT_EQ(column.offered_by[at], offers);
        is_offered |= offers;
      }
      ASSERT_TRUE(is_offered);
      for (int at = chunk->trees.size(); at < RootChunk::kRootsMax; ++at) {
        ASSERT_EQ(column.free->max[at], 0);
        ASSERT_EQ(column.free->share[at], 0);
      }
    }
  }
  ASSERT_EQ(expected, model.end());
  for (const ClassId resource_class : kClasses) {
    const absl::Span<const int32_t> most_free = roots.most_free().Of(resource_class);
    if (!most_free.empty()) {
      ASSERT_EQ(most_free.size(), roots.chunks().size());
      ASSERT_GT(*std::max_element(most_free.begin(), most_free.end()), 0);
    }
    for (size_t index = 0; index < roots.chunks().size(); ++index) {
      int64_t expected_most = 0;
      const RootChunk& chunk = *roots.chunks()[index];
      for (int at = 0; at < chunk.trees.size(); ++at) {
        expected_most = std::max(expected_most, FreeMax(*chunk.trees[at], resource_class));
      }
      ASSERT_EQ(most_free.empty() ? 0 : most_free[index], expected_most);
    }
  }
}

TEST(Roots, AgreesWithAnOrdinaryMapAndLeavesCopiesAlone) {
  std::mt19937_64 random(Seed());
  Roots roots;
  TreeModel model;
  std::vector<std::pair<Roots, TreeModel>> older;
  for (const int erase_share : {10, 60, 5, 95}) {
    for (int step = 0; step < (kSanitized ? 1000 : 3000); ++step) {
      const uint64_t number = random() % 2000;
      const ProviderId root{Uuid{number, 0}};
      if (static_cast<int>(random() % 100) < erase_share) {
        if (model.erase(root) == 1) roots.Erase(root);
      } else if (random() % 2 == 0 && model.contains(root)) {
        Tree tree = *model[root];
        for (Amount& used : tree.used) used = static_cast<Amount>(random() % 120);
        roots.Edit(root, [&tree](Tree& mine) { mine.used = tree.used; });
        model[root] = TreePtr::Make(std::move(tree));
      } else {
        const TreePtr tree = DrawTree(number, random);
        roots.Put(tree);
        model[root] = tree;
      }
      ASSERT_EQ(roots.Find(root) != nullptr, model.contains(root));
      if (step % 500 == 0) older.emplace_back(roots, model);
      if (step % 10 == 0) ExpectSame(roots, model);
    }
  }
  while (!model.empty()) {
    roots.Erase(model.begin()->first);
    model.erase(model.begin());
    if (model.size() % 10 == 0) ExpectSame(roots, model);
  }
  for (const auto& [roots_then, model_then] : older) ExpectSame(roots_then, model_then);
}

TEST(Roots, FillsChunksThatRise) {
  std::mt19937_64 random(1);
  Roots roots;
  for (uint64_t number = 0; number < 1000; ++number) roots.Put(DrawTree(number, random));
  EXPECT_EQ(roots.chunks().size(), 4u);
}

}  // namespace
}  // namespace berth::placement
