// Writes the description of the host's CPU as JSON text, which goes into the node record (T-90).
//
// A pure function.
#ifndef BERTH_TRACKER_FACTS_CPU_INFO_H_
#define BERTH_TRACKER_FACTS_CPU_INFO_H_

#include <string>

#include "tracker/facts/capabilities.h"

namespace berth::tracker {

// Keys and features are sorted, so that equal CPUs give equal texts. An absent value is written as
// null, but an unknown maxphysaddr is left out. `cells` is the number of NUMA cells. For a host
// without a NUMA topology the capabilities have 0 cells, and 1 is written.
std::string CpuInfoJson(const CpuDescription& cpu, int cells);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_CPU_INFO_H_
