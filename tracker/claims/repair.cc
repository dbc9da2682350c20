#include "tracker/claims/repair.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/account/migration_status.h"

namespace berth::tracker {
namespace {

// The repair of an instance that names no node.
std::optional<Repair> PutOnNode(const NodeAccount& account, const Instance& instance,
                                const std::set<std::string>& guests) {
  const bool nowhere = instance.on.host == account.self().host && instance.on.node_uuid.empty();
  if (!nowhere || instance.deleted || !guests.contains(instance.uuid)) return std::nullopt;
  Repair repair{instance, std::nullopt, false,
                absl::StrCat("instance ", instance.uuid,
                             " names no node; its guest is on this one, so it gets this node")};
  repair.instance.on = account.self();
  return repair;
}

Repair FailStale(const Instance& instance, const Migration& migration) {
  Repair repair{
      instance, migration, false,
      absl::StrCat("migration ", migration.uuid, " is ", migration.status, ", but instance ",
                   instance.uuid, " has the context of another one, so it gets the status error")};
  repair.migration->status = "error";
  return repair;
}

// The end of an evacuation whose guest has gone from its source.
std::optional<Repair> EndEvacuation(const NodeAccount& account, const Instance& instance,
                                    const Migration& migration,
                                    const std::set<std::string>& guests) {
  if (migration.type != MigrationType::kEvacuation || migration.status != "done" ||
      migration.source != account.self() || instance.deleted ||
      instance.on.host != migration.destination.host || guests.contains(instance.uuid)) {
    return std::nullopt;
  }
  Repair repair{instance, migration, true,
                absl::StrCat("evacuation ", migration.uuid, " of instance ", instance.uuid,
                             " has left no guest, so it ends as completed")};
  repair.migration->status = "completed";
  return repair;
}

}  // namespace

std::vector<Repair> FindRepairs(const NodeAccount& account, const std::set<std::string>& guests) {
  std::vector<Repair> repairs;
  std::set<std::string> repaired;
  const auto add = [&](std::optional<Repair> repair) {
    if (!repair || !repair->instance.unreadable.empty()) return;
    if (repaired.insert(repair->instance.uuid).second) repairs.push_back(*std::move(repair));
  };
  for (const auto& [uuid, instance] : account.instances()) {
    add(PutOnNode(account, instance, guests));
  }
  for (const std::string& uuid : account.stale_migrations()) {
    const Migration& migration = *account.FindMigration(uuid);
    const auto instance = account.instances().find(migration.instance_uuid);
    if (instance != account.instances().end()) add(FailStale(instance->second, migration));
  }
  for (const auto& [uuid, migration] : account.migrations()) {
    const auto instance = account.instances().find(migration.instance_uuid);
    if (instance == account.instances().end()) continue;
    add(EndEvacuation(account, instance->second, migration, guests));
  }
  return repairs;
}

}  // namespace berth::tracker
