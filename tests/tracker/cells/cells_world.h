// Hosts and guests for tests of NUMA cells.
//
// Pure functions.
#ifndef BERTH_TESTS_TRACKER_CELLS_CELLS_WORLD_H_
#define BERTH_TESTS_TRACKER_CELLS_CELLS_WORLD_H_

#include <string>
#include <utility>
#include <vector>

#include "tracker/cells/topology.h"

namespace berth::tracker {

// A host cell of `cores` cores with `threads` CPUs each, numbered from `first_cpu`: all CPUs are both
// shared and dedicated. It has `memory_mib` and small pages for all of it.
inline HostCell CellOfCores(int id, int first_cpu, int cores, int threads,
                            int64_t memory_mib = 1024) {
  HostCell cell;
  cell.offer.id = id;
  for (int core = 0; core < cores; ++core) {
    const int first = first_cpu + core * threads;
    cell.offer.siblings.push_back(CpuSet::Range(first, first + threads - 1));
  }
  cell.offer.cpus = CpuSet::Range(first_cpu, first_cpu + cores * threads - 1);
  cell.offer.dedicated_cpus = cell.offer.cpus;
  cell.offer.memory_mib = memory_mib;
  cell.offer.pages = {{4, memory_mib * 256, 0, 0}};
  return cell;
}

inline HostCell WithPinned(HostCell cell, CpuSet pinned) {
  cell.usage.pinned_cpus = std::move(pinned);
  return cell;
}

// A guest cell of pinned vCPUs from 0.
inline GuestCell PinnedCell(int vcpus, std::optional<CpuThreadPolicy> policy = std::nullopt,
                            int64_t memory_mib = 64) {
  GuestCell cell;
  if (vcpus > 0) cell.pinned_cpus = CpuSet::Range(0, vcpus - 1);
  cell.memory_mib = memory_mib;
  cell.cpu_policy = CpuPolicy::kDedicated;
  cell.cpu_thread_policy = policy;
  return cell;
}

// A guest cell of vCPUs from 0 that share host CPUs.
inline GuestCell SharedCell(int vcpus, int64_t memory_mib = 64,
                            int64_t page_size_kib = kNoPageSize) {
  GuestCell cell;
  cell.shared_cpus = CpuSet::Range(0, vcpus - 1);
  cell.memory_mib = memory_mib;
  cell.page_size_kib = page_size_kib;
  return cell;
}

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_CELLS_CELLS_WORLD_H_
