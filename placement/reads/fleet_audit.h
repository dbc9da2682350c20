// Lists of what an operator has to look at: allocations that contradict the records, and migrations
// that do not go on. Pure.
#ifndef BERTH_PLACEMENT_READS_FLEET_AUDIT_H_
#define BERTH_PLACEMENT_READS_FLEET_AUDIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "placement/commands/allocation_audit.h"
#include "placement/state/state.h"

namespace berth::placement {

struct AllocationAuditPage {
  std::vector<AllocationFinding> findings;  // in order of the consumers' ids
  bool more = false;                        // whether other findings follow
};

// The first `limit` findings about consumers with ids greater than `after` (T-345). Looks at all
// instances, at all consumers, and at the guests in `orphans`. If there is a finding about the
// instance or the consumer of a guest, the guest is no further finding. `only`: findings of this
// kind; none: of any kind. REQUIRES: limit > 0.
AllocationAuditPage AuditAllocations(const State& state, std::optional<AllocationFault> only,
                                     std::optional<ConsumerId> after, int limit,
                                     std::vector<ReportedOrphan> orphans);

// How many consumers are leak candidates (T-346). Looks at all consumers.
int64_t CountLeakCandidates(const State& state);

// The migrations that may hold resources and whose records nobody has changed for `age` or longer
// by the ledger's time, in order of id. A migration that waits for its user (`finished`) is never
// stale (T-132). The cost does not grow with the number of migrations that hold nothing.
std::vector<MigrationPtr> StaleMigrations(const State& state, absl::Duration age);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_READS_FLEET_AUDIT_H_
