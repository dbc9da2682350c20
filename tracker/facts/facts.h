// What one observation of a node found: plain values, read once, never changed afterwards.
//
// No ratio, no reserve and no claim is in here: those are the audit's business.
#ifndef BERTH_TRACKER_FACTS_FACTS_H_
#define BERTH_TRACKER_FACTS_FACTS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tracker/facts/capabilities.h"
#include "tracker/facts/domain_capabilities.h"
#include "tracker/facts/node_devices.h"
#include "tracker/facts/numa.h"

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

// One guest as the hypervisor tells it.
struct Guest {
  std::string uuid;
  std::string name;
  GuestState state = GuestState::kNone;
  std::optional<int64_t> vcpus;  // absent when the hypervisor would not say
  int64_t vcpus_max = 0;         // by its definition; 0 when that was not read
  int64_t memory_max_mib = 0;
  int64_t memory_mib = 0;           // what it has now
  int64_t local_disk_bytes = 0;     // size of its local disks by its definition
  int64_t overcommitted_bytes = 0;  // of those, promised but not yet written

  bool active() const { return state != GuestState::kNone && state != GuestState::kShutOff; }
};

struct Facts {
  // The audit's keys (T-67). An absent one was not read; T-68 says which must be.
  std::vector<SupportedInstance> supported_instances;
  std::optional<int64_t> vcpus;
  std::optional<int64_t> memory_mib;
  std::optional<int64_t> local_disk_gib;
  std::optional<int64_t> vcpus_used;
  // The inner value is absent where the connection shows a world that is not this machine (T-80).
  std::optional<std::optional<int64_t>> memory_used_mib;
  std::optional<int64_t> local_disk_used_gib;
  std::string hypervisor_type;
  int64_t hypervisor_version = 0;
  std::string hypervisor_hostname;
  std::string uuid;
  std::optional<std::string> cpu_info;              // JSON text
  std::optional<int64_t> disk_available_least_gib;  // negative: promised more than there is
  std::vector<PciDevice> pci_devices;
  std::optional<std::optional<NumaTopology>> numa_topology;  // the inner one: JSON null
  std::string uptime;

  // Beyond the keys: what inventory, traits and accounting are made from.
  std::string host_address;
  int64_t pcpus = 0;
  std::string virt_type;
  std::string host_arch;
  int64_t library_version = 0;
  bool hyperthreading = false;
  std::optional<std::set<std::string>> cpu_features;  // absent: not reported (T-215)
  EmulatorOffer emulators;
  std::vector<Guest> guests;

  // Nothing failed as a whole, but something was skipped; each says what (T-61, T-85).
  std::vector<std::string> warnings;
  bool degraded = false;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_FACTS_H_
