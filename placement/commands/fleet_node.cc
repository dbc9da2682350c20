#include "placement/commands/fleet_node.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

constexpr absl::string_view kDiskClass = "DISK_GB";

// The retired nodes that own at least one of `providers`.
absl::btree_set<ProviderId> RetiredOwners(const State& state,
                                          const std::vector<ProviderId>& providers) {
  absl::btree_set<ProviderId> retired;
  for (const ProviderId id : providers) {
    const NodeRecordPtr node = FindOwner(state, id);
    if (node != nullptr && node->retired) retired.insert(node->id);
  }
  return retired;
}

// Whether a provider below position `root` does not belong to the node at `root`: it is the root of
// another node, or no tracker made it (T-202).
bool HasForeign(const State& state, const Tree& tree, int root) {
  const std::optional<TraitId> owned = state.catalog().traits.Find(kOwnedTrait);
  for (int p = root + 1; p < tree.shape->end_of[root]; ++p) {
    const ProviderConfig& config = tree.config(p);
    if (FindNode(state, config.id) || !owned || !config.HasTrait(*owned)) return true;
  }
  return false;
}

bool HoldsNothing(const State& state, const ProviderPlace& node) {
  const Tree& tree = *node.tree;
  for (int p = node.position; p < tree.shape->end_of[node.position]; ++p) {
    if (!tree.consumers[p].empty()) return false;
  }
  return !HasForeign(state, tree, node.position);
}

// Adds the removal of the providers `going` to `changes`, and drops all other changes of these
// providers from `changes`. `state` is the state before the command.
void RemoveAlso(const State& state, absl::flat_hash_set<ProviderId> going, Changes& changes) {
  for (const Change& change : changes) {
    if (const auto* gone = std::get_if<ProviderRemoved>(&change)) going.insert(gone->id);
  }
  const auto is_moot = [&](const Change& change) {
    const auto* put = std::get_if<ProviderPut>(&change);
    const auto* used = std::get_if<ProviderUsed>(&change);
    return (put != nullptr && going.contains(put->config->id)) ||
           (used != nullptr && going.contains(used->id)) ||
           std::holds_alternative<ProviderRemoved>(change);
  };
  changes.erase(std::remove_if(changes.begin(), changes.end(), is_moot), changes.end());
  std::vector<std::pair<int, ProviderId>> from_below;
  for (const ProviderId id : going) {
    // A provider that this command makes and removes again is not in `state`. It needs no removal.
    if (const auto place = state.FindProvider(id)) from_below.emplace_back(-place->position, id);
  }
  std::sort(from_below.begin(), from_below.end());
  for (const auto& [_, id] : from_below) changes.push_back(ProviderRemoved{id});
}

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

absl::Status TrackerNotFound(const std::string& host) {
  return Refuse(absl::StatusCode::kNotFound, "HOST_NOT_FOUND",
                absl::StrCat("there is no tracker on a host named ", host),
                {{{"host", host}, {"field", "host"}}});
}

absl::Status CheckOnHost(const NodeRecord& node, const std::string& host) {
  if (node.host == host) return absl::OkStatus();
  return Refuse(absl::StatusCode::kAborted, "RECORD_CONFLICT",
                absl::StrCat("node ", node.id.ToString(), " is on host ", node.host,
                             ", but the request expected host ", host),
                {{{"expected", host}, {"actual", node.host}}});
}

void FollowService(const State& state, bool disabled, std::vector<TraitId>& traits) {
  const std::optional<TraitId> trait = state.catalog().traits.Find(kDisabledTrait);
  if (!trait) return;
  const auto at = std::lower_bound(traits.begin(), traits.end(), *trait);
  const bool present = at != traits.end() && *at == *trait;
  if (disabled && !present) traits.insert(at, *trait);
  if (!disabled && present) traits.erase(at);
}

void EndRetiredNodes(const State& state, const std::vector<ProviderId>& released,
                     Changes& changes) {
  const absl::btree_set<ProviderId> retired = RetiredOwners(state, released);
  if (retired.empty()) return;
  State after = state;
  after.Apply(changes);
  absl::flat_hash_set<ProviderId> going;
  Changes nodes;
  for (const ProviderId node : retired) {
    const std::optional<ProviderPlace> root = after.FindProvider(node);
    if (!root || !HoldsNothing(after, *root)) continue;
    const Tree& tree = *root->tree;
    for (int p = root->position; p < tree.shape->end_of[root->position]; ++p) {
      going.insert(tree.config(p).id);
    }
    nodes.push_back(NodeRemoved{node});
  }
  if (nodes.empty()) return;
  RemoveAlso(state, std::move(going), changes);
  changes.insert(changes.end(), nodes.begin(), nodes.end());
}

int OwningNode(const State& state, const Tree& tree, int position) {
  while (position >= 0 && FindNode(state, tree.config(position).id) == nullptr) {
    position = tree.shape->parent_of[position];
  }
  return position;
}

bool IsSharing(const State& state, const ProviderConfig& provider) {
  const std::optional<TraitId> trait = state.catalog().traits.Find(kSharingTrait);
  return trait && provider.HasTrait(*trait);
}

bool IsSharedPool(const State& state, const ProviderConfig& provider) {
  return IsSharing(state, provider) && FindNode(state, provider.id) == nullptr;
}

NodeRecordPtr FindNodeOfHoldings(const State& state, ProviderId provider) {
  const std::optional<ProviderPlace> place = state.FindProvider(provider);
  return place && IsSharedPool(state, place->config()) ? nullptr : FindOwner(state, provider);
}

bool IsSharedDisk(const State& state, const Allocation& row) {
  if (row.resource_class != state.catalog().classes.Find(kDiskClass)) return false;
  const std::optional<ProviderPlace> place = state.FindProvider(row.provider);
  return place && IsSharing(state, place->config());
}

NodeRecordPtr FindNodeOfRow(const State& state, const Allocation& row) {
  return IsSharedDisk(state, row) ? nullptr : FindNodeOfHoldings(state, row.provider);
}

NodeRecordPtr FindOwner(const State& state, ProviderId provider) {
  const std::optional<ProviderPlace> place = state.FindProvider(provider);
  const int node = place ? OwningNode(state, *place->tree, place->position) : -1;
  return node < 0 ? nullptr : FindNode(state, place->tree->config(node).id);
}

}  // namespace berth::placement
