#include "placement/state/root_marks.h"

#include <algorithm>
#include <utility>

namespace berth::placement {
namespace {

// The trees with an index less than `at`.
RootSet Before(int at) { return ~RootSet() >> (kChunkRootsMax - at); }

// Calls `change` with each table.
template <typename Change>
void ForEachTable(RootMarks& marks, Change change) {
  change(marks.traits);
  change(marks.aggregates);
  change(marks.coarse);
  change(marks.root_traits);
}

}  // namespace

RootSet WithRoomAt(const RootSet& roots, int at) {
  const RootSet before = Before(at);
  return (roots & before) | ((roots & ~before) << 1);
}

RootSet Without(RootSet roots, int at) {
  const RootSet before = Before(at);
  roots.reset(at);
  return (roots & before) | ((roots & ~before) >> 1);
}

template <typename Key>
const RootSet& MarkTable<Key>::Find(Key key) const {
  static const RootSet kNone;
  const auto row =
      std::lower_bound(rows_.begin(), rows_.end(), key,
                       [](const auto& each, Key wanted) { return each.first < wanted; });
  return row != rows_.end() && row->first == key ? row->second : kNone;
}

template <typename Key>
void MarkTable<Key>::Add(std::vector<Key> keys, int at) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
  const size_t known = rows_.size();
  for (const Key key : keys) {
    const auto end = rows_.begin() + known;
    const auto row = std::lower_bound(rows_.begin(), end, Row(key, {}), by_key);
    if (row != end && row->first == key) {
      row->second.set(at);
    } else {
      rows_.emplace_back(key, RootSet()).second.set(at);
    }
  }
  std::inplace_merge(rows_.begin(), rows_.begin() + known, rows_.end(), by_key);
}

template <typename Key>
void MarkTable<Key>::Clear(int at) {
  for (auto& [key, roots] : rows_) roots.reset(at);
}

template <typename Key>
void MarkTable<Key>::DropEmpty() {
  std::erase_if(rows_, [](const auto& row) { return row.second.none(); });
}

template <typename Key>
void MarkTable<Key>::Insert(int at) {
  for (auto& [key, roots] : rows_) roots = WithRoomAt(roots, at);
}

template <typename Key>
void MarkTable<Key>::Erase(int at) {
  for (auto& [key, roots] : rows_) roots = Without(roots, at);
  DropEmpty();
}

template class MarkTable<TraitId>;
template class MarkTable<AggregateId>;
template class MarkTable<ClassId>;

void RootMarks::Insert(int at, const Tree& tree) {
  ForEachTable(*this, [at](auto& table) { table.Insert(at); });
  single = WithRoomAt(single, at);
  Add(at, tree);
}

void RootMarks::Replace(int at, const Tree& tree) {
  ForEachTable(*this, [at](auto& table) { table.Clear(at); });
  Add(at, tree);
  ForEachTable(*this, [](auto& table) { table.DropEmpty(); });
}

void RootMarks::Erase(int at) {
  ForEachTable(*this, [at](auto& table) { table.Erase(at); });
  single = Without(single, at);
}

void RootMarks::Add(int at, const Tree& tree) {
  single.set(at, tree.size() == 1);
  if (tree.size() > 1) {
    root_traits.Add(tree.config(0).traits, at);
  }
  std::vector<TraitId> its_traits;
  std::vector<AggregateId> its_aggregates;
  std::vector<ClassId> its_coarse;
  for (int position = 0; position < tree.size(); ++position) {
    const ProviderConfig& provider = tree.config(position);
    its_traits.insert(its_traits.end(), provider.traits.begin(), provider.traits.end());
    its_aggregates.insert(its_aggregates.end(), provider.aggregates.begin(),
                          provider.aggregates.end());
    for (const InventoryRow& row : provider.inventories) {
      const bool any_amount = row.inventory.min_unit <= 1 && row.inventory.step_size <= 1;
      if (!any_amount) its_coarse.push_back(row.resource_class);
    }
  }
  traits.Add(std::move(its_traits), at);
  aggregates.Add(std::move(its_aggregates), at);
  coarse.Add(std::move(its_coarse), at);
}

}  // namespace berth::placement
