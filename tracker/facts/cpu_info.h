// Writes the description of the host's CPU as JSON text, which goes into the node record (T-90).
//
// A pure function.
#ifndef BERTH_TRACKER_FACTS_CPU_INFO_H_
#define BERTH_TRACKER_FACTS_CPU_INFO_H_

#include <string>

#include "tracker/facts/capabilities.h"

namespace berth::tracker {

// Keys and features are sorted, so that equal CPUs give equal texts. An absent value is written as
// null; an unknown maxphysaddr is left out. `cells` is the number of NUMA cells; 0, which the
// capabilities tell of a host without a topology, is written as 1.
std::string CpuInfoJson(const CpuDescription& cpu, int cells);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_CPU_INFO_H_
