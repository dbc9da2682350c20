// Conversion of findings about allocations, and of stale migrations, between proto messages and
// domain types. Pure.
#ifndef BERTH_SERVICES_API_AUDIT_MESSAGES_H_
#define BERTH_SERVICES_API_AUDIT_MESSAGES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/placement/v1/audit.pb.h"
#include "placement/commands/allocation_audit.h"
#include "placement/commands/command.h"
#include "services/wire/write_answer.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

// The fault that a request names; none if it names none. Fails with INVALID_FIELD for a number that
// this release does not know.
absl::StatusOr<std::optional<placement::AllocationFault>> FaultOf(pb::AllocationFault fault);

// The guests that the trackers' last reports name as orphans. Decodes the account of every node.
std::vector<placement::ReportedOrphan> ReportedOrphans(const placement::State& state);

void FillFinding(const placement::State& state, const placement::AllocationFinding& finding,
                 pb::AllocationFinding* to);
void FillStaleMigration(const placement::State& state, const placement::MigrationRecord& migration,
                        pb::StaleMigration* to);

absl::StatusOr<placement::CommandBody> RepairAllocationsCommand(
    const pb::RepairAllocationsRequest&);
absl::StatusOr<placement::CommandBody> ReleaseEvacuatedCommand(const pb::ReleaseEvacuatedRequest&);

void FillRepairAllocations(const WriteAnswer& answer, pb::RepairAllocationsResponse* response);
void FillReleaseEvacuated(const WriteAnswer& answer, pb::ReleaseEvacuatedResponse* response);

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_AUDIT_MESSAGES_H_
