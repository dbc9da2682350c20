#include "placement/rules/owners.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "placement/commands/node_share.h"
#include "placement/rules/fence.h"
#include "placement/values/migration_status.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

using OwnedNames = PartNameSet;

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

// What the records name at the place, in whatever state instance and migrations are.
OwnedNames NamedAt(const Belongings& of, const OwnedPlace& place) {
  const auto is_here = [&](const std::string& host, const std::optional<ProviderId>& node) {
    return host == place.host && (!node || node == place.node);
  };
  const HeldParts& held = HeldOf(of.instance);
  OwnedNames names;
  if (is_here(of.instance.host, of.instance.node)) names = held.own.ToSet();
  if (held.context == nullptr) return names;
  const HeldParts::Context& context = *held.context;
  for (const MigrationPtr& migration : of.migrations) {
    if (context.migration && context.migration != migration->id) continue;
    if (is_here(migration->source_host, migration->source_node)) {
      names.merge(context.before.ToSet());
    }
    if (is_here(migration->destination_host, migration->destination_node)) {
      names.merge(context.after.ToSet());
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
  return HeldNames(ShareOn(place.host, *place.node, of.instance, of.migrations), of.instance);
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

bool IsOfTracker(const OwnersWrite& write, const OwnedPlace& place) {
  return place.host == write.tracker->host &&
         (!place.node || !write.node || place.node == write.node);
}

// The name of a part as people write it.
std::string WordsOf(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name.substr(1), absl::MaxSplits('/', 2));
  if (name.starts_with('c') && parts.size() == 2) {
    return absl::StrCat("CPU ", parts[1], " of cell ", parts[0]);
  }
  if (name.starts_with('d')) return absl::StrCat("PCI device ", name.substr(1));
  if (name.starts_with('u') && parts.size() == 3) {
    return absl::StrCat("unit ", parts[2], " of ", parts[1], " of provider ", parts[0]);
  }
  return name;
}

absl::Status DenyGift(const OwnersWrite& write, const std::string& name, const OwnedPlace& place) {
  const std::string node = place.node ? absl::StrCat("node ", place.node->ToString(), " of ") : "";
  return DenyRecord(
      *write.tracker, "instance", write.after.id.ToString(),
      absl::StrCat("it would get ", WordsOf(name), " of ", node, "host ", place.host));
}

// RECORD_CONFLICT if another record counts at the place with one of the names.
absl::Status CheckFree(const State& state, const OwnersWrite& write, const OwnedPlace& place,
                       const OwnedNames& names) {
  const Records& records = state.records();
  std::set<InstanceId> others;
  for (const std::string& name : names) {
    records.ForEachOwner(place.host, name, [&](InstanceId id) { others.insert(id); });
  }
  others.erase(write.after.id);
  for (const InstanceId id : others) {
    const InstancePtr other = records.FindInstance(id);
    const OwnedNames taken = CountedAt({*other, records.MigrationsOf(id)}, place);
    const auto at = std::find_if(taken.begin(), taken.end(),
                                 [&](const std::string& name) { return names.contains(name); });
    if (at == taken.end()) continue;
    const std::string instance = write.after.id.ToString();
    // A tracker with a certificate is told of no instance of another host.
    const bool is_named = !write.tracker->identified || IsOfTracker(write, place);
    return Refuse(
        absl::StatusCode::kAborted, "RECORD_CONFLICT",
        absl::StrCat("instance ", instance, " cannot get ", WordsOf(*at), ", which ",
                     is_named ? absl::StrCat("instance ", id.ToString()) : "another one", " has"),
        {{{"instance", instance}}});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOwners(const State& state, const OwnersWrite& write) {
  if (!write.tracker) return absl::OkStatus();
  // What counts follows from what the record names.
  if (write.after.held == nullptr) return absl::OkStatus();
  const Belongings before{*write.before, state.records().MigrationsOf(write.before->id)};
  const Belongings after{write.after, MigrationsAfter(state, write.after.id, write.migration)};
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
