// Settlement: what becomes of the allocations of a move's two consumers when the move ends, and
// whether it may end so. Pure.
//
// Usually the consumer of the migration holds the instance's part on the source during the move,
// and the consumer of the instance holds its part on the destination (T-221). In an evacuation, and
// before the parts are divided, the consumer of the instance holds both. Callers may also divide
// the parts otherwise. So each row (allocation) is judged by its provider, and not by which of the
// two consumers holds it; only disk of a sharing root is also judged by what its consumer holds
// beside it.
#ifndef BERTH_PLACEMENT_RULES_SETTLEMENT_H_
#define BERTH_PLACEMENT_RULES_SETTLEMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "placement/state/state.h"
#include "placement/values/move_end.h"

namespace berth::placement {

struct Settlement {
  ConsumerPtr instance;          // the instance's consumer before the end; null: it held nothing
  ConsumerPtr migration;         // the migration's consumer before the end; null: it held nothing
  std::vector<Allocation> held;  // by the instance's consumer afterwards, without a lease

  // Whether a consumer holds something else afterwards, or loses its lease.
  bool changes() const;
};

// The settlement of `migration` if it ends with `ending` and the record of the instance is then
// `instance`. Afterwards the migration's consumer holds nothing, and the instance's consumer holds:
// - If the instance stays on the destination: what it held, except on the source; and what the
//   migration's consumer held on the destination.
// - If the instance is on the source: what both held, except on the destination. If both held
//   something on a provider that belongs to both sides or to no node, the row of the migration's
//   consumer counts, because that consumer holds what the instance had before the move.
// - If the move `failed` and the instance is on neither side, because it has moved on: what it held
//   on other nodes and on providers without a node.
// - If an evacuation is `done`: what both held. The part on the source counts until the source host
//   is back (T-148).
//
// A provider belongs to the node at or above it. But a sharing provider (P-106) that is not itself
// the root of a node belongs to no node. If the root of a node is a sharing provider, a consumer
// that holds disk of the root, and nothing else on the node, may be on another node: this disk
// belongs to no node, too. A provider is on a side if its node is the side's node. A
// side for which the migration names no node has all nodes of its host. A node may have moved to
// another host since (T-22), or the destination's host may not be known yet. So if only one side
// has no node, this side also has each node that belongs neither to the other side, nor to another
// move of the instance, nor to the host of `instance`.
//
// `field`: the field of the request that names the end. Refuses, in this order: WRONG_MOVE_END if
// the type or status of the migration does not allow the end; INSTANCE_ELSEWHERE if the host in
// `instance` does not fit the end; FOREIGN_CONSUMER if the consumer with the uuid of the migration
// belongs to another instance or another project; NOTHING_HELD if the two consumers hold something
// on nodes, but the instance would hold nothing on the side that it is on, apart from nodes that
// nobody names.
absl::StatusOr<Settlement> Settle(const State& state, const MigrationRecord& migration,
                                  const MoveEnding& ending, const InstanceRecord& instance,
                                  const std::string& field);

// Whether a write of the migration's record may give it the status of `after`, while `before` is
// the record as it is. If the new status is none of an end, refuses WRONG_MOVE_END for a move that
// is over. If the new status is that of an end, refuses what Settle refuses, and
// MOVE_HOLDS_ALLOCATIONS if the end would also change allocations. The same status is always OK.
absl::Status CheckStatusChange(const State& state, const MigrationRecord& before,
                               const MigrationRecord& after);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_SETTLEMENT_H_
