// Who uses a node: the host itself, those who hold allocations, and guests that nobody claimed.
//
// Pure functions of values.
//
// Invariants:
//   1. used = reserve + allocated + orphans, per amount (T-105, T-392).
//   2. free = total - used, never clamped (T-107); ratios play no part (T-109).
//
// Not accounted, since placement keeps no instance records yet: usage by flavor of instances and of
// both sides of a migration (T-111..T-137), statistics by state and project (T-118..T-122), removal
// of deleted instances' allocations (T-143..T-145) and guests that were evacuated away
// (T-146..T-148). What instances hold is counted by their allocations, which is the same promise.
#ifndef BERTH_TRACKER_AUDIT_ACCOUNTING_H_
#define BERTH_TRACKER_AUDIT_ACCOUNTING_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tracker/audit/records.h"
#include "tracker/facts/facts.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

using MonotonicTime = std::chrono::steady_clock::time_point;

// An amount of each thing that is accounted. Disk in MiB, so that small parts do not vanish
// (T-108).
struct Amounts {
  int64_t vcpus = 0;  // shared and dedicated together (T-110)
  int64_t memory_mib = 0;
  int64_t disk_mib = 0;

  Amounts& operator+=(const Amounts& other);
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

struct Accounting {
  Amounts total;
  Amounts reserve;
  Amounts allocated;
  Amounts orphans;
  int64_t pcpus = 0;
  int64_t pcpus_used = 0;

  Amounts used() const;
  Amounts free() const;
  // Whole GiB, rounded down, as records and log lines carry it.
  int64_t used_disk_gib() const;
  int64_t free_disk_gib() const;
};

// A guest without a claim.
struct Orphan {
  std::string uuid;
  std::string name;
  GuestState state = GuestState::kNone;
  Amounts usage;
  int64_t disk_gib = 0;      // its disk as placement counts it: rounded up
  bool withheld = false;     // confirmed, and taken from what placement gives away
  absl::Time first_seen_at;  // by the wall clock, for people
};

// What passes remember about orphans between them. Monotonic time, so that clock steps do not
// matter.
struct OrphanMemory {
  struct Seen {
    MonotonicTime first;
    absl::Time first_at;  // the same moment by the wall clock, for people
    bool confirmed = false;
    std::optional<MonotonicTime> warned;
  };
  std::map<std::string, Seen> guests;  // by uuid; only those that were orphans at the last pass
  bool judged = false;  // a pass of this process has compared guests with placement's records
};

struct OrphanJudgement {
  std::vector<Orphan> orphans;  // by uuid
  OrphanMemory memory;
  std::vector<std::string> to_warn;         // uuids, each at most once an hour (T-141)
  std::optional<MonotonicTime> confirm_at;  // when the next pass may confirm one
};

// Guests that run or are paused and that hold nothing in the node's tree, neither themselves nor
// through a migration (T-138). They count at once; one that is still there `confirmation` after it
// was first seen is confirmed, and under OrphanPolicy::kWithhold withheld.
OrphanJudgement JudgeOrphans(const std::vector<Guest>& guests,
                             const std::vector<KnownAllocation>& allocations, OrphanPolicy policy,
                             const OrphanMemory& before, MonotonicTime now, absl::Time wall_now,
                             std::chrono::nanoseconds confirmation);

// Adds everything up. `records` may be absent: then nothing is known to be allocated.
Accounting Account(const Facts& facts, const NodeConfiguration& configuration,
                   const Records* records, const std::vector<Orphan>& orphans);

// What withheld orphans take from the root's inventory.
Withheld SumWithheld(const std::vector<Orphan>& orphans);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_ACCOUNTING_H_
