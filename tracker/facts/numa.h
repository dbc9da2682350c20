// The NUMA topology that a node offers to guests.
//
// Pure functions of values.
#ifndef BERTH_TRACKER_FACTS_NUMA_H_
#define BERTH_TRACKER_FACTS_NUMA_H_

#include <cstdint>
#include <optional>
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

// One cell. Usage is zero here: accounting keeps it (T-267).
struct NumaCell {
  int id = 0;
  CpuSet cpus;            // shared with other guests
  CpuSet dedicated_cpus;  // owned by one guest
  int64_t memory_mib = 0;
  std::vector<CpuSet> siblings;  // by smallest CPU, so that pinning has an order
  std::vector<NumaPages> pages;  // by size
  std::optional<int> socket;     // absent when its CPUs disagree
};

struct NumaTopology {
  std::vector<NumaCell> cells;
  std::vector<std::string> warnings;
};

// Whether guests of this kind on this architecture see a topology (T-265).
bool OffersNuma(absl::string_view virt_type, absl::string_view arch);

// Nothing when the host has no cells or does not offer them (T-99, T-265).
//
// InvalidArgument when reserved pages name a cell or page size that the host has not (T-266).
absl::StatusOr<std::optional<NumaTopology>> DescribeNuma(const Capabilities& capabilities,
                                                         const GuestCpus& guest_cpus,
                                                         const NodeConfiguration& configuration,
                                                         absl::string_view virt_type);

// JSON text with sorted keys, `null` for no topology (T-268).
std::string NumaJson(const std::optional<NumaTopology>& topology);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_NUMA_H_
