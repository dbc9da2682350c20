#include "placement/state/tree.h"

#include <algorithm>
#include <utility>

#include "placement/ground/check.h"

namespace berth::placement {
namespace {

// The index of `id` among providers sorted by id, or -1.
int PlaceOf(const std::vector<Provider>& by_id, ProviderId id) {
  const auto found = std::lower_bound(
      by_id.begin(), by_id.end(), id,
      [](const Provider& provider, ProviderId wanted) { return provider.config->id < wanted; });
  if (found == by_id.end() || found->config->id != id) return -1;
  return static_cast<int>(found - by_id.begin());
}

// The children of each provider as linked lists of indexes: `first` is the first child of each
// provider, `next` the next sibling of each provider.
struct Chains {
  int root = -1;
  std::vector<int> first;
  std::vector<int> next;
};

// Links the children of each provider in descending order of ids. OrderOf pushes them on a stack in
// this order, so that they come off in ascending order.
Chains ChainsOf(const std::vector<Provider>& by_id) {
  const int count = static_cast<int>(by_id.size());
  Chains chains;
  chains.first.assign(count, -1);
  chains.next.assign(count, -1);
  for (int place = 0; place < count; ++place) {
    const std::optional<ProviderId>& parent_id = by_id[place].config->parent;
    const int parent = parent_id ? PlaceOf(by_id, *parent_id) : -1;
    if (parent < 0) {
      BERTH_CHECK(chains.root < 0);
      chains.root = place;
    } else {
      chains.next[place] = chains.first[parent];
      chains.first[parent] = place;
    }
  }
  BERTH_CHECK(chains.root >= 0);
  return chains;
}

// The order of the providers in a tree: parents before their children, the providers of a subtree
// consecutive, siblings sorted by id.
std::vector<int> OrderOf(const Chains& chains, TreeShape& shape) {
  std::vector<int> order;
  order.reserve(chains.first.size());
  std::vector<std::pair<int, int>> waiting = {{chains.root, -1}};  // index, parent's position
  while (!waiting.empty()) {
    const auto [place, parent] = waiting.back();
    waiting.pop_back();
    const int position = static_cast<int>(order.size());
    order.push_back(place);
    shape.parent_of.push_back(parent);
    for (int child = chains.first[place]; child >= 0; child = chains.next[child]) {
      waiting.emplace_back(child, position);
    }
  }
  return order;
}

void FillEnds(TreeShape& shape) {
  const int count = static_cast<int>(shape.parent_of.size());
  shape.end_of.resize(count);
  for (int position = count - 1; position >= 0; --position) {
    shape.end_of[position] = std::max(shape.end_of[position], position + 1);
    const int parent = shape.parent_of[position];
    if (parent >= 0) shape.end_of[parent] = std::max(shape.end_of[parent], shape.end_of[position]);
  }
}

}  // namespace

int Tree::Find(ProviderId id) const {
  const auto& by_id = shape->by_id;
  const auto found = std::lower_bound(by_id.begin(), by_id.end(), id,
                                      [](const std::pair<ProviderId, int32_t>& entry,
                                         ProviderId wanted) { return entry.first < wanted; });
  return found == by_id.end() || found->first != id ? -1 : found->second;
}

TreePtr MakeTree(std::vector<Provider> providers) {
  std::sort(providers.begin(), providers.end(),
            [](const Provider& a, const Provider& b) { return a.config->id < b.config->id; });
  const Chains chains = ChainsOf(providers);
  const size_t count = providers.size();
  auto shape = std::make_shared<TreeShape>();
  for (auto* column : {&shape->parent_of, &shape->end_of, &shape->first_row}) {
    column->reserve(count + 1);
  }
  const std::vector<int> order = OrderOf(chains, *shape);
  BERTH_CHECK(order.size() == count);  // else some providers are each other's parents
  FillEnds(*shape);

  Tree tree;
  shape->configs.reserve(count);
  shape->by_id.resize(count);
  tree.allocation_generations.reserve(count);
  tree.consumers.reserve(count);
  for (size_t position = 0; position < count; ++position) {
    Provider& provider = providers[order[position]];
    BERTH_CHECK(provider.used.size() == provider.config->inventories.size());
    shape->by_id[order[position]] = {provider.config->id, static_cast<int32_t>(position)};
    shape->first_row.push_back(static_cast<int32_t>(tree.used.size()));
    tree.used.insert(tree.used.end(), provider.used.begin(), provider.used.end());
    tree.allocation_generations.push_back(provider.allocation_generation);
    tree.consumers.push_back(std::move(provider.consumers));
    shape->configs.push_back(std::move(provider.config));
  }
  shape->first_row.push_back(static_cast<int32_t>(tree.used.size()));
  tree.root = shape->configs.front()->id;
  tree.shape = std::move(shape);
  return TreePtr::Make(std::move(tree));
}

}  // namespace berth::placement
