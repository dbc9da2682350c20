#include "services/api/audit_messages.h"

#include <string>
#include <vector>

#include "services/wire/allocation.h"
#include "services/wire/fleet.h"
#include "services/wire/form.h"
#include "services/wire/instance.h"

namespace berth::services {
namespace {

using placement::ConsumerId;
using placement::State;
using Groups = google::protobuf::RepeatedPtrField<pb::ProviderAllocation>;

void FillRows(const State& state, const std::vector<placement::Allocation>& rows, Groups* to) {
  FillAllocations(
      state.catalog(), nullptr, rows, [](placement::ProviderId) { return true; }, to);
}

void FillHeld(const State& state, ConsumerId id, Groups* to) {
  const placement::ConsumerPtr consumer = state.FindConsumer(id);
  if (consumer != nullptr) FillRows(state, consumer->allocations, to);
}

}  // namespace

absl::StatusOr<std::optional<placement::AllocationFault>> FaultOf(pb::AllocationFault fault) {
  if (fault == pb::ALLOCATION_FAULT_UNSPECIFIED) return std::nullopt;
  if (!pb::AllocationFault_IsValid(fault)) {
    return InvalidField("fault", "must be a fault that this release knows");
  }
  return static_cast<placement::AllocationFault>(fault);
}

std::vector<placement::ReportedOrphan> ReportedOrphans(const State& state) {
  std::vector<placement::ReportedOrphan> orphans;
  pb::Node reported;
  state.nodes().ForEach([&](placement::ProviderId id, const placement::NodeRecordPtr& node) {
    reported.ParseFromString(node->account);
    for (const pb::Orphan& orphan : reported.orphans()) {
      const auto guest = ConsumerId::Parse(orphan.uuid());
      if (guest) orphans.push_back({*guest, id, orphan.name()});
    }
    return true;
  });
  return orphans;
}

void FillFinding(const State& state, const placement::AllocationFinding& finding,
                 pb::AllocationFinding* to) {
  to->set_consumer_uuid(finding.consumer.ToString());
  to->set_fault(static_cast<pb::AllocationFault>(finding.fault));
  to->set_message(finding.why);
  if (finding.held != nullptr) FillRows(state, finding.held->allocations, to->mutable_held());
  FillRows(state, finding.wanted, to->mutable_wanted());
  to->set_repairable(finding.repairable);
}

void FillStaleMigration(const State& state, const placement::MigrationRecord& migration,
                        pb::StaleMigration* to) {
  FillMigration(migration, to->mutable_migration());
  FillHeld(state, ConsumerId{migration.instance.uuid}, to->mutable_held_by_instance());
  FillHeld(state, ConsumerId{migration.id.uuid}, to->mutable_held_by_migration());
}

absl::StatusOr<placement::CommandBody> RepairAllocationsCommand(
    const pb::RepairAllocationsRequest& request) {
  placement::RepairAllocations command;
  BERTH_ASSIGN_OR_RETURN(command.consumer, ConsumerIdOf(request));
  BERTH_ASSIGN_OR_RETURN(command.only, FaultOf(request.fault()));
  return command;
}

absl::StatusOr<placement::CommandBody> ReleaseEvacuatedCommand(
    const pb::ReleaseEvacuatedRequest& request) {
  return placement::ReleaseEvacuated{request.host()};
}

void FillRepairAllocations(const WriteAnswer& answer, pb::RepairAllocationsResponse* response) {
  response->set_repaired(!answer.decision.changes->empty());
}

void FillReleaseEvacuated(const WriteAnswer& answer, pb::ReleaseEvacuatedResponse* response) {
  for (const ConsumerId id : AffectedConsumers(answer)) {
    response->add_affected_consumer_uuids(id.ToString());
  }
  for (const std::string& why : answer.decision.result.warnings) response->add_warnings(why);
}

}  // namespace berth::services
