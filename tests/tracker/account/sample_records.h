// Records of instances and migrations for tests: the node `here`, and one `there`.
#ifndef BERTH_TESTS_TRACKER_ACCOUNT_SAMPLE_RECORDS_H_
#define BERTH_TESTS_TRACKER_ACCOUNT_SAMPLE_RECORDS_H_

#include <string>
#include <utility>

#include "tests/processes/short_uuid.h"
#include "tracker/account/account.h"

namespace berth::tracker {

inline const HostAndNode kHere = {"h1", "node-1"_uuid};
inline const HostAndNode kThere = {"h2", "node-2"_uuid};

inline Flavor MakeFlavor(std::string id, int64_t vcpus, int64_t memory_mib, int64_t root_disk_gib) {
  Flavor flavor;
  flavor.id = std::move(id);
  flavor.vcpus = vcpus;
  flavor.memory_mib = memory_mib;
  flavor.root_disk_gib = root_disk_gib;
  return flavor;
}

// An active instance with the uuid ShortUuid(name), without a task, of the project `p`.
inline Instance MakeInstance(absl::string_view name, HostAndNode on, Flavor flavor) {
  Instance instance;
  instance.uuid = ShortUuid(name);
  instance.on = std::move(on);
  instance.project_id = "p";
  instance.vm_state = "active";
  instance.flavor = std::move(flavor);
  return instance;
}

// A migration `m` of the instance, created at second 0 and never changed.
inline Migration MakeMigration(const Instance& instance, MigrationType type, std::string status,
                               HostAndNode source, HostAndNode destination) {
  Migration migration;
  migration.uuid = "m"_uuid;
  migration.instance_uuid = instance.uuid;
  migration.type = type;
  migration.status = std::move(status);
  migration.source = std::move(source);
  migration.destination = std::move(destination);
  migration.old_flavor_id = instance.flavor.id;
  migration.new_flavor_id = instance.flavor.id;
  migration.created_at = absl::UnixEpoch();
  return migration;
}

// A host with one cell of CPUs 0 to 7, all of them dedicated, in cores of two threads.
inline NumaTopology MakeTopology() {
  NumaCell cell;
  cell.id = 0;
  cell.cpus = CpuSet::Range(0, 7);
  cell.dedicated_cpus = CpuSet::Range(0, 7);
  cell.memory_mib = 4096;
  cell.siblings = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  cell.pages = {{4, 1048576, 0, 0}};
  return {{cell}, {}};
}

// A guest of one cell with 512 MiB whose virtual CPUs are pinned to these host CPUs, in order.
inline GuestTopology MakePinned(const std::vector<int>& cpus) {
  GuestCell cell;
  cell.host_cell = 0;
  cell.memory_mib = 512;
  cell.cpu_policy = CpuPolicy::kDedicated;
  for (int i = 0; i < static_cast<int>(cpus.size()); ++i) {
    cell.pinned_cpus.Insert(i);
    cell.pinning[i] = cpus[i];
  }
  return {std::nullopt, {cell}};
}

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_ACCOUNT_SAMPLE_RECORDS_H_
