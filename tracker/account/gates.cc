#include "tracker/account/gates.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/string_view.h"
#include "tracker/account/migration_status.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

constexpr absl::string_view kMovingTasks[] = {"resize_prep",     "resize_migrating",
                                              "resize_migrated", "resize_finish",
                                              "rebuilding",      "rebuild_block_device_mapping",
                                              "rebuild_spawning"};

// Whether `one` was changed later than `other`. If both were changed at the same time, the one that
// was created first counts as newer; if that is equal too, the one with the lower uuid.
bool IsNewer(const Migration& one, const Migration& other) {
  const absl::Time time = one.updated_at.value_or(one.created_at);
  const absl::Time other_time = other.updated_at.value_or(other.created_at);
  if (time != other_time) return time > other_time;
  return std::tie(one.created_at, one.uuid) < std::tie(other.created_at, other.uuid);
}

// Returns the candidate that counts: the claimed migration, else the newest one; null if none.
const Migration* ChosenCandidate(const HostAndNode& self,
                                 const std::vector<const Migration*>& migrations,
                                 const Uuid& claimed) {
  const Migration* newest = nullptr;
  for (const Migration* migration : migrations) {
    if (!IsCandidate(self, *migration)) continue;
    if (!IsNil(claimed) && migration->uuid == claimed) return migration;
    if (newest == nullptr || IsNewer(*migration, *newest)) newest = migration;
  }
  return newest;
}

// What only one instance may have at a time (T-395): CPUs with the id of their host cell, devices
// and units.
using OwnParts = std::set<std::variant<std::pair<int, int>, std::string, NamedUnit>>;

OwnParts OwnPartsOf(const Assigned& assigned) {
  OwnParts parts(assigned.devices.begin(), assigned.devices.end());
  parts.insert(assigned.units.begin(), assigned.units.end());
  if (!assigned.topology.has_value()) return parts;
  for (const GuestCell& cell : assigned.topology->cells) {
    if (!cell.host_cell.has_value()) continue;
    for (const auto& [vcpu, cpu] : cell.pinning) parts.insert(std::pair(*cell.host_cell, cpu));
    for (const int cpu : cell.reserved_cpus.Cpus()) parts.insert(std::pair(*cell.host_cell, cpu));
  }
  return parts;
}

// Whether `own` has a part that `one` has and `other` has not.
bool HasAnyOf(const OwnParts& own, const OwnParts& one, const OwnParts& other) {
  return std::any_of(own.begin(), own.end(), [&](const OwnParts::value_type& part) {
    return one.count(part) != 0 && other.count(part) == 0;
  });
}

// Returns which values of the migration the node has to count, or nothing if the instance itself
// counts here (T-133).
std::optional<Side> SideOf(const HostAndNode& self, const Instance& instance,
                           const Migration& migration) {
  const bool incoming = migration.destination == self;
  const bool outgoing = migration.source == self;
  if (incoming && outgoing) {
    return HasSwitched(instance, migration) ? Side::kOld : Side::kNew;
  }
  if (CountsOn(self, instance)) return std::nullopt;
  return incoming ? Side::kNew : Side::kOld;
}

// Whether the instance counts here already, and came here by the migration. Its context must be of
// this migration: the context of a later one has cells of another node. An instance that moves on
// its own node has its old CPUs until it has switched (T-395).
bool Arrives(const HostAndNode& self, const Instance& instance, const Migration& migration) {
  return migration.destination == self && CountsOn(self, instance) &&
         instance.context.has_value() && instance.context->migration_uuid == migration.uuid &&
         (migration.source != self || HasSwitched(instance, migration));
}

// The flavor on one side of the migration. Only a resize changes the flavor (T-128).
std::optional<Flavor> FlavorOn(Side side, const Instance& instance, const Migration& migration) {
  if (migration.type != MigrationType::kResize) return instance.flavor;
  if (!instance.context.has_value()) return std::nullopt;
  return side == Side::kOld ? instance.context->old_flavor : instance.context->new_flavor;
}

}  // namespace

bool IsRemovable(const Instance& instance) {
  return instance.vm_state == "deleted" ||
         (instance.vm_state == "shelved_offloaded" && instance.task_state != "spawning");
}

bool CountsOn(const HostAndNode& self, const Instance& instance) {
  return instance.on == self && !instance.deleted && !IsRemovable(instance);
}

bool IsCandidate(const HostAndNode& self, const Migration& migration) {
  return StatusOf(migration.status).progress != Progress::kOver &&
         (migration.source == self || migration.destination == self);
}

bool HasSwitched(const Instance& instance, const Migration& migration) {
  if (instance.flavor.id != migration.old_flavor_id) return true;
  const bool keeps_flavor = migration.type != MigrationType::kResize ||
                            migration.new_flavor_id == migration.old_flavor_id;
  if (!keeps_flavor || !instance.context.has_value()) return false;
  const OwnParts own = OwnPartsOf(instance.assigned);
  const OwnParts before = OwnPartsOf(instance.context->old_assigned);
  const OwnParts after = OwnPartsOf(instance.context->new_assigned);
  if (HasAnyOf(own, after, before)) return true;
  return own == after && own != before;
}

bool IsMoving(const Instance& instance) {
  const absl::string_view state = instance.vm_state;
  const absl::string_view task = instance.task_state;
  if (state == "resized") return true;
  if (task == "migrating") return state == "active" || state == "paused";
  const bool moving_task =
      std::find(std::begin(kMovingTasks), std::end(kMovingTasks), task) != std::end(kMovingTasks);
  return moving_task && (state == "active" || state == "stopped");
}

MigrationJudgement JudgeMigrations(const HostAndNode& self, const Instance& instance,
                                   const std::vector<const Migration*>& migrations,
                                   const Uuid& claimed) {
  MigrationJudgement judgement;
  for (const Migration* migration : migrations) {
    if (IsCandidate(self, *migration) && Arrives(self, instance, *migration)) {
      judgement.arrives = true;
    }
  }
  const Migration* migration = ChosenCandidate(self, migrations, claimed);
  if (migration == nullptr) return judgement;
  if (migration->uuid != claimed && !IsMoving(instance)) return judgement;
  if (instance.context.has_value() && !IsNil(instance.context->migration_uuid) &&
      instance.context->migration_uuid != migration->uuid) {
    // A migration whose status says that it failed or is over need not be set to `error`.
    if (StatusOf(migration->status).progress == Progress::kInProgress) {
      judgement.stale.push_back(migration->uuid);
    }
    return judgement;
  }
  const std::optional<Side> side = SideOf(self, instance, *migration);
  if (!side.has_value()) return judgement;
  const std::optional<Flavor> flavor = FlavorOn(*side, instance, *migration);
  if (flavor.has_value()) {
    judgement.hold = MigrationHold{migration->uuid, *side, *flavor};
  } else {
    judgement.without_flavor = migration->uuid;
  }
  return judgement;
}

}  // namespace berth::tracker
