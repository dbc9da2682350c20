// Computes what one instance makes a node hold: by itself, and by its migrations.
//
// Pure functions.
#ifndef BERTH_TRACKER_ACCOUNT_HOLDING_H_
#define BERTH_TRACKER_ACCOUNT_HOLDING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracker/account/amounts.h"
#include "tracker/account/gates.h"
#include "tracker/account/open_claim.h"
#include "tracker/account/records.h"
#include "tracker/account/statistics.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// What the hypervisor itself needs for a guest beside its flavor (T-142). An amount that is not 0
// must also be part of the guest's allocation in placement.
struct Overheads {
  int64_t isolated_emulator_vcpus = 0;  // for a guest whose emulator threads are isolated
  friend bool operator==(const Overheads&, const Overheads&) = default;
};

Amounts OverheadOf(const Flavor& flavor, const Overheads& overheads);

// Returns what a guest with this flavor takes: the flavor's amounts with the overhead. A root disk
// takes nothing if the guest boots from a volume (T-113, T-114).
Amounts AmountsOf(const Flavor& flavor, bool boot_from_volume, const Overheads& overheads);

// One reason for which a node holds something.
struct Holding {
  Amounts amounts;
  Assigned assigned;
  int64_t overhead_vcpus = 0;  // the part of amounts.vcpus that is no virtual CPU of the guest

  // The part of amounts.vcpus that has host CPUs of its own (T-110): the pinned virtual CPUs, and
  // the isolated emulator if it counts as overhead.
  int64_t dedicated_vcpus() const;
  friend bool operator==(const Holding&, const Holding&) = default;
};

// Everything that a node holds because of one instance.
struct InstanceEntry {
  std::optional<Holding> own;     // absent: the instance does not count on the node
  Statistics::Snapshot snapshot;  // of the instance, if `own` is present
  std::optional<Holding> held;    // what a migration of the instance holds in addition
  Uuid migration_uuid;            // the migration that `held` is for
  std::vector<Uuid> stale;        // see MigrationJudgement
  Uuid without_flavor;            // see MigrationJudgement

  bool empty() const { return *this == InstanceEntry(); }
  friend bool operator==(const InstanceEntry&, const InstanceEntry&) = default;
};

// `instance` and `migrations` are the records with the changes of the open claim `claim`, which is
// null if there is none. What is claimed counts in every state of the instance: for example, a guest
// in the state `error` may be evacuated to the node, and a shelved guest gets its task `spawning`
// only after the claim. When the claim has ended, the states in the records decide (T-112, T-129).
InstanceEntry EntryOf(const HostAndNode& self, const Overheads& overheads, const Instance& instance,
                      const std::vector<const Migration*>& migrations,
                      const OpenClaim* claim = nullptr);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_HOLDING_H_
