// Facts: the result of one observation of a node.
//
// Plain values, which nobody changes after the observation. They describe the physical host. The
// audit adds allocation ratios, reserved amounts and claims.
#ifndef BERTH_TRACKER_FACTS_FACTS_H_
#define BERTH_TRACKER_FACTS_FACTS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tracker/facts/capabilities.h"
#include "tracker/facts/domain_capabilities.h"
#include "tracker/facts/mediated_devices.h"
#include "tracker/facts/monitors.h"
#include "tracker/facts/node_devices.h"
#include "tracker/facts/numa.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

enum class GuestState {
  kNone,
  kRunning,
  kBlocked,
  kPaused,
  kShuttingDown,
  kShutOff,
  kCrashed,
  kSuspended,
};

// One guest as the hypervisor describes it.
struct Guest {
  Uuid uuid;
  std::string name;
  GuestState state = GuestState::kNone;
  // From the guest's definition as it was read last. Absent or 0: it could not be read.
  std::optional<int64_t> vcpus;
  int64_t vcpus_max = 0;
  int64_t memory_max_mib = 0;
  int64_t memory_kib = 0;  // with the balloon's effect
  // The sum of the sizes of its local disks. While the guest is stopped, the disks whose size only
  // the hypervisor knows are left out.
  int64_t local_disk_bytes = 0;
  int64_t overcommitted_bytes = 0;   // the part of local_disk_bytes that is not written yet
  std::vector<std::string> devices;  // the PCI addresses of the host's devices that it has

  bool active() const { return state != GuestState::kNone && state != GuestState::kShutOff; }
};

struct Facts {
  // The values that an audit checks (T-67). An absent value was not read. If a required value is
  // absent, VerifyFacts refuses the facts (T-68).
  std::vector<SupportedInstance> supported_instances;
  std::optional<int64_t> vcpus;
  std::optional<int64_t> memory_mib;
  std::optional<int64_t> local_disk_gib;
  std::optional<int64_t> vcpus_used;
  // The memory in use. The inner value is absent if the hypervisor does not run on this machine,
  // for example with libvirt's test driver (T-80).
  std::optional<std::optional<int64_t>> memory_used_mib;
  std::optional<int64_t> local_disk_used_gib;
  std::string hypervisor_type;
  int64_t hypervisor_version = 0;
  std::string hypervisor_hostname;
  Uuid uuid;
  std::optional<std::string> cpu_info;  // JSON text
  // Free disk minus the amount by which sparse images may still grow. Negative if they may grow by
  // more than the free disk.
  std::optional<int64_t> disk_available_least_gib;
  std::vector<PciDevice> pci_devices;
  // The tags of those PCI devices that the settings let guests have, by address (T-233). A device
  // may have none.
  std::map<std::string, std::map<std::string, std::string>> device_tags;
  bool devices_known = true;  // false: the devices could not be listed, and pci_devices is empty
  std::optional<std::optional<NumaTopology>> numa_topology;  // inner value absent: no topology
  std::string uptime;

  // Inventory, traits and accounting are computed from these values as well.
  std::string host_address;
  int64_t pcpus = 0;
  std::string virt_type;
  std::string host_arch;
  int64_t library_version = 0;
  bool hyperthreading = false;
  std::optional<std::set<std::string>> cpu_features;  // absent: traits of the CPU stay (T-215)
  EmulatorOffer emulators;
  std::vector<Guest> guests;
  std::vector<MediatedParent> mediated_parents;
  // The namespaces of persistent memory that exist. Absent: this is not known, or no namespace is
  // configured.
  std::optional<std::set<std::string>> pmem_namespaces;

  int64_t image_cache_bytes = 0;
  std::string storage_id;       // see SharedStorageId; empty: only this host can have the storage
  std::vector<Metric> metrics;  // what the configured monitors measured; never causes a report

  // Which parts of the observation were skipped or are out of date (T-61, T-85).
  std::vector<std::string> warnings;
  // True if a part could not be read that can normally be read. An image that does not exist, or
  // that the tracker may not read, does not count; it only causes a warning.
  bool degraded = false;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_FACTS_H_
