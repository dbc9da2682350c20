// The operator's settings for a host and its nodes. Checks the settings as far as this is possible
// without a hypervisor.
//
// services/ reads flags, the environment and the settings file into these structs. Plain values.
#ifndef BERTH_TRACKER_SETTINGS_CONFIGURATION_H_
#define BERTH_TRACKER_SETTINGS_CONFIGURATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tracker/settings/cpu_set.h"
#include "tracker/settings/mediated_types.h"
#include "tracker/settings/pmem_namespaces.h"
#include "tracker/settings/provider_entry.h"

namespace berth::tracker {

// What to do about the capacity that an orphan uses. An orphan is a guest for which placement has
// no consumer.
enum class OrphanPolicy {
  kReport,    // it is reported as a finding and counted as used
  kWithhold,  // as kReport; also, placement reserves the capacity
};

enum class CpuMode { kUnset, kNone, kHostModel, kHostPassthrough, kCustom };

enum class DiskBackend { kFile, kLvm, kRbd };

// Which of these decides about the allocation ratio of a class: the ratio that is set, the ratio
// that placement has (somebody may have changed it there), or the initial ratio (T-354).
enum class RatioMode {
  kApiWithInitial,  // the set ratio; if none is set, placement's; if it has none, the initial one
  kConfig,          // the set ratio; if none is set, the initial one
  kApi,             // placement's; if it has none, the set ratio; if none is set, the initial one
};

// Huge pages that the host keeps for itself: `count` pages of `size_kib` on NUMA cell `cell`.
struct ReservedPages {
  int cell = 0;
  int64_t size_kib = 0;
  int64_t count = 0;
};

// The settings of one node. An allocation ratio of 0 means that the ratio is not set.
struct NodeConfiguration {
  std::string name;  // empty: the host name that libvirt tells
  std::string uri;

  std::optional<CpuSet> cpu_shared_set;
  std::optional<CpuSet> cpu_dedicated_set;
  std::optional<CpuSet> vcpu_pin_set;
  bool cpu_power_management = false;
  int64_t reserved_host_cpus = 0;
  int64_t reserved_host_memory_mib = 512;
  int64_t reserved_host_disk_mib = 0;
  std::vector<ReservedPages> reserved_huge_pages;
  // The NUMA cells to which each physical network is attached, and those of the tunnelled networks.
  std::map<std::string, CpuSet> physical_network_cells;
  std::optional<CpuSet> tunnel_cells;
  bool reserve_hugepages_in_memory_mib = false;  // no guest uses huge pages (T-355)
  RatioMode ratio_mode = RatioMode::kApiWithInitial;
  std::optional<double> cpu_allocation_ratio;
  std::optional<double> ram_allocation_ratio;
  std::optional<double> disk_allocation_ratio;
  double initial_cpu_allocation_ratio = 4.0;
  double initial_ram_allocation_ratio = 1.0;
  double initial_disk_allocation_ratio = 1.0;

  std::vector<std::string> pci_device_specs;  // JSON; see DeviceSpecs::Parse
  std::vector<std::string> pci_aliases;       // JSON; see ParseDeviceAliases
  bool pci_report_in_placement = false;       // placement counts these devices (T-258)
  bool pack_numa_cells = false;

  std::string virt_type;  // kvm, qemu, ...; empty: kvm if libvirt offers it, else its first offer
  CpuMode cpu_mode = CpuMode::kUnset;
  std::vector<std::string> cpu_models;
  std::vector<std::string> cpu_model_extra_flags;
  int64_t file_backed_memory_mib = 0;

  std::vector<MediatedType> mediated_types;
  // How many guests may have encrypted memory at the same time, by its kind. Absent: as many as the
  // hypervisor allows; with SEV-SNP none.
  std::optional<int64_t> sev_guests_max;
  std::optional<int64_t> sev_es_guests_max;
  std::optional<int64_t> sev_snp_guests_max;
  PmemNamespaces pmem_namespaces;

  DiskBackend disk_backend = DiskBackend::kFile;
  std::string instances_path;  // empty: <state>/instances
  std::string volume_group;
  std::string rbd_pool = "rbd";
  bool rbd_report_usable = true;  // the total of a Ceph pool is what it has and can take (T-357)
  std::string image_cache_path;   // its size is reserved (T-88, T-356); empty: nothing is
  bool force_raw_images = true;
  bool shared_disk_provider = false;
  std::vector<std::string> image_type_exclude_list;

  OrphanPolicy orphans = OrphanPolicy::kWithhold;
  // What is measured in every pass besides the resources: names like cpu.virt_driver (T-102).
  std::vector<std::string> monitors;
  std::vector<ProviderEntry> provider_entries;  // of the host's provider configuration files
};

struct Configuration {
  std::string host;        // empty: the host name of the operating system
  std::string my_address;  // empty: the address of the interface with the default route
  std::string state_path = "/var/lib/berth/tracker";
  // These directories are searched for the node's identity file before the state directory.
  std::vector<std::string> configuration_directories;
  std::vector<NodeConfiguration> nodes;

  int update_resources_interval_seconds = 0;  // 0 means 60; negative: no periodic passes
  int periodic_fuzzy_delay_seconds = 60;
  absl::Duration driver_timeout = absl::Seconds(60);
  absl::Duration startup_driver_timeout = absl::Seconds(300);
  absl::Duration orphan_confirmation = absl::Seconds(5);
};

// Contradictions in the settings that need not be refused, because a rule resolves them. They are
// logged at the start.
struct ConfigurationWarnings {
  std::vector<std::string> texts;
};

// Fails with InvalidArgument if settings contradict each other. The message names the node and the
// setting. Checks, in this order:
//   there is a node, and no two nodes have the same name or URI (T-5);
//   every node has a URI; cpu_dedicated_set and cpu_shared_set do not overlap; reserved_host_cpus
//   is not combined with either of them, nor vcpu_pin_set with cpu_dedicated_set (T-73);
//   no reserve and no ratio is negative;
//   file-backed memory has virt type kvm or qemu, a memory ratio of exactly 1, and a reserve below
//   the size of the file-backed memory (T-79); the LVM backend has a volume group;
//   each monitor exists and is named once (T-102).
// `warnings` may be null.
absl::Status Validate(const Configuration& configuration, ConfigurationWarnings* warnings);

// Copies from `read` into `running` the settings that may change while a node runs, for example CPU
// sets, reserves, ratios and the policy for orphans (T-63). Other settings in `running` keep their
// values until the tracker is restarted; returns the names of those that differ from `read`.
//
// REQUIRES: `read` and `running` are settings of the same node.
std::vector<std::string> TakeReloadable(const NodeConfiguration& read, NodeConfiguration* running);

// Returns the interval between passes, or nothing if periodic passes are turned off (T-44).
std::optional<absl::Duration> PassInterval(const Configuration& configuration);

// The only monitor today.
inline constexpr char kCpuMonitor[] = "cpu.virt_driver";

// Returns the full name of a monitor: a name without a dot is one of the namespace cpu (T-102).
std::string MonitorName(const std::string& name);

// Reads names of physical networks with their NUMA cells: `NAME:CELLS`, several of them separated by
// blanks, as in `public:0 storage:0-1`. InvalidArgument if `text` has another form.
absl::StatusOr<std::map<std::string, CpuSet>> ParseNetworkCells(absl::string_view text);

// Reads `node:N,size:S,count:C`. S is in KiB, or has a suffix as in 2MB or 1GB. InvalidArgument if
// `text` has another form.
absl::StatusOr<ReservedPages> ParseReservedPages(absl::string_view text);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_CONFIGURATION_H_
