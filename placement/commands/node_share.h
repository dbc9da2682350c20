// NodeShare: what of one instance counts on one node: what its record gives to it there, and beside
// this one side of one of its moves.
//
// The trackers count what their nodes have promised by the same rules (T-111, T-112, T-123, T-129,
// T-133), in code of their own. tests/counted/cases.txt has the cases, and tests of both read it.
//
// Pure functions.
#ifndef BERTH_PLACEMENT_COMMANDS_NODE_SHARE_H_
#define BERTH_PLACEMENT_COMMANDS_NODE_SHARE_H_

#include <optional>
#include <string>
#include <vector>

#include "placement/values/instance.h"
#include "placement/values/move_end.h"

namespace berth::placement {

struct NodeShare {
  // The instance counts by itself.
  bool instance = false;
  // The instance counts by itself, and has what its migration context has for the destination: its
  // move has brought it here, and the rest of the record does not say so yet (T-50).
  bool arrived = false;
  // A migration of the instance counts, with what the context has for this side. None: no migration
  // counts.
  std::optional<MoveSide> side;
  std::optional<MigrationId> migration;  // the one that counts

  friend bool operator==(const NodeShare&, const NodeShare&) = default;
};

// Whether vm_state and task_state say that the instance is resized, moved, rebuilt or evacuated. If
// not, none of its migrations counts, whatever their statuses are (T-129).
bool IsMoving(const InstanceRecord& instance);

// The share of the instance on the node `node` of `host`. `migrations`: all of the instance, in any
// order.
//
// A record, or a side of a migration, that names a host and no node counts on no node.
NodeShare ShareOn(const std::string& host, ProviderId node, const InstanceRecord& instance,
                  const std::vector<MigrationPtr>& migrations);

// What the instance has there, by name.
PartNameSet HeldNames(const NodeShare& share, const InstanceRecord& instance);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_NODE_SHARE_H_
