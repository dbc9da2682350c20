// Settlement: what becomes of the allocations of a move's two consumers when the move ends. Pure.
//
// Usually the consumer of the migration holds the instance's part on the source during the move,
// and the consumer of the instance holds its part on the destination (T-221). In an evacuation, and
// before the parts are divided, the consumer of the instance holds both.
#ifndef BERTH_PLACEMENT_RULES_SETTLEMENT_H_
#define BERTH_PLACEMENT_RULES_SETTLEMENT_H_

#include <vector>

#include "placement/state/state.h"
#include "placement/values/move_end.h"

namespace berth::placement {

struct Settlement {
  ConsumerPtr instance;          // the instance's consumer before the end; null: it held nothing
  ConsumerPtr migration;         // the migration's consumer before the end; null: it held nothing
  std::vector<Allocation> held;  // by the instance's consumer afterwards
  bool migration_releases = false;  // the migration's consumer holds nothing afterwards

  // Whether a consumer holds something else afterwards.
  bool changes() const;
};

// The settlement of `migration` if it ends with `ending`:
// - If the instance stays on the destination, its consumer keeps what it holds, except the part on
//   the source, and the migration's consumer releases everything.
// - If the instance is on the source again, its consumer gets what the migration's consumer holds.
//   If that consumer holds nothing, the instance's consumer keeps what it holds, except the part on
//   the destination.
// - An evacuation that is `done` changes nothing: the part on the source counts until the source
//   host is back (T-148).
// A part on one side is everything on providers that belong to this side's node and not to the
// other side's node. A side for which the migration names no node has all nodes of its host. What
// belongs to neither side, for example a share of a storage pool, is kept.
Settlement Settle(const State& state, const MigrationRecord& migration, const MoveEnding& ending);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RULES_SETTLEMENT_H_
