// What an operator decides about a host and its nodes, as values, and the checks that need no host.
//
// Reading flags, the environment and the file happens in services/. Values; thread-safe as such.
#ifndef BERTH_TRACKER_SETTINGS_CONFIGURATION_H_
#define BERTH_TRACKER_SETTINGS_CONFIGURATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

// What happens to the capacity under a guest that no consumer claims.
enum class OrphanPolicy {
  kReport,    // finding and accounting only
  kWithhold,  // also taken from what placement may give away
};

enum class CpuMode { kUnset, kNone, kHostModel, kHostPassthrough, kCustom };

enum class DiskBackend { kFile, kLvm, kRbd };

// Huge pages that guests may not have: `count` pages of `size_kib` on NUMA cell `cell`.
struct ReservedPages {
  int cell = 0;
  int64_t size_kib = 0;
  int64_t count = 0;
};

// One hypervisor that this host tracks. A ratio of zero counts as unset.
struct NodeConfiguration {
  std::string name;  // empty: what libvirt calls the host
  std::string uri;

  std::optional<CpuSet> cpu_shared_set;
  std::optional<CpuSet> cpu_dedicated_set;
  std::optional<CpuSet> vcpu_pin_set;
  bool cpu_power_management = false;
  int64_t reserved_host_cpus = 0;
  int64_t reserved_host_memory_mib = 512;
  int64_t reserved_host_disk_mib = 0;
  std::vector<ReservedPages> reserved_huge_pages;
  std::optional<double> cpu_allocation_ratio;
  std::optional<double> ram_allocation_ratio;
  std::optional<double> disk_allocation_ratio;
  double initial_cpu_allocation_ratio = 4.0;
  double initial_ram_allocation_ratio = 1.0;
  double initial_disk_allocation_ratio = 1.0;

  std::string virt_type;  // kvm, qemu, ...; empty: kvm where libvirt offers it, else what it offers
  CpuMode cpu_mode = CpuMode::kUnset;
  std::vector<std::string> cpu_models;
  std::vector<std::string> cpu_model_extra_flags;
  int64_t file_backed_memory_mib = 0;

  DiskBackend disk_backend = DiskBackend::kFile;
  std::string instances_path;  // empty: <state>/instances
  std::string volume_group;
  std::string rbd_pool = "rbd";
  bool force_raw_images = true;
  bool shared_disk_provider = false;
  std::vector<std::string> image_type_exclude_list;

  OrphanPolicy orphans = OrphanPolicy::kWithhold;
};

struct Configuration {
  std::string host;        // empty: the operating system's name
  std::string my_address;  // empty: the address of the interface with the default route
  std::string state_path = "/var/lib/berth/tracker";
  std::vector<std::string> configuration_directories;  // where identity files are looked for first
  std::vector<NodeConfiguration> nodes;

  int update_resources_interval_seconds = 0;  // 0: 60; negative: no periodic passes
  int periodic_fuzzy_delay_seconds = 60;
  absl::Duration driver_timeout = absl::Seconds(60);
  absl::Duration startup_driver_timeout = absl::Seconds(300);
  absl::Duration orphan_confirmation = absl::Seconds(5);
};

// What is not fatal but should be told at start.
struct ConfigurationWarnings {
  std::vector<std::string> texts;
};

// Refuses what contradicts itself, naming node and option: InvalidArgument for, in this order,
//   no node, or two nodes of one name or URI (T-5);
//   dedicated and shared CPUs that overlap; reserved CPUs together with either; a pin set together
//   with dedicated CPUs (T-73);
//   negative reserves or ratios;
//   file-backed memory with another virt type than kvm or qemu, a memory ratio other than exactly
//   1, or a reserve that is not smaller (T-79); an LVM backend without its volume group.
absl::Status Validate(const Configuration& configuration, ConfigurationWarnings* warnings);

// Takes from `read` into `running` what may change while a node runs (T-63): CPU sets, reserves, ratios,
// the policy for orphans, what is said of disks and images. Returns the names, as they are typed, of the
// other settings that differ; they wait for a restart.
//
// REQUIRES: both are of one node.
std::vector<std::string> TakeReloadable(const NodeConfiguration& read, NodeConfiguration* running);

// The interval between passes, or nothing when periodic passes are off (T-44).
std::optional<absl::Duration> PassInterval(const Configuration& configuration);

// Reads `node:N,size:S,count:C`; S in KiB or with a suffix such as 2MB or 1GB. InvalidArgument
// else.
absl::StatusOr<ReservedPages> ParseReservedPages(absl::string_view text);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_CONFIGURATION_H_
