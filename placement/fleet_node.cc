#include "placement/fleet_node.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"

namespace berth::placement {
namespace {

// Who holds something of the subtree at `root` once `changes` took effect?
class HoldersAfter {
 public:
  explicit HoldersAfter(const Changes& changes) {
    for (const Change& change : changes) {
      if (const auto* put = std::get_if<ConsumerPut>(&change)) after_[put->consumer->id] = put;
      if (const auto* gone = std::get_if<ConsumerRemoved>(&change)) after_[gone->id] = nullptr;
    }
  }

  bool Any(const Tree& tree, int root) const {
    for (const auto& [id, put] : after_) {
      if (put != nullptr && Holds(*put->consumer, tree, root)) return true;
    }
    bool any = false;
    for (int p = root; p < tree.shape->end_of[root] && !any; ++p) {
      tree.consumers[p].ForEach([&](const ConsumerId& id, const auto&) {
        any = !after_.contains(id);  // those of the command were looked at above
        return !any;
      });
    }
    return any;
  }

 private:
  static bool Holds(const Consumer& consumer, const Tree& tree, int root) {
    return std::any_of(consumer.allocations.begin(), consumer.allocations.end(),
                       [&](const Allocation& allocation) {
                         const int p = tree.Find(allocation.provider);
                         return p >= root && p < tree.shape->end_of[root];
                       });
  }

  absl::flat_hash_map<ConsumerId, const ConsumerPut*> after_;
};

}  // namespace

ServicePtr FindService(const State& state, absl::string_view host, absl::string_view binary) {
  const ServicePtr* found =
      state.services().Find(std::make_pair(std::string(host), std::string(binary)));
  return found == nullptr ? nullptr : *found;
}

NodeRecordPtr FindNode(const State& state, ProviderId id) {
  const NodeRecordPtr* found = state.nodes().Find(id);
  return found == nullptr ? nullptr : *found;
}

bool HoldsLease(const ServiceRecord& service) { return service.up && !service.forced_down; }

void FollowService(const State& state, bool disabled, std::vector<TraitId>& traits) {
  const std::optional<TraitId> trait = state.catalog().traits.Find(kDisabledTrait);
  if (!trait) return;
  const auto at = std::lower_bound(traits.begin(), traits.end(), *trait);
  const bool present = at != traits.end() && *at == *trait;
  if (disabled && !present) traits.insert(at, *trait);
  if (!disabled && present) traits.erase(at);
}

int FirstForeign(const State& state, const Tree& tree, int root, bool nodes_only) {
  const std::optional<TraitId> owned = state.catalog().traits.Find(kOwnedTrait);
  for (int p = root + 1; p < tree.shape->end_of[root]; ++p) {
    const ProviderConfig& config = tree.config(p);
    const bool foreign = !owned || !config.HasTrait(*owned);
    if (FindNode(state, config.id) || (foreign && !nodes_only)) return p;
  }
  return -1;
}

void EndRetiredNodes(const State& state, const std::vector<ProviderId>& released,
                     Changes& changes) {
  absl::btree_set<ProviderId> retired;
  for (const ProviderId id : released) {
    const std::optional<ProviderPlace> place = state.FindProvider(id);
    const int root = place ? OwningNode(state, *place->tree, place->position) : -1;
    if (root < 0) continue;
    const ProviderId node = place->tree->config(root).id;
    if (FindNode(state, node)->retired) retired.insert(node);
  }
  if (retired.empty()) return;
  Changes providers, nodes;
  {
    const HoldersAfter holders(changes);
    for (const ProviderId node : retired) {
      const std::optional<ProviderPlace> root = state.FindProvider(node);
      const Tree& tree = *root->tree;
      if (holders.Any(tree, root->position)) continue;
      if (FirstForeign(state, tree, root->position, false) >= 0) continue;
      for (int p = tree.shape->end_of[root->position] - 1; p >= root->position; --p) {
        providers.push_back(ProviderRemoved{tree.config(p).id});
      }
      nodes.push_back(NodeRemoved{node});
    }
  }
  changes.insert(changes.end(), providers.begin(), providers.end());
  changes.insert(changes.end(), nodes.begin(), nodes.end());
}

int OwningNode(const State& state, const Tree& tree, int position) {
  while (position >= 0 && FindNode(state, tree.config(position).id) == nullptr) {
    position = tree.shape->parent_of[position];
  }
  return position;
}

}  // namespace berth::placement
