#include "placement/rules/owners.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/commands/node_share.h"
#include "placement/rules/fence.h"
#include "placement/values/migration_status.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

using OwnedNames = HeldParts::Names;

// A node of a host; without a node, all nodes of the host.
struct OwnedPlace {
  std::string host;
  std::optional<ProviderId> node;
  friend auto operator<=>(const OwnedPlace&, const OwnedPlace&) = default;
};

// An instance with all its migrations, and the parts of its record.
struct Belongings {
  const InstanceRecord& instance;
  std::vector<MigrationPtr> migrations;
  HeldParts parts;
};

std::set<OwnedPlace> PlacesOf(const Belongings& of) {
  std::set<OwnedPlace> places = {{of.instance.host, of.instance.node}};
  for (const MigrationPtr& migration : of.migrations) {
    places.insert({migration->source_host, migration->source_node});
    places.insert({migration->destination_host, migration->destination_node});
  }
  std::erase_if(places, [](const OwnedPlace& place) { return place.host.empty(); });
  return places;
}

// What the records name at the place, in whatever state instance and migrations are.
OwnedNames NamedAt(const Belongings& of, const OwnedPlace& place) {
  const auto is_here = [&](const std::string& host, const std::optional<ProviderId>& node) {
    return host == place.host && (!node || node == place.node);
  };
  OwnedNames names;
  if (is_here(of.instance.host, of.instance.node)) names = of.parts.own;
  if (!of.parts.context) return names;
  const HeldParts::Context& context = *of.parts.context;
  for (const MigrationPtr& migration : of.migrations) {
    if (context.migration && context.migration != migration->id) continue;
    if (is_here(migration->source_host, migration->source_node)) {
      names.insert(context.before.begin(), context.before.end());
    }
    if (is_here(migration->destination_host, migration->destination_node)) {
      names.insert(context.after.begin(), context.after.end());
    }
  }
  return names;
}

// What the records name at the place, or at any node of its host if the place is the whole host.
OwnedNames NamedWithin(const Belongings& of, const OwnedPlace& place) {
  if (place.node) return NamedAt(of, place);
  OwnedNames names;
  for (const OwnedPlace& own : PlacesOf(of)) {
    if (own.host == place.host) names.merge(NamedAt(of, own));
  }
  return names;
}

// What of the records counts at the place; nothing if the place is the whole host.
OwnedNames CountedAt(const Belongings& of, const OwnedPlace& place) {
  if (!place.node) return {};
  return HeldNames(ShareOn(place.host, *place.node, of.instance, of.migrations, of.parts),
                   of.parts);
}

OwnedNames Minus(OwnedNames names, const OwnedNames& others) {
  for (const std::string& name : others) names.erase(name);
  return names;
}

// The migrations of the instance, with `written` in the place of its record or as a new one. Null:
// none is written.
std::vector<MigrationPtr> MigrationsAfter(const State& state, InstanceId instance,
                                          const MigrationPtr& written) {
  std::vector<MigrationPtr> migrations = state.records().MigrationsOf(instance);
  if (written == nullptr) return migrations;
  std::erase_if(migrations,
                [&](const MigrationPtr& migration) { return migration->id == written->id; });
  migrations.push_back(written);
  return migrations;
}

// Whether the migration that is written counts as it did before, on both of its sides. Beside
// another one that holds resources it may become the newest, which alone counts.
bool LeavesMove(const MigrationRecord& written, const std::vector<MigrationPtr>& before) {
  bool is_known = false;
  for (const MigrationPtr& migration : before) {
    if (migration->id != written.id) {
      if (HoldsResources(migration->status)) return false;
      continue;
    }
    is_known = migration->source_host == written.source_host &&
               migration->source_node == written.source_node &&
               migration->destination_host == written.destination_host &&
               migration->destination_node == written.destination_node &&
               HoldsResources(migration->status) == HoldsResources(written.status);
  }
  return is_known;
}

// Whether the write leaves all from which it follows what the instance has. Then nothing is read.
// The details hold the flavor, and a migration keeps its type and its flavors.
bool LeavesAll(const OwnersWrite& write, const std::vector<MigrationPtr>& migrations) {
  const InstanceRecord& before = *write.before;
  const InstanceRecord& after = write.after;
  return after.host == before.host && after.node == before.node &&
         after.details == before.details && IsRemovable(after) == IsRemovable(before) &&
         IsMoving(after) == IsMoving(before) &&
         (write.migration == nullptr || LeavesMove(*write.migration, migrations));
}

bool IsOfTracker(const OwnersWrite& write, const OwnedPlace& place) {
  return place.host == write.tracker->host &&
         (!place.node || !write.node || place.node == write.node);
}

absl::Status DenyGift(const OwnersWrite& write, const std::string& name, const OwnedPlace& place) {
  const std::string node = place.node ? absl::StrCat("node ", place.node->ToString(), " of ") : "";
  return DenyRecord(*write.tracker, "instance", write.after.id.ToString(),
                    absl::StrCat("it would get ", name, " of ", node, "host ", place.host));
}

// RECORD_CONFLICT if another record counts at the place with one of the names.
absl::Status CheckFree(const State& state, const OwnersWrite& write, const OwnedPlace& place,
                       const OwnedNames& names) {
  if (names.empty()) return absl::OkStatus();
  const Records& records = state.records();
  std::set<InstanceId> others;
  for (const InstancePtr& one : records.InstancesOf(place.host)) others.insert(one->id);
  for (const MigrationPtr& move : records.MovesOf(place.host)) others.insert(move->instance);
  others.erase(write.after.id);
  for (const InstanceId id : others) {
    const InstancePtr other = records.FindInstance(id);
    if (IsRemovable(*other)) continue;  // it has nothing anywhere, so its details need not be read
    const OwnedNames taken =
        CountedAt({*other, records.MigrationsOf(id), write.read_held(*other)}, place);
    const auto at = std::find_if(taken.begin(), taken.end(),
                                 [&](const std::string& name) { return names.contains(name); });
    if (at == taken.end()) continue;
    const std::string instance = write.after.id.ToString();
    return Refuse(absl::StatusCode::kAborted, "RECORD_CONFLICT",
                  absl::StrCat("instance ", instance, " cannot get ", *at, ", which instance ",
                               id.ToString(), " has"),
                  {{{"instance", instance}}});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOwners(const State& state, const OwnersWrite& write) {
  if (!write.tracker || write.read_held == nullptr) return absl::OkStatus();
  std::vector<MigrationPtr> migrations = state.records().MigrationsOf(write.before->id);
  if (LeavesAll(write, migrations)) return absl::OkStatus();
  const Belongings before{*write.before, std::move(migrations), write.read_held(*write.before)};
  const Belongings after{write.after, MigrationsAfter(state, write.after.id, write.migration),
                         write.read_held(write.after)};
  const std::set<OwnedPlace> places = PlacesOf(after);
  for (const OwnedPlace& place : places) {
    if (IsOfTracker(write, place)) continue;
    const OwnedNames given = Minus(NamedAt(after, place), NamedWithin(before, place));
    if (!given.empty()) return DenyGift(write, *given.begin(), place);
  }
  for (const OwnedPlace& place : places) {
    BERTH_RETURN_IF_ERROR(
        CheckFree(state, write, place, Minus(CountedAt(after, place), CountedAt(before, place))));
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
