#include "placement/commands/node_share.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/string_view.h"
#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

// With one of these tasks an active or stopped instance moves or is rebuilt (T-129, gate 3).
constexpr absl::string_view kMovingTasks[] = {"resize_prep",     "resize_migrating",
                                              "resize_migrated", "resize_finish",
                                              "rebuilding",      "rebuild_block_device_mapping",
                                              "rebuild_spawning"};

struct NodePlace {
  const std::string& host;
  const ProviderId node;

  bool IsAt(const std::string& its_host, const std::optional<ProviderId>& its_node) const {
    return its_host == host && its_node == node;
  }
  bool IsSourceOf(const MigrationRecord& migration) const {
    return IsAt(migration.source_host, migration.source_node);
  }
  bool IsDestinationOf(const MigrationRecord& migration) const {
    return IsAt(migration.destination_host, migration.destination_node);
  }
};

// Whether the migration may hold something on the node (T-123).
bool IsCandidate(const NodePlace& place, const MigrationRecord& migration) {
  return HoldsResources(migration.status) &&
         (place.IsSourceOf(migration) || place.IsDestinationOf(migration));
}

// Whether `one` was changed later than `other`. If both were changed at the same time, the one that
// was created first counts as newer; if that is equal too, the one with the lower id.
bool IsNewer(const MigrationRecord& one, const MigrationRecord& other) {
  if (one.updated_at != other.updated_at) return one.updated_at > other.updated_at;
  return std::tie(one.created_at, one.id) < std::tie(other.created_at, other.id);
}

// The newest of the migrations that may hold something on the node; null: none may.
const MigrationRecord* NewestCandidate(const NodePlace& place,
                                       const std::vector<MigrationPtr>& migrations) {
  const MigrationRecord* newest = nullptr;
  for (const MigrationPtr& migration : migrations) {
    if (!IsCandidate(place, *migration)) continue;
    if (newest == nullptr || IsNewer(*migration, *newest)) newest = migration.get();
  }
  return newest;
}

// Whether the migration keeps the flavor. Only a resize may change it (T-128).
bool KeepsFlavor(const MigrationRecord& migration) {
  return migration.type != MigrationType::kResize ||
         migration.new_flavor_id == migration.old_flavor_id;
}

// Whether a migration on one node has switched the instance: its record has what it has after the
// move (T-133, T-395). If the migration changes the flavor, the flavor tells this. If it keeps the
// flavor, the CPUs, devices and units tell it: the record has one that the context has for the
// destination alone, or it has just what the context has for the destination, and the context has
// others for the source. So the guest may get or give back devices meanwhile.
bool HasSwitched(const MigrationRecord& migration, const InstanceRecord& instance) {
  if (instance.flavor_id != migration.old_flavor_id) return true;
  const HeldParts& held = HeldOf(instance);
  if (!KeepsFlavor(migration) || held.context == nullptr) return false;
  const PartNameSet before = held.context->before.ToSet();
  const PartNameSet after = held.context->after.ToSet();
  for (const absl::string_view name : held.own.List()) {
    if (after.contains(name) && !before.contains(name)) return true;
  }
  return held.own == held.context->after && held.own != held.context->before;
}

// Whether the migration has brought the instance, which counts on the node, to this node. An
// instance that moves on its own node keeps its old CPUs until it has switched (T-395).
bool Brought(const NodePlace& place, const MigrationRecord& migration,
             const InstanceRecord& instance) {
  const HeldParts& held = HeldOf(instance);
  return IsCandidate(place, migration) && place.IsDestinationOf(migration) &&
         held.context != nullptr && held.context->migration == migration.id &&
         (!place.IsSourceOf(migration) || HasSwitched(migration, instance));
}

// Which side of the migration counts beside the instance; none if the instance itself counts on the
// node, unless the node is source and destination (T-133).
std::optional<MoveSide> SideOn(const NodePlace& place, bool instance_counts,
                               const MigrationRecord& migration, const InstanceRecord& instance) {
  if (place.IsSourceOf(migration) && place.IsDestinationOf(migration)) {
    return HasSwitched(migration, instance) ? MoveSide::kSource : MoveSide::kDestination;
  }
  if (instance_counts) return std::nullopt;
  return place.IsDestinationOf(migration) ? MoveSide::kDestination : MoveSide::kSource;
}

// Whether the record has the flavor of this side. Only a resize has two (T-128, T-129).
bool HasFlavor(MoveSide side, const MigrationRecord& migration, const HeldParts& held) {
  if (migration.type != MigrationType::kResize) return true;
  if (held.context == nullptr) return false;
  return side == MoveSide::kSource ? held.context->has_old_flavor : held.context->has_new_flavor;
}

}  // namespace

bool IsMoving(const InstanceRecord& instance) {
  const absl::string_view state = instance.vm_state;
  const absl::string_view task = instance.task_state;
  if (state == "resized") return true;
  if (task == "migrating") return state == "active" || state == "paused";
  if (state != "active" && state != "stopped") return false;
  return std::find(std::begin(kMovingTasks), std::end(kMovingTasks), task) !=
         std::end(kMovingTasks);
}

NodeShare ShareOn(const std::string& host, ProviderId node, const InstanceRecord& instance,
                  const std::vector<MigrationPtr>& migrations) {
  const NodePlace place{host, node};
  const HeldParts& held = HeldOf(instance);
  NodeShare share;
  share.instance = place.IsAt(instance.host, instance.node) && !IsRemovable(instance);
  share.arrived = share.instance &&
                  std::any_of(migrations.begin(), migrations.end(), [&](const MigrationPtr& move) {
                    return Brought(place, *move, instance);
                  });
  const MigrationRecord* const newest = NewestCandidate(place, migrations);
  if (newest == nullptr || !IsMoving(instance)) return share;
  const bool is_of_another = held.context != nullptr && held.context->migration.has_value() &&
                             held.context->migration != newest->id;
  if (is_of_another) return share;
  const std::optional<MoveSide> side = SideOn(place, share.instance, *newest, instance);
  if (!side.has_value() || !HasFlavor(*side, *newest, held)) return share;
  share.side = side;
  share.migration = newest->id;
  return share;
}

PartNameSet HeldNames(const NodeShare& share, const InstanceRecord& instance) {
  const HeldParts& held = HeldOf(instance);
  PartNameSet names;
  if (share.instance) names = (share.arrived ? held.context->after : held.own).ToSet();
  if (!share.side.has_value() || held.context == nullptr) return names;
  const HeldParts::Context& context = *held.context;
  names.merge((share.side == MoveSide::kSource ? context.before : context.after).ToSet());
  return names;
}

}  // namespace berth::placement
