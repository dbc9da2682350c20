// Facts of an ordinary node for tests that vary one thing at a time.
#ifndef BERTH_TESTS_TRACKER_NODE_NODE_FIXTURE_H_
#define BERTH_TESTS_TRACKER_NODE_NODE_FIXTURE_H_

#include <string>

#include "tests/processes/short_uuid.h"
#include "tracker/facts/facts.h"

namespace berth::tracker {

// 48 CPUs, 392944 MiB, 2637 GiB, no guests: the host of C-1.
inline Facts OrdinaryFacts() {
  Facts facts;
  facts.vcpus = 48;
  facts.memory_mib = 392944;
  facts.local_disk_gib = 2637;
  facts.vcpus_used = 0;
  facts.memory_used_mib = 4096;
  facts.local_disk_used_gib = 0;  // more than the node accounts for would be a finding (T-356)
  facts.disk_available_least_gib = 2600;
  facts.cpu_info = "{}";
  facts.numa_topology = std::optional<NumaTopology>();
  facts.hypervisor_type = "QEMU";
  facts.hypervisor_hostname = "node-1";
  facts.virt_type = "kvm";
  facts.host_arch = "x86_64";
  return facts;
}

inline Guest RunningGuest(const std::string& uuid, int64_t vcpus, int64_t memory_mib,
                          int64_t disk_gib) {
  Guest guest;
  guest.uuid = ShortUuid(uuid);
  guest.name = "guest-" + uuid;
  guest.state = GuestState::kRunning;
  guest.vcpus = vcpus;
  guest.memory_max_mib = memory_mib;
  guest.memory_kib = memory_mib * 1024;
  guest.local_disk_bytes = disk_gib << 30;
  return guest;
}

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_NODE_NODE_FIXTURE_H_
