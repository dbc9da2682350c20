#include <optional>
#include <string>
#include <utility>

#include "placement/claims/owner_write.h"
#include "placement/claims/plan.h"
#include "placement/commands/allocation_audit.h"
#include "placement/rules/rules.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

// The write that the finding asks for. A consumer that holds nothing gets the owner that the record
// of its instance names.
ConsumerAllocations WriteOf(const State& state, const AllocationFinding& finding) {
  const InstancePtr instance =
      finding.held != nullptr ? nullptr
                              : state.records().FindInstance(InstanceId{finding.consumer.uuid});
  return WriteKeepingOwner(state, finding.consumer, finding.held, instance.get(), finding.wanted);
}

absl::Status NotRepairable(const AllocationFinding& finding) {
  return Refuse(absl::StatusCode::kFailedPrecondition, "NOT_REPAIRABLE",
                absl::StrCat(finding.why,
                             ", but the records do not say what it should hold: set its "
                             "allocations yourself"),
                {{{"consumer", finding.consumer.ToString()}}});
}

}  // namespace

// Refuses, in this order: a malformed command; NOT_REPAIRABLE; and, as SetAllocations does,
// NO_INVENTORY, UNIT_CONSTRAINT_VIOLATED, CAPACITY_EXCEEDED. Does nothing if the audit finds no
// fault, or another fault than the given one. So a repeat changes nothing (T-345).
absl::StatusOr<Outcome> Decide(const State& state, const RepairAllocations& command,
                               const RuleContext& context) {
  if (command.only) {
    Faults faults;
    const int fault = static_cast<int>(*command.only);
    if (fault < 1 || fault > kAllocationFaultMax) {
      faults.Add(kInvalidField, "fault", "must be a fault that this release knows");
    }
    BERTH_RETURN_IF_ERROR(faults.status());
  }
  const std::optional<AllocationFinding> finding = AuditConsumer(state, command.consumer);
  if (!finding || (command.only && finding->fault != *command.only)) return Outcome();
  if (!finding->repairable) return NotRepairable(*finding);
  const ConsumerAllocations wanted = WriteOf(state, *finding);
  const bool keeps_lease = finding->held != nullptr;
  return DecidePlan(state, {Holder{finding->consumer, finding->held, &wanted, keeps_lease}},
                    context);
}

}  // namespace berth::placement
