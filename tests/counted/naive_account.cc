#include "tests/counted/naive_account.h"

namespace berth::tracker {
namespace {

const std::set<std::string> kNothingHeld = {"confirmed", "reverted",  "failed",
                                            "completed", "cancelled", "done"};
const std::set<std::string> kResizeOrRebuild = {"resize_prep",     "resize_migrating",
                                                "resize_migrated", "resize_finish",
                                                "rebuilding",      "rebuild_block_device_mapping",
                                                "rebuild_spawning"};
const std::set<std::string> kMuchIo = {"rebuilding",     "resize_prep",  "resize_migrating",
                                       "image_snapshot", "image_backup", "rescuing",
                                       "unshelving"};

bool Counted(const HostAndNode& self, const Instance& instance) {
  if (instance.deleted || instance.vm_state == "deleted") return false;
  if (instance.vm_state == "shelved_offloaded" && instance.task_state != "spawning") return false;
  return instance.on.host == self.host && instance.on.node_uuid == self.node_uuid;
}

bool Moving(const Instance& instance) {
  const std::string& vm = instance.vm_state;
  if (vm == "resized") return true;
  if ((vm == "active" || vm == "stopped") && kResizeOrRebuild.count(instance.task_state) > 0) {
    return true;
  }
  return (vm == "active" || vm == "paused") && instance.task_state == "migrating";
}

bool Touches(const HostAndNode& self, const Migration& migration) {
  if (kNothingHeld.count(migration.status) > 0) return false;
  return migration.source == self || migration.destination == self;
}

// The host CPUs that the cell takes.
std::set<int> CpusOf(const GuestCell& cell, const NumaCell& host) {
  std::set<int> wanted;
  for (const auto& [vcpu, cpu] : cell.pinning) wanted.insert(cpu);
  for (int cpu : cell.reserved_cpus.Cpus()) wanted.insert(cpu);
  if (cell.cpu_thread_policy != CpuThreadPolicy::kIsolate) return wanted;
  std::set<int> cores;
  for (const CpuSet& core : host.siblings) {
    for (int cpu : wanted) {
      if (!core.Contains(cpu)) continue;
      for (int thread : core.Cpus()) cores.insert(thread);
    }
  }
  return cores;
}

// Adds one guest to the cells, or nothing of it if a CPU is not there or taken.
void AddCells(const NodeResources& resources, const GuestTopology& guest, NaiveAccount* account) {
  if (!resources.topology.has_value()) return;
  std::map<int, NaiveCell> cells = account->cells;
  for (const GuestCell& cell : guest.cells) {
    for (const NumaCell& host : resources.topology->cells) {
      if (!cell.host_cell.has_value() || *cell.host_cell != host.id) continue;
      NaiveCell& used = cells[host.id];
      used.shared_cpus += cell.shared_cpus.Count();
      used.memory_mib += cell.memory_mib;
      int64_t page = cell.page_size_kib > 0 ? cell.page_size_kib : 0;
      if (page == 0 && !host.pages.empty()) page = host.pages.front().size_kib;
      if (page > 0) used.pages[page] += cell.memory_mib * 1024 / page;
      for (int cpu : CpusOf(cell, host)) {
        if (host.dedicated_cpus.Contains(cpu) && used.pinned_cpus.insert(cpu).second) continue;
        ++account->conflicts;
        return;
      }
    }
  }
  account->cells = cells;
}

void AddGuest(const NodeResources& resources, const Uuid& uuid, const Flavor& flavor,
              bool boot_from_volume, const Assigned& assigned, NaiveAccount* account) {
  account->vcpus_used += flavor.vcpus;
  account->memory_mib_used += flavor.memory_mib;
  if (!boot_from_volume) account->disk_mib_used += flavor.root_disk_gib * 1024;
  account->disk_mib_used += flavor.ephemeral_disk_gib * 1024 + flavor.swap_mib;
  if (assigned.topology.has_value()) AddCells(resources, *assigned.topology, account);
  for (const std::string& device : assigned.devices) {
    if (!account->device_owners.emplace(device, uuid).second) ++account->conflicts;
  }
  for (const NamedUnit& unit : assigned.units) {
    if (!account->unit_owners.emplace(unit, uuid).second) ++account->conflicts;
  }
}

void AddCounters(const Instance& instance, NaiveAccount* account) {
  auto& counters = account->counters;
  const std::string task = instance.task_state.empty() ? "None" : instance.task_state;
  ++counters["num_instances"];
  ++counters["num_vm_" + instance.vm_state];
  ++counters["num_task_" + task];
  ++counters["num_proj_" + instance.project_id];
  if (task != "None") ++account->current_workload;
  if (instance.vm_state == "building") ++counters["io_workload"];
  if (kMuchIo.count(task) > 0) ++counters["io_workload"];
}

// The CPUs, devices and units of an instance, each as a text.
std::set<std::string> OwnThings(const Assigned& assigned) {
  std::set<std::string> things(assigned.devices.begin(), assigned.devices.end());
  for (const NamedUnit& unit : assigned.units) {
    things.insert(unit.provider_uuid.ToString() + " " + unit.resource_class + " " + unit.name);
  }
  if (!assigned.topology.has_value()) return things;
  for (const GuestCell& cell : assigned.topology->cells) {
    if (!cell.host_cell) continue;
    std::vector<int> cpus = cell.reserved_cpus.Cpus();
    for (const auto& [vcpu, cpu] : cell.pinning) cpus.push_back(cpu);
    for (int cpu : cpus) {
      things.insert("cell " + std::to_string(*cell.host_cell) + " CPU " + std::to_string(cpu));
    }
  }
  return things;
}

// Whether an instance that moves on one node still is what it was before the move. A move to
// another flavor changes the flavor, any other move the things of the instance.
bool IsAsBefore(const Instance& instance, const Migration& migration) {
  if (instance.flavor.id != migration.old_flavor_id) return false;
  const bool to_another_flavor = migration.type == MigrationType::kResize &&
                                 migration.new_flavor_id != migration.old_flavor_id;
  if (to_another_flavor || !instance.context) return true;
  const std::set<std::string> before = OwnThings(instance.context->old_assigned);
  const std::set<std::string> after = OwnThings(instance.context->new_assigned);
  const std::set<std::string> things = OwnThings(instance.assigned);
  for (const std::string& thing : things) {
    if (after.count(thing) != 0 && before.count(thing) == 0) return false;
  }
  return things == before || things != after;
}

// Whether the values after the move count for an instance that its migration has just brought here
// (T-50). The context of another migration says nothing about this node.
bool HasArrived(const HostAndNode& self, const Instance& instance,
                const std::vector<Migration>& migrations) {
  if (!instance.context.has_value()) return false;
  for (const Migration& migration : migrations) {
    if (migration.instance_uuid != instance.uuid || !Touches(self, migration)) continue;
    if (instance.context->migration_uuid != migration.uuid) continue;
    if (!(migration.destination == self)) continue;
    if (migration.source == self && IsAsBefore(instance, migration)) continue;
    return true;
  }
  return false;
}

const Migration* Newest(const HostAndNode& self, const Uuid& uuid,
                        const std::vector<Migration>& migrations) {
  const Migration* newest = nullptr;
  for (const Migration& migration : migrations) {
    if (migration.instance_uuid != uuid || !Touches(self, migration)) continue;
    if (newest == nullptr) {
      newest = &migration;
      continue;
    }
    const absl::Time one = migration.updated_at ? *migration.updated_at : migration.created_at;
    const absl::Time best = newest->updated_at ? *newest->updated_at : newest->created_at;
    if (one > best) newest = &migration;
  }
  return newest;
}

void AddMigration(const HostAndNode& self, const NodeResources& resources, const Instance& instance,
                  const Migration& migration, NaiveAccount* account) {
  if (instance.context && !IsNil(instance.context->migration_uuid) &&
      instance.context->migration_uuid != migration.uuid) {
    if (migration.status != "error") account->stale_migrations.insert(migration.uuid);
    return;
  }
  const bool in = migration.destination == self;
  const bool out = migration.source == self;
  bool after = in;
  if (in && out) {
    after = IsAsBefore(instance, migration);
  } else if (Counted(self, instance)) {
    return;
  }
  Flavor flavor = instance.flavor;
  if (migration.type == MigrationType::kResize) {
    if (!instance.context) return;
    const std::optional<Flavor>& kept =
        after ? instance.context->new_flavor : instance.context->old_flavor;
    if (!kept) return;
    flavor = *kept;
  }
  Assigned assigned;
  if (instance.context) {
    assigned = after ? instance.context->new_assigned : instance.context->old_assigned;
  }
  AddGuest(resources, instance.uuid, flavor, instance.boot_from_volume, assigned, account);
  account->tracked_migrations[instance.uuid] = migration.uuid;
}

NaiveAccount Empty(const NodeResources& resources) {
  NaiveAccount account;
  account.vcpus_used = resources.reserve.vcpus;
  account.memory_mib_used = resources.reserve.memory_mib;
  account.disk_mib_used = resources.reserve.disk_mib;
  if (!resources.topology.has_value()) return account;
  for (const NumaCell& cell : resources.topology->cells) {
    NaiveCell& empty = account.cells[cell.id];
    for (const NumaPages& pages : cell.pages) empty.pages[pages.size_kib] = 0;
  }
  return account;
}

}  // namespace

NaiveAccount CountNaively(const HostAndNode& self, const NodeResources& resources,
                          const std::map<Uuid, Instance>& instances,
                          const std::vector<Migration>& migrations) {
  NaiveAccount account = Empty(resources);
  for (const auto& [uuid, instance] : instances) {
    if (Counted(self, instance)) {
      const Assigned& assigned = HasArrived(self, instance, migrations)
                                     ? instance.context->new_assigned
                                     : instance.assigned;
      AddGuest(resources, uuid, instance.flavor, instance.boot_from_volume, assigned, &account);
      AddCounters(instance, &account);
      account.tracked_instances.insert(uuid);
    }
    if (!Moving(instance)) continue;
    const Migration* newest = Newest(self, uuid, migrations);
    if (newest != nullptr) AddMigration(self, resources, instance, *newest, &account);
  }
  return account;
}

}  // namespace berth::tracker
