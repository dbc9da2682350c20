#include "placement/rules/owners.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/rules/fence.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

using OwnedNames = std::set<std::string>;

// A node of a host; without a node, all nodes of the host.
struct OwnedPlace {
  std::string host;
  std::optional<ProviderId> node;
  friend auto operator<=>(const OwnedPlace&, const OwnedPlace&) = default;
};

// An instance with all its migrations.
struct Belongings {
  const InstanceRecord& instance;
  std::vector<MigrationPtr> migrations;
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

// The nil uuid stands for a node that nobody names: what is given there is given on all nodes.
OwnedNames HeldAt(HeldReader read, const Belongings& of, const OwnedPlace& place) {
  return read(of.instance, of.migrations, place.host, place.node.value_or(ProviderId{}));
}

// What is given at the place, or at any node of its host if the place is the whole host.
OwnedNames HeldWithin(HeldReader read, const Belongings& of, const OwnedPlace& place) {
  if (place.node) return HeldAt(read, of, place);
  OwnedNames names;
  for (const OwnedPlace& own : PlacesOf(of)) {
    if (own.host == place.host) names.merge(HeldAt(read, of, own));
  }
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

bool HasSides(const MigrationRecord& migration, const MigrationRecord& sides) {
  return migration.source_host == sides.source_host && migration.source_node == sides.source_node &&
         migration.destination_host == sides.destination_host &&
         migration.destination_node == sides.destination_node;
}

// Whether the write leaves all from which it is read what the instance has. Then nothing is read.
bool LeavesAll(const OwnersWrite& write, const std::vector<MigrationPtr>& migrations) {
  const InstanceRecord& before = *write.before;
  if (write.after.host != before.host || write.after.node != before.node ||
      write.after.details != before.details) {
    return false;
  }
  return write.migration == nullptr ||
         std::any_of(migrations.begin(), migrations.end(), [&](const MigrationPtr& migration) {
           return migration->id == write.migration->id && HasSides(*migration, *write.migration);
         });
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

// RECORD_CONFLICT if another record gives one of the names at the place to its instance.
absl::Status CheckFree(const State& state, const OwnersWrite& write, const OwnedPlace& place,
                       const OwnedNames& names) {
  const Records& records = state.records();
  std::set<InstanceId> others;
  for (const InstancePtr& one : records.InstancesOf(place.host)) others.insert(one->id);
  for (const MigrationPtr& move : records.MovesOf(place.host)) others.insert(move->instance);
  others.erase(write.after.id);
  for (const InstanceId id : others) {
    const InstancePtr other = records.FindInstance(id);
    const OwnedNames taken = HeldWithin(write.read_held, {*other, records.MigrationsOf(id)}, place);
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
  const Belongings before{*write.before, state.records().MigrationsOf(write.before->id)};
  if (LeavesAll(write, before.migrations)) return absl::OkStatus();
  const Belongings after{write.after, MigrationsAfter(state, write.after.id, write.migration)};
  for (const OwnedPlace& place : PlacesOf(after)) {
    OwnedNames gained = HeldAt(write.read_held, after, place);
    if (gained.empty()) continue;
    for (const std::string& name : HeldWithin(write.read_held, before, place)) gained.erase(name);
    if (gained.empty()) continue;
    if (!IsOfTracker(write, place)) return DenyGift(write, *gained.begin(), place);
    BERTH_RETURN_IF_ERROR(CheckFree(state, write, place, gained));
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
