#include "tracker/account/holding.h"

#include <algorithm>

namespace berth::tracker {
namespace {

const Assigned& AssignedOn(Side side, const MigrationContext& context) {
  return side == Side::kOld ? context.old_assigned : context.new_assigned;
}

// Without cells, devices and units.
Holding HoldingOf(const Flavor& flavor, const Instance& instance, const Overheads& overheads) {
  return {AmountsOf(flavor, instance.boot_from_volume, overheads),
          {},
          OverheadOf(flavor, overheads).vcpus};
}

}  // namespace

Amounts OverheadOf(const Flavor& flavor, const Overheads& overheads) {
  const auto policy = flavor.extra_specs.find("hw:emulator_threads_policy");
  const bool isolated = policy != flavor.extra_specs.end() && policy->second == "isolate";
  return {isolated ? overheads.isolated_emulator_vcpus : 0, 0, 0};
}

Amounts AmountsOf(const Flavor& flavor, bool boot_from_volume, const Overheads& overheads) {
  const int64_t volume_gib = boot_from_volume ? flavor.root_disk_gib : 0;
  Amounts amounts = {flavor.vcpus, flavor.memory_mib,
                     (flavor.local_disk_gib() - volume_gib) * kMibPerGib + flavor.swap_mib};
  amounts += OverheadOf(flavor, overheads);
  return amounts;
}

int64_t Holding::dedicated_vcpus() const {
  if (!assigned.topology.has_value()) return 0;
  int64_t pinned = 0;
  int64_t reserved = 0;
  for (const GuestCell& cell : assigned.topology->cells) {
    pinned += static_cast<int64_t>(cell.pinning.size());
    reserved += cell.reserved_cpus.Count();
  }
  return pinned + std::min(reserved, overhead_vcpus);
}

InstanceEntry EntryOf(const HostAndNode& self, const Overheads& overheads, const Instance& instance,
                      const std::vector<const Migration*>& migrations, const OpenClaim* claim) {
  const bool moves = claim != nullptr && claim->migration.has_value();
  const MigrationJudgement judgement =
      JudgeMigrations(self, instance, migrations, moves ? claim->migration->uuid : Uuid());
  InstanceEntry entry;
  if (CountsOn(self, instance) || (claim != nullptr && !moves && instance.on == self)) {
    entry.own = HoldingOf(instance.flavor, instance, overheads);
    entry.own->assigned = instance.assigned;
    if (judgement.arrives) entry.own->assigned = instance.context->new_assigned;
    entry.snapshot = {instance.vm_state, instance.task_state, instance.project_id,
                      entry.own->amounts};
  }
  if (judgement.hold.has_value()) {
    entry.held = HoldingOf(judgement.hold->flavor, instance, overheads);
    if (instance.context.has_value()) {
      entry.held->assigned = AssignedOn(judgement.hold->side, *instance.context);
    }
    entry.migration_uuid = judgement.hold->migration_uuid;
  }
  entry.stale = judgement.stale;
  entry.without_flavor = judgement.without_flavor;
  return entry;
}

}  // namespace berth::tracker
