// Describes the NUMA topology that a node offers to guests.
//
// Pure functions.
#ifndef BERTH_TRACKER_FACTS_NUMA_H_
#define BERTH_TRACKER_FACTS_NUMA_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/facts/capabilities.h"
#include "tracker/settings/configuration.h"
#include "tracker/settings/cpu_policy.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

struct NumaPages {
  int64_t size_kib = 0;
  int64_t total = 0;
  int64_t used = 0;
  int64_t reserved = 0;
};

// The networks that are near a NUMA cell, or the networks that a guest asks for (T-274).
struct CellNetworks {
  std::set<std::string> physnets;
  bool tunneled = false;
};

// One NUMA cell. `used` of its pages is always 0, because this describes the host and not its usage
// (T-267).
struct NumaCell {
  int id = 0;
  CpuSet cpus;            // guests share them
  CpuSet dedicated_cpus;  // each belongs to one guest at most
  int64_t memory_mib = 0;
  std::vector<CpuSet> siblings;  // the usable threads of each core, sorted by their smallest CPU
  std::vector<NumaPages> pages;  // sorted by page size
  std::optional<int> socket;     // absent if unknown, or if its CPUs are on several sockets
  CellNetworks networks;         // those that the settings attach to the cell
};

struct NumaTopology {
  std::vector<NumaCell> cells;
  std::vector<std::string> warnings;
};

// Whether guests of this virtualization type and architecture can have a NUMA topology (T-265).
bool OffersNuma(absl::string_view virt_type, absl::string_view arch);

// Returns the topology that guests can have. Returns nothing if the host has no NUMA cells, or if
// its guests cannot have a topology (T-99, T-265).
//
// InvalidArgument if the setting reserved_huge_pages names a cell or a page size that the host does
// not have, or if a network is attached to a cell that the host does not have (T-266).
absl::StatusOr<std::optional<NumaTopology>> DescribeNuma(const Capabilities& capabilities,
                                                         const GuestCpus& guest_cpus,
                                                         const NodeConfiguration& configuration,
                                                         absl::string_view virt_type);

// Returns how much memory is in huge pages: in pages that are larger than the smallest of their
// cell.
int64_t HugePagesMib(const NumaTopology& topology);

// Returns JSON text with sorted keys, or `null` if there is no topology (T-268).
std::string NumaJson(const std::optional<NumaTopology>& topology);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_NUMA_H_
