// The records of instances and migrations, as far as the account of a node needs them. Placement
// keeps them. The messages Instance and Migration in proto/berth/placement/v1/instance.proto
// describe each value.
//
// Plain values.
#ifndef BERTH_TRACKER_ACCOUNT_RECORDS_H_
#define BERTH_TRACKER_ACCOUNT_RECORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tracker/cells/topology.h"
#include "tracker/devices/request.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// A node, and the host whose tracker manages the node. If there is no node, the host is empty
// and the uuid is nil.
struct HostAndNode {
  std::string host;
  Uuid node_uuid;
  friend bool operator==(const HostAndNode&, const HostAndNode&) = default;
};

struct Flavor {
  std::string id;
  int64_t vcpus = 0;
  int64_t memory_mib = 0;
  int64_t root_disk_gib = 0;
  int64_t ephemeral_disk_gib = 0;
  int64_t swap_mib = 0;
  std::map<std::string, std::string> extra_specs;

  int64_t local_disk_gib() const { return root_disk_gib + ephemeral_disk_gib; }  // without swap
  friend bool operator==(const Flavor&, const Flavor&) = default;
};

// The amounts of a flavor, with the names of their fields in message Flavor.
inline constexpr std::pair<const char*, int64_t Flavor::*> kFlavorAmounts[] = {
    {"vcpus", &Flavor::vcpus},
    {"memory_mib", &Flavor::memory_mib},
    {"root_disk_gib", &Flavor::root_disk_gib},
    {"ephemeral_disk_gib", &Flavor::ephemeral_disk_gib},
    {"swap_mib", &Flavor::swap_mib}};

// One unit of a resource class whose units have names, for example a namespace of persistent memory
// (T-149).
struct NamedUnit {
  Uuid provider_uuid;
  std::string resource_class;
  std::string name;
  friend auto operator<=>(const NamedUnit&, const NamedUnit&) = default;
};

// What an instance takes beside the amounts of its flavor. Each part has one owner at a time.
struct Assigned {
  std::optional<GuestTopology> topology;  // absent: the guest has no NUMA topology
  std::vector<std::string> devices;       // addresses of PCI devices
  std::vector<NamedUnit> units;
  // The ids of the requests for which the guest has the devices, by address. A request may have no
  // id.
  std::map<std::string, std::string> request_ids = {};
  friend bool operator==(const Assigned&, const Assigned&) = default;
};

// What a migration changes of an instance: the values before it (old) and after it (new).
struct MigrationContext {
  // Nil: only the flavors have been set, and no migration has claimed anything yet.
  Uuid migration_uuid;
  std::optional<Flavor> old_flavor;
  std::optional<Flavor> new_flavor;
  Assigned old_assigned;
  Assigned new_assigned;
  std::vector<DeviceRequest> old_device_requests;
  std::vector<DeviceRequest> new_device_requests;
};

struct Instance {
  // Nil if the record has none that could be read; then `unreadable` says so.
  Uuid uuid;
  int64_t generation = 0;  // of the record; it changes with every write; compared for equality only
  HostAndNode on;          // no node: no tracker has claimed it
  // The generation on which the claim was based that put the instance on its node. 0: none did.
  int64_t claimed_generation = 0;
  // The host that was the last to claim it in order to build it. Stays when it moves, and when the
  // claim is aborted.
  std::string launched_on;
  std::string project_id;
  std::string vm_state;
  std::string task_state;         // empty: no task
  Flavor flavor;                  // the flavor as it was when the instance got it
  bool boot_from_volume = false;  // then its root disk takes nothing of the node
  Assigned assigned;              // before it is claimed, its topology is not placed
  std::vector<DeviceRequest> device_requests;
  std::map<std::string, std::string> image;  // the properties of its image
  std::optional<MigrationContext> context;
  bool deleted = false;
  absl::Time updated_at = absl::InfinitePast();  // when the record was last changed
  bool hidden = false;  // a copy; the original is in the ledger of another cell
  // Which part of the record could not be read. That part is left out. Empty: all was read (T-61).
  std::string unreadable;
  // True: a newer release has put fields into the cells, the units or the migration context of the
  // record that this release does not know. They are left out; everything else counts (T-268).
  bool has_unknown_fields = false;

  // What the record has that is not here. Empty: nothing. A write of the record would lose it.
  std::string missing() const {
    if (!unreadable.empty() || !has_unknown_fields) return unreadable;
    return "it has fields of a newer release";
  }
};

enum class MigrationType { kCold, kResize, kLive, kEvacuation };

struct Migration {
  // Nil, as is `instance_uuid`, if the record has none that could be read; then `unreadable` says so.
  Uuid uuid;
  int64_t generation = 0;  // like Instance::generation
  Uuid instance_uuid;
  MigrationType type = MigrationType::kCold;
  std::string status;  // a word of migration_status.h
  HostAndNode source;
  HostAndNode destination;
  std::string old_flavor_id;
  std::string new_flavor_id;
  absl::Time created_at;
  std::optional<absl::Time> updated_at;  // absent: never changed
  std::string unreadable;                // like Instance::unreadable
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_RECORDS_H_
