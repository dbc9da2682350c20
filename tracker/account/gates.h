// Decides what the migrations of an instance add to the account of one node (T-129 to T-134).
//
// Pure functions.
#ifndef BERTH_TRACKER_ACCOUNT_GATES_H_
#define BERTH_TRACKER_ACCOUNT_GATES_H_

#include <optional>
#include <vector>

#include "tracker/account/records.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// Whether an instance in this state takes nothing of the node that its record names (T-112).
bool IsRemovable(const Instance& instance);

// Whether the node `self` counts the instance: the record names this node, and the instance is
// neither deleted nor removable (T-111).
bool CountsOn(const HostAndNode& self, const Instance& instance);

// Whether the migration may hold something on the node: it is not over, and the node is its source
// or its destination (T-123).
bool IsCandidate(const HostAndNode& self, const Migration& migration);

// Whether a migration on one node has switched the instance: its record has what it has after the
// move (T-133, T-395). If the migration changes the flavor, the flavor tells this. If it keeps the
// flavor, the CPUs, devices and units tell it: the record has one that only the migration context's
// new side has, or it has just what the new side has, and the old side has others. So the guest may
// get or give back devices meanwhile. The memory of cells tells nothing (see README.md).
bool HasSwitched(const Instance& instance, const Migration& migration);

// Whether the instance is being resized, moved without running, rebuilt or evacuated, or moved while
// it runs (T-129, gate 3).
bool IsMoving(const Instance& instance);

// Which values of a migration a node counts: those before the move or those after it.
enum class Side { kOld, kNew };

// What one migration holds on a node, beside what the instance itself takes there.
struct MigrationHold {
  Uuid migration_uuid;
  Side side = Side::kNew;
  Flavor flavor;
  friend bool operator==(const MigrationHold&, const MigrationHold&) = default;
};

struct MigrationJudgement {
  std::optional<MigrationHold> hold;
  // True: a migration has switched the instance to this node, but the record does not have the
  // values of this migration's context yet. The instance counts with the values after the move
  // (T-50). An instance that has the context of another migration counts with its own values: for
  // example, a later migration takes it away, and the context has the cells of the next node.
  bool arrives = false;
  // Migrations that belong to no present move of the instance, because its migration context names
  // another one. Their status should become `error` (T-129, gate 5).
  std::vector<Uuid> stale;
  // The uuid of a migration that should count, and whose flavor the instance does not have (T-129,
  // gate 6). Nil: none.
  Uuid without_flavor;
  friend bool operator==(const MigrationJudgement&, const MigrationJudgement&) = default;
};

// Judges all migrations of the instance. The order of `migrations` has no effect. `claimed` is the
// uuid of the migration that an open claim is for, or nil. That migration counts, whatever state
// the instance is in and however new other migrations are.
MigrationJudgement JudgeMigrations(const HostAndNode& self, const Instance& instance,
                                   const std::vector<const Migration*>& migrations,
                                   const Uuid& claimed = {});

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_GATES_H_
