// Counted: what counts on a node, as one of the two layers sees it, in texts that both can compare.
//
// Plain values, without headers of placement/ and tracker/, whose BERTH_CHECK differ.
#ifndef BERTH_TESTS_COUNTED_COUNTED_H_
#define BERTH_TESTS_COUNTED_COUNTED_H_

#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/placement/v1/record.pb.h"

namespace berth::counted {

namespace pb = ::berth::placement::v1;

// A node, and the host whose tracker manages it.
struct Place {
  std::string host;
  std::string node;  // its uuid
  friend bool operator==(const Place&, const Place&) = default;
};

struct Counted {
  std::set<std::string> instances;                // the uuids of those that count by themselves
  std::map<std::string, std::string> migrations;  // by the instance's uuid: the one that counts
  std::set<std::string> cpus;                     // the names of those that nobody else may get
  // Of each device and unit, by name: the uuid of the instance that has it. If two have it, the
  // lower one.
  std::map<std::string, std::string> owners;

  bool IsFree(const std::string& name) const {
    return !cpus.contains(name) && !owners.contains(name);
  }
  friend bool operator==(const Counted&, const Counted&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Counted& counted) {
    out << "instances:";
    for (const std::string& uuid : counted.instances) out << " " << uuid;
    out << "\nmigrations:";
    for (const auto& [instance, uuid] : counted.migrations) {
      out << " " << uuid << " of " << instance;
    }
    out << "\nowned:";
    for (const std::string& cpu : counted.cpus) out << " " << cpu << ",";
    for (const auto& [name, uuid] : counted.owners) out << " " << name << " by " << uuid << ",";
    return out;
  }
};

// How much an instance takes of a node. Disk is rounded up.
struct Sizes {
  int64_t vcpus = 0;
  int64_t memory_mib = 0;
  int64_t disk_gib = 0;
  friend bool operator==(const Sizes&, const Sizes&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Sizes& sizes) {
    return out << sizes.vcpus << " CPUs, " << sizes.memory_mib << " MiB of memory, "
               << sizes.disk_gib << " GiB of disk";
  }
};

// The things that each node can give to one instance alone, by numbers: first the CPUs of its one
// cell, then PCI devices, then units.
inline constexpr int kCpus = 8, kDevices = 3, kUnits = 3;
inline constexpr int kThings = kCpus + kDevices + kUnits;
inline constexpr char kUnitClass[] = "CUSTOM_A";
inline constexpr char kUnitProvider[] = "77777777-7777-4777-8777-777777777777";

inline std::string AddressOf(int thing) { return absl::StrCat("0000:81:0", thing - kCpus, ".0"); }
inline std::string UnitOf(int thing) { return absl::StrCat("unit-", thing - kCpus - kDevices); }

// The name of the thing, as placement's records have it.
inline std::string NameOf(int thing) {
  if (thing < kCpus) return absl::StrCat("c0/", thing);
  if (thing < kCpus + kDevices) return "d" + AddressOf(thing);
  return absl::StrCat("u", kUnitProvider, "/", kUnitClass, "/", UnitOf(thing));
}
// The same, as refusals of placement have it.
inline std::string WordsOf(int thing) {
  if (thing < kCpus) return absl::StrCat("CPU ", thing, " of cell 0");
  if (thing < kCpus + kDevices) return "PCI device " + AddressOf(thing);
  return absl::StrCat("unit ", UnitOf(thing), " of ", kUnitClass, " of provider ", kUnitProvider);
}

// Replaces three lists of a record by what says that the instance has these things.
template <typename Cells, typename Devices, typename Units>
void SetThings(const std::set<int>& things, Cells* cells, Devices* devices, Units* units) {
  cells->Clear();
  devices->Clear();
  units->Clear();
  for (const int thing : things) {
    if (thing < kCpus) {
      if (cells->empty()) {
        cells->Add()->set_host_cell(0);
        cells->Mutable(0)->set_cpu_policy("dedicated");
        cells->Mutable(0)->set_memory_mib(1);
      }
      pb::GuestCell* const cell = cells->Mutable(0);
      const int vcpu = cell->pinned_cpus_size();
      cell->add_pinned_cpus(vcpu);
      (*cell->mutable_pinning())[vcpu] = thing;
    } else if (thing < kCpus + kDevices) {
      devices->Add()->set_address(AddressOf(thing));
    } else {
      pb::NamedUnit* const unit = units->Add();
      unit->set_provider_uuid(kUnitProvider);
      unit->set_resource_class(kUnitClass);
      unit->set_name(UnitOf(thing));
    }
  }
}
inline void SetOwn(const std::set<int>& things, pb::Instance* instance) {
  SetThings(things, instance->mutable_numa_cells(), instance->mutable_pci_devices(),
            instance->mutable_named_units());
}
inline void SetBefore(const std::set<int>& things, pb::MigrationContext* context) {
  SetThings(things, context->mutable_old_numa_cells(), context->mutable_old_pci_devices(),
            context->mutable_old_named_units());
}
inline void SetAfter(const std::set<int>& things, pb::MigrationContext* context) {
  SetThings(things, context->mutable_new_numa_cells(), context->mutable_new_pci_devices(),
            context->mutable_new_named_units());
}

// Gives the instance by its record what the context has for the destination, or for the source.
inline void ApplyContext(bool after, pb::Instance* instance) {
  const pb::MigrationContext& context = instance->migration_context();
  *instance->mutable_numa_cells() = after ? context.new_numa_cells() : context.old_numa_cells();
  *instance->mutable_pci_devices() = after ? context.new_pci_devices() : context.old_pci_devices();
  *instance->mutable_named_units() = after ? context.new_named_units() : context.old_named_units();
}

inline void PutOn(const Place& place, pb::Instance* instance) {
  instance->set_host(place.host);
  instance->set_node_uuid(place.node);
}

// Makes the record of the instance that of a move that has ended on its destination, if `goes`, or
// on its source.
inline void SetEnded(bool goes, const pb::Migration& migration, pb::Instance* instance) {
  instance->set_host(goes ? migration.destination_host() : migration.source_host());
  instance->set_node_uuid(goes ? migration.destination_node_uuid() : migration.source_node_uuid());
  if (instance->has_migration_context()) ApplyContext(goes, instance);
  instance->clear_migration_context();
  instance->set_vm_state("active");
  instance->clear_task_state();
}

}  // namespace berth::counted

#endif  // BERTH_TESTS_COUNTED_COUNTED_H_
