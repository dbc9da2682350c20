// Computes how much of a node is used: by the host itself, by instances and migrations with
// records, by other consumers with allocations, and by orphans. An orphan is a guest for which
// placement has no consumer.
//
// Pure functions.
//
// Invariants:
//   1. For each amount, used = reserve + promised + allocated + orphans (T-105, T-392).
//   2. For each amount, free = total - used. It may be negative (T-107). Allocation ratios have no
//      effect (T-109).
//   3. What an instance holds counts once: by its record or its claim if the node's account has one,
//      else by its allocations.
#ifndef BERTH_TRACKER_AUDIT_ACCOUNTING_H_
#define BERTH_TRACKER_AUDIT_ACCOUNTING_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tracker/account/account.h"
#include "tracker/audit/records.h"
#include "tracker/facts/facts.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

struct Accounting {
  Amounts total;
  Amounts reserve;
  PromisedUsage promised;
  Amounts allocated;  // by consumers that `promised` does not count
  Amounts orphans;    // that `promised` does not count
  int64_t pcpus = 0;
  int64_t pcpus_allocated = 0;              // the part of allocated.vcpus that is dedicated
  std::map<std::string, int64_t> counters;  // of records and failed builds (T-119)
  std::vector<HostCell> cells;              // with what instances use of them (T-267)
  std::vector<DevicePool> pools;            // the free PCI devices (T-243)
  std::vector<DeviceUse> devices;           // the PCI devices that are not free (T-238)

  Amounts used() const;
  Amounts free() const;
  // The used CPUs that guests have for themselves. They are a part of used().vcpus.
  int64_t pcpus_used() const;
  // The used disk in whole GiB, rounded down, for node records and log lines.
  int64_t used_disk_gib() const;
};

// A running or paused guest for which placement has no consumer with an allocation.
struct Orphan {
  Uuid uuid;
  std::string name;
  GuestState state = GuestState::kNone;
  Amounts usage;
  int64_t disk_gib = 0;      // `usage.disk_mib` in GiB, rounded up as placement counts disk
  bool withheld = false;     // placement is told to reserve `usage`
  absl::Time first_seen_at;  // by the wall clock, for people
};

// What a pass remembers about orphans for the next pass.
struct OrphanMemory {
  struct Seen {
    MonotonicTime first;  // when the orphan was first seen
    absl::Time first_at;  // the same moment by the wall clock, for people
    bool confirmed = false;
    std::optional<MonotonicTime> warned;  // when it was last logged
  };
  std::map<Uuid, Seen> guests;  // the orphans of the last pass, by uuid
  bool judged = false;  // a pass of this process has compared guests with placement's records
};

struct OrphanJudgement {
  std::vector<Orphan> orphans;  // sorted by uuid
  OrphanMemory memory;
  // The uuids of orphans about which a warning is due: once an hour for each (T-141).
  std::vector<Uuid> to_warn;
  std::optional<MonotonicTime> confirm_at;  // from when on a pass can confirm one more orphan
};

// Finds the orphans: guests that run or are paused, and that have no allocation in the node's tree,
// neither as a consumer nor as the instance of a migration (T-138). An orphan is confirmed if it is
// still an orphan `confirmation` after it was first seen. A confirmed orphan is withheld if
// `policy` is kWithhold.
OrphanJudgement JudgeOrphans(const std::vector<Guest>& guests,
                             const std::vector<KnownAllocation>& allocations, OrphanPolicy policy,
                             const OrphanMemory& before, MonotonicTime now, absl::Time wall_now,
                             std::chrono::nanoseconds confirmation);

// Sums up all usage of a node. `records` may be null: then the sum contains no allocations.
// `account` may be null: then it contains no instances, migrations and claims.
Accounting Account(const Facts& facts, const NodeConfiguration& configuration,
                   const Records* records, const std::vector<Orphan>& orphans,
                   const NodeAccount* account = nullptr);

// Sums up the usage of those orphans that have `withheld` set.
Withheld SumWithheld(const std::vector<Orphan>& orphans);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_ACCOUNTING_H_
