#include "placement/rules/settlement.h"

#include <string>

#include "placement/commands/fleet_node.h"
#include "placement/ground/check.h"

namespace berth::placement {
namespace {

// One side of a move.
struct Side {
  const std::string& host;
  const std::optional<ProviderId>& node;
};

// Whether the provider belongs to the side: the closest node at or above it is the side's node or,
// if that is not known, a node of the side's host.
bool IsOn(const State& state, ProviderId provider, const Side& side) {
  const std::optional<ProviderPlace> place = state.FindProvider(provider);
  BERTH_CHECK(place.has_value());  // something of it is allocated
  const Tree& tree = *place->tree;
  for (int p = place->position; p >= 0; p = tree.shape->parent_of[p]) {
    const ProviderId id = tree.config(p).id;
    if (side.node && *side.node == id) return true;
    const NodeRecordPtr node = FindNode(state, id);
    if (node != nullptr) return !side.node && node->host == side.host;
  }
  return false;
}

}  // namespace

bool Settlement::changes() const {
  static const std::vector<Allocation> kNothing;
  const bool same = held == (instance != nullptr ? instance->allocations : kNothing);
  return !same || (migration_releases && migration != nullptr);
}

Settlement Settle(const State& state, const MigrationRecord& migration, const MoveEnding& ending) {
  Settlement settlement;
  settlement.instance = state.FindConsumer(ConsumerId{migration.instance.uuid});
  settlement.migration = state.FindConsumer(ConsumerId{migration.id.uuid});
  settlement.migration_releases = ending.end != MoveEnd::kDone;
  const bool returns = ending.side == MoveSide::kSource;
  const Consumer* keeper = settlement.instance.get();
  if (returns && settlement.migration != nullptr) keeper = settlement.migration.get();
  if (keeper == nullptr) return settlement;
  if (ending.end == MoveEnd::kDone) {
    settlement.held = keeper->allocations;
    return settlement;
  }
  const Side source{migration.source_host, migration.source_node};
  const Side destination{migration.destination_host, migration.destination_node};
  const Side& kept = returns ? source : destination;
  const Side& left = returns ? destination : source;
  for (const Allocation& allocation : keeper->allocations) {
    const bool goes =
        IsOn(state, allocation.provider, left) && !IsOn(state, allocation.provider, kept);
    if (!goes) settlement.held.push_back(allocation);
  }
  return settlement;
}

}  // namespace berth::placement
