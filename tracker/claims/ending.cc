#include "tracker/claims/ending.h"

#include "absl/strings/str_cat.h"
#include "tracker/account/gates.h"
#include "tracker/account/migration_status.h"
#include "tracker/ground/check.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

// Removes host cells, pinning and reserved CPUs from the topology (T-165).
void Unplace(std::optional<GuestTopology>* topology) {
  if (!topology->has_value()) return;
  for (GuestCell& cell : (*topology)->cells) {
    cell.host_cell.reset();
    cell.pinning.clear();
    cell.reserved_cpus = CpuSet();
  }
}

bool HasContextOf(const Instance& instance, const Uuid& migration_uuid) {
  return instance.context.has_value() && instance.context->migration_uuid == migration_uuid;
}

absl::Status CheckContext(const Instance& instance, const Migration& migration) {
  if (HasContextOf(instance, migration.uuid)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the record of instance ", instance.uuid.ToString(),
                   " holds nothing about migration ", migration.uuid.ToString()));
}

// Whether an abort comes too late, because what was claimed is in use. After a move on one node
// this is so if the instance has switched.
bool HasEnded(const OpenClaim& claim, const Instance* instance, const Migration* migration) {
  if (!claim.migration.has_value()) {
    return IsRecorded(claim, instance, nullptr) && instance->vm_state != claim.instance.vm_state;
  }
  if (migration != nullptr && StatusOf(migration->status).arrived) return true;
  return instance != nullptr && instance->on == claim.migration->destination &&
         (claim.migration->source != instance->on || HasSwitched(*instance, *claim.migration));
}

Ending AbortInstance(const OpenClaim& claim, const Instance* instance) {
  Ending ending;
  if (!IsRecorded(claim, instance, nullptr)) return ending;
  ending.instance = *instance;
  ending.instance->on = {};
  ending.instance->claimed_generation = 0;
  Unplace(&ending.instance->assigned.topology);
  ending.instance->assigned.devices.clear();
  ending.instance->assigned.request_ids.clear();
  ending.instance->assigned.units.clear();
  return ending;
}

Ending AbortMove(const OpenClaim& claim, const Instance* instance, const Migration* migration,
                 absl::string_view status) {
  Ending ending;
  if (instance != nullptr && HasContextOf(*instance, claim.migration->uuid)) {
    ending.instance = *instance;
    ending.instance->context.reset();
    ending.allocations = AllocationChange::kGiveBack;
  }
  if (migration != nullptr && StatusOf(migration->status).progress != Progress::kOver) {
    ending.migration = *migration;
    ending.migration->status = std::string(status);
    ending.allocations = AllocationChange::kGiveBack;
  }
  return ending;
}

}  // namespace

Ending AbortClaim(const OpenClaim& claim, const Instance* instance, const Migration* migration,
                  absl::string_view status, NodeAccount* account) {
  // `status` is a word of the program, never one of a caller.
  BERTH_CHECK(!claim.migration.has_value() || StatusOf(status).progress != Progress::kInProgress);
  if (HasEnded(claim, instance, migration)) return {};
  account->Close(claim.instance.uuid, claim.id);
  if (!claim.migration.has_value()) return AbortInstance(claim, instance);
  return AbortMove(claim, instance, migration, status);
}

absl::StatusOr<Ending> ConfirmMove(const Instance& instance, const Migration& migration) {
  if (migration.status != "finished" && migration.status != "confirming") {
    return absl::FailedPreconditionError(absl::StrCat("migration ", migration.uuid.ToString(),
                                                      " has the status `", migration.status, "`"));
  }
  BERTH_RETURN_IF_ERROR(CheckContext(instance, migration));
  Ending ending{instance, migration, AllocationChange::kReleaseMigration};
  ending.migration->status = "confirmed";
  ending.instance->context.reset();
  return ending;
}

absl::StatusOr<Ending> RevertMove(const Instance& instance, const Migration& migration) {
  if (instance.task_state != "resize_reverting") {
    return absl::FailedPreconditionError(absl::StrCat("instance ", instance.uuid.ToString(),
                                                      " has task_state '", instance.task_state,
                                                      "', but it must be 'resize_reverting'"));
  }
  BERTH_RETURN_IF_ERROR(CheckContext(instance, migration));
  Ending ending{instance, migration, AllocationChange::kGiveBack};
  ending.migration->status = "reverted";
  const MigrationContext& context = *instance.context;
  if (context.old_flavor.has_value()) ending.instance->flavor = *context.old_flavor;
  ending.instance->on = migration.source;
  ending.instance->assigned = context.old_assigned;
  ending.instance->device_requests = context.old_device_requests;
  ending.instance->context.reset();
  return ending;
}

}  // namespace berth::tracker
