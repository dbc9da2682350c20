#include "tracker/claims/repair.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tracker/account/migration_status.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

// The repair of an instance that names no node.
std::optional<Repair> PutOnNode(const NodeAccount& account, const Instance& instance,
                                const std::set<Uuid>& guests) {
  const bool nowhere = instance.on.host == account.self().host && IsNil(instance.on.node_uuid);
  if (!nowhere || instance.deleted || !guests.contains(instance.uuid)) return std::nullopt;
  Repair repair{instance, std::nullopt, false,
                absl::StrCat("instance ", instance.uuid.ToString(),
                             " names no node; its guest is on this one, so it gets this node")};
  repair.instance.on = account.self();
  return repair;
}

Repair FailStale(const Instance& instance, const Migration& migration) {
  Repair repair{instance, migration, false,
                absl::StrCat("migration ", migration.uuid.ToString(), " is ", migration.status,
                             ", but instance ", instance.uuid.ToString(),
                             " has the context of another one, so it gets the status error")};
  repair.migration->status = "error";
  return repair;
}

// The end of an evacuation whose guest has gone from its source.
std::optional<Repair> EndEvacuation(const NodeAccount& account, const Instance& instance,
                                    const Migration& migration, const std::set<Uuid>& guests) {
  if (migration.type != MigrationType::kEvacuation || migration.status != "done" ||
      migration.source != account.self() || instance.deleted ||
      instance.on.host != migration.destination.host || guests.contains(instance.uuid)) {
    return std::nullopt;
  }
  Repair repair{
      instance, migration, true,
      absl::StrCat("evacuation ", migration.uuid.ToString(), " of instance ",
                   instance.uuid.ToString(), " has left no guest, so it ends as completed")};
  repair.migration->status = "completed";
  return repair;
}

constexpr const char* kStartTasks[] = {"scheduling", "block_device_mapping", "networking",
                                       "spawning"};
constexpr const char* kRebuildTasks[] = {"rebuilding", "rebuild_block_device_mapping",
                                         "rebuild_spawning"};
constexpr const char* kRebootTasks[] = {"rebooting",           "reboot_pending",
                                        "reboot_started",      "rebooting_hard",
                                        "reboot_pending_hard", "reboot_started_hard"};

bool IsOneOf(const std::string& task, absl::Span<const char* const> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return task == word; });
}

bool IsEvacuated(const NodeAccount& account, const Instance& instance) {
  const auto& all = account.migrations();
  return std::any_of(all.begin(), all.end(), [&](const auto& item) {
    const Migration& migration = item.second;
    return migration.instance_uuid == instance.uuid &&
           migration.type == MigrationType::kEvacuation &&
           StatusOf(migration.status).progress != Progress::kOver;
  });
}

// Whether nothing was being done with the instance, or something that somebody else looks after.
bool IsLeftAlone(const Instance& instance) {
  const bool failed = instance.vm_state == "error" && instance.task_state != "resize_migrating" &&
                      instance.task_state != "deleting";
  return failed || instance.vm_state == "soft-delete" || instance.vm_state == "deleted" ||
         instance.deleted;
}

// The record without the task that nobody works on any more. `runs`: its guest runs.
Instance WithoutTask(Instance instance, bool runs) {
  const std::string task = instance.task_state;
  const bool settled = instance.vm_state == "active" || instance.vm_state == "stopped";
  if (instance.vm_state == "building" || IsOneOf(task, kStartTasks) ||
      (settled && IsOneOf(task, kRebuildTasks))) {
    instance.vm_state = "error";
    instance.task_state.clear();
  } else if (absl::StartsWith(task, "image_") || task == "resize_prep") {
    instance.task_state.clear();
  } else if (runs && (task == "pausing" || task == "unpausing" || IsOneOf(task, kRebootTasks))) {
    instance.vm_state = "active";
    instance.task_state.clear();
  }
  return instance;
}

// What people have to do with the instance. Empty: nothing.
std::string Advice(const Instance& instance, bool runs) {
  const std::string& task = instance.task_state;
  if (task == "deleting") return "delete it again";
  if (IsOneOf(task, kRebootTasks)) return "reboot it again";
  if (task == "powering-off") return "stop it again";
  if (task == "powering-on") return "start it again";
  if (task == "resize_migrating") return "revert its move";
  return instance.vm_state == "active" && task.empty() && !runs ? "start its guest" : "";
}

std::string StateOf(const Instance& instance) {
  const std::string& task = instance.task_state;
  return absl::StrCat(instance.vm_state, task.empty() ? " without a task" : " with the task ",
                      task);
}

// Nothing if the instance needs neither a change nor people.
std::optional<Interruption> Examine(const Instance& before, bool runs) {
  Interruption found{WithoutTask(before, runs), false, ""};
  found.changes = StateOf(found.instance) != StateOf(before);
  std::string advice = Advice(found.instance, runs);
  if (found.changes && !before.missing().empty()) {
    found.instance = before;
    found.changes = false;
    advice = "set its state, because its record cannot be read completely";
  }
  if (!found.changes && advice.empty()) return std::nullopt;
  found.text = absl::StrCat("when its host stopped, instance ", before.uuid.ToString(), " was ",
                            StateOf(before));
  if (found.changes) absl::StrAppend(&found.text, "; it becomes ", StateOf(found.instance));
  if (!advice.empty()) absl::StrAppend(&found.text, "; ", advice);
  return found;
}

}  // namespace

std::vector<Repair> FindRepairs(const NodeAccount& account, const std::set<Uuid>& guests) {
  std::vector<Repair> repairs;
  std::set<Uuid> repaired;
  const auto add = [&](std::optional<Repair> repair) {
    if (!repair || !repair->instance.missing().empty()) return;
    if (repair->migration && !repair->migration->unreadable.empty()) return;
    if (repaired.insert(repair->instance.uuid).second) repairs.push_back(*std::move(repair));
  };
  for (const auto& [uuid, instance] : account.instances()) {
    add(PutOnNode(account, instance, guests));
  }
  for (const Uuid& uuid : account.stale_migrations()) {
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

std::vector<Interruption> FindInterrupted(const NodeAccount& account,
                                          const std::vector<Guest>& guests, absl::Time booted_at) {
  std::set<Uuid> running;
  for (const Guest& guest : guests) {
    const bool runs = guest.state == GuestState::kRunning || guest.state == GuestState::kBlocked;
    if (runs) running.insert(guest.uuid);
  }
  std::vector<Interruption> interruptions;
  for (const auto& [uuid, instance] : account.instances()) {
    const bool old = instance.updated_at > absl::InfinitePast() && instance.updated_at < booted_at;
    if (!old || instance.on != account.self() || IsLeftAlone(instance)) continue;
    std::optional<Interruption> found = Examine(instance, running.contains(uuid));
    if (found && !IsEvacuated(account, instance)) interruptions.push_back(*std::move(found));
  }
  return interruptions;
}

}  // namespace berth::tracker
