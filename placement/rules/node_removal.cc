#include "placement/rules/node_removal.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/ground/check.h"
#include "placement/state/lookup.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// The providers in the subtrees of some nodes: for each tree, the positions in it.
class Subtrees {
 public:
  Subtrees(const State& state, const std::vector<ProviderId>& nodes) {
    for (const ProviderId node : nodes) {
      const std::optional<ProviderPlace> root = state.FindProvider(node);
      if (!root) continue;
      Part& part = parts_[root->tree->root_id()];
      part.tree = root->tree;
      const int end = root->tree->shape->end_of[root->position];
      for (int p = root->position; p < end; ++p) {
        part.positions.insert(p);
        ids_.insert(root->tree->config(p).id);
      }
    }
  }

  bool Has(ProviderId provider) const { return ids_.contains(provider); }
  // Calls visit(tree, position) for each provider, children before their parents.
  template <typename Visit>
  void FromBelow(Visit visit) const {
    for (const auto& [_, part] : parts_) {
      for (auto p = part.positions.rbegin(); p != part.positions.rend(); ++p) visit(*part.tree, *p);
    }
  }

 private:
  struct Part {
    TreePtr tree;
    absl::btree_set<int> positions;
  };
  std::map<ProviderId, Part> parts_;  // by root
  absl::flat_hash_set<ProviderId> ids_;
};

// The position of the first provider below `root` that is another node, but none of `nodes`, or,
// unless `cascade`, that no tracker made; -1 if there is none.
int FirstOther(const State& state, const ProviderPlace& root, const std::vector<ProviderId>& nodes,
               bool cascade) {
  const Tree& tree = *root.tree;
  const std::optional<TraitId> owned = state.catalog().traits.Find(kOwnedTrait);
  for (int p = root.position + 1; p < tree.shape->end_of[root.position]; ++p) {
    const ProviderConfig& config = tree.config(p);
    if (std::find(nodes.begin(), nodes.end(), config.id) != nodes.end()) continue;
    const bool foreign = !owned || !config.HasTrait(*owned);
    if (FindNode(state, config.id) || (foreign && !cascade)) return p;
  }
  return -1;
}

absl::Status CheckUnused(const ProviderPlace& root) {
  const Tree& tree = *root.tree;
  for (int p = root.position; p < tree.shape->end_of[root.position]; ++p) {
    if (tree.consumers[p].empty()) continue;
    return Refuse(absl::StatusCode::kFailedPrecondition, "PROVIDER_IN_USE",
                  absl::StrCat(Describe(tree.config(p)), " cannot be deleted: it has allocations"),
                  {{{"provider", tree.config(p).id.ToString()}}});
  }
  return absl::OkStatus();
}

void Release(const State& state, const Subtrees& going, const RuleContext& context,
             Outcome& outcome) {
  absl::btree_set<ConsumerId> holders;
  Changes uses;
  going.FromBelow([&](const Tree& tree, int p) {
    if (tree.consumers[p].empty()) return;
    tree.consumers[p].ForEach(
        [&holders](const ConsumerId& id, const auto&) { holders.insert(id); });
    ProviderUsed used{tree.config(p).id, tree.allocation_generations[p].Next(), {}};
    for (const InventoryRow& row : tree.config(p).inventories) {
      used.used.push_back({row.resource_class, 0});
    }
    uses.push_back(std::move(used));
  });
  Changes puts;
  for (const ConsumerId id : holders) {
    const ConsumerPtr before = state.FindConsumer(id);
    // The tree names the consumer, and both are of the same state (P-2).
    BERTH_CHECK(before != nullptr);
    auto after = std::make_shared<Consumer>(*before);
    std::erase_if(after->allocations,
                  [&](const Allocation& held) { return going.Has(held.provider); });
    if (after->allocations.empty()) {
      outcome.changes.push_back(ConsumerRemoved{id});
      continue;
    }
    after->generation = before->generation.Next();
    after->updated_at = context.now;
    outcome.result.consumers.emplace_back(id, after->generation);
    puts.push_back(ConsumerPut{std::move(after)});
  }
  outcome.changes.insert(outcome.changes.end(), puts.begin(), puts.end());
  outcome.changes.insert(outcome.changes.end(), uses.begin(), uses.end());
}

}  // namespace

absl::Status CheckRemovable(const State& state, const std::vector<ProviderId>& nodes,
                            bool cascade) {
  for (const ProviderId node : nodes) {
    const std::optional<ProviderPlace> root = state.FindProvider(node);
    if (!root) continue;
    const int other = FirstOther(state, *root, nodes, cascade);
    if (other >= 0) {
      const ProviderConfig& config = root->tree->config(other);
      return Refuse(absl::StatusCode::kFailedPrecondition, "PROVIDER_HAS_CHILDREN",
                    absl::StrCat(Describe(root->config()), " cannot be deleted: below it is ",
                                 Describe(config), ", which the node does not own"),
                    {{{"provider", config.id.ToString()}}});
    }
  }
  if (cascade) return absl::OkStatus();
  for (const ProviderId node : nodes) {
    const std::optional<ProviderPlace> root = state.FindProvider(node);
    if (root) BERTH_RETURN_IF_ERROR(CheckUnused(*root));
  }
  return absl::OkStatus();
}

void RemoveNodes(const State& state, const std::vector<ProviderId>& nodes,
                 const RuleContext& context, Outcome& outcome) {
  const Subtrees going(state, nodes);
  Release(state, going, context, outcome);
  going.FromBelow([&outcome](const Tree& tree, int p) {
    outcome.changes.push_back(ProviderRemoved{tree.config(p).id});
  });
  for (const ProviderId node : nodes) outcome.changes.push_back(NodeRemoved{node});
}

}  // namespace berth::placement
