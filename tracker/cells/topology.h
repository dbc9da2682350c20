// Describes the NUMA cells of a host and of a guest: what a host cell offers, what guests use
// of it, what a guest cell asks for, and where the guest cell is placed.
//
// Plain values. A host or a guest without NUMA topology has no cells at all.
#ifndef BERTH_TRACKER_CELLS_TOPOLOGY_H_
#define BERTH_TRACKER_CELLS_TOPOLOGY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tracker/facts/numa.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

// What guests use of one host cell (T-283).
struct CellUsage {
  int64_t shared_cpus = 0;  // the number of virtual CPUs that share host CPUs
  int64_t memory_mib = 0;
  CpuSet pinned_cpus;  // host CPUs that belong to a guest: pinned, reserved, or blocked by isolate
  std::map<int64_t, int64_t> pages_by_size_kib;  // used pages; an absent size has none

  friend bool operator==(const CellUsage&, const CellUsage&) = default;
};

// One NUMA cell of the host: what it offers, and what guests use of it.
struct HostCell {
  NumaCell offer;  // `used` of its pages has no meaning here: see `usage`
  CellUsage usage;
};

// How virtual CPUs use host CPUs (T-271).
enum class CpuPolicy { kShared, kDedicated, kMixed };
// How pinned virtual CPUs use the threads of a core: prefer to share cores with each other, isolate
// from all other CPUs, or require that the threads of a core are used together (T-279, T-280).
enum class CpuThreadPolicy { kPrefer, kIsolate, kRequire };
// The emulator threads of a guest use the guest's CPUs (kShare), or get one more (kIsolate; T-276).
enum class EmulatorThreadsPolicy { kShare, kIsolate };

// Values of GuestCell::page_size_kib that are no size (T-272, T-278).
inline constexpr int64_t kNoPageSize = 0;
inline constexpr int64_t kSmallPages = -1;
inline constexpr int64_t kLargePages = -2;
inline constexpr int64_t kAnyPages = -3;

// One NUMA cell of a guest (T-270). A placed cell has a host cell; if it has pinned virtual CPUs,
// each of them has its host CPU.
struct GuestCell {
  std::optional<int> host_cell;  // the id of the host cell; absent until the guest is placed
  CpuSet shared_cpus;            // virtual CPUs that share host CPUs
  CpuSet pinned_cpus;            // virtual CPUs that have a host CPU of their own
  int64_t memory_mib = 0;
  int64_t page_size_kib = kNoPageSize;               // a size, or one of the four values above
  std::optional<CpuPolicy> cpu_policy;               // absent: like kShared
  std::optional<CpuThreadPolicy> cpu_thread_policy;  // absent: like kPrefer
  std::map<int, int> pinning;                        // pinned virtual CPU -> host CPU
  CpuSet reserved_cpus;                              // host CPUs for the emulator threads

  friend bool operator==(const GuestCell&, const GuestCell&) = default;
};

// The largest number of cells of a guest, as in QEMU. It bounds the memory that one guest costs:
// 65,536 vCPUs that are divided over 65,536 cells would take 270 MB (T-275).
inline constexpr int kGuestCellsMax = 128;

// The NUMA topology of a guest. It has at most kGuestCellsMax cells.
struct GuestTopology {
  std::optional<EmulatorThreadsPolicy> emulator_threads_policy;  // absent: like kShare
  std::vector<GuestCell> cells;

  friend bool operator==(const GuestTopology&, const GuestTopology&) = default;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CELLS_TOPOLOGY_H_
