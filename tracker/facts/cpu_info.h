// The host CPU as the JSON text that the node record carries (T-90).
#ifndef BERTH_TRACKER_FACTS_CPU_INFO_H_
#define BERTH_TRACKER_FACTS_CPU_INFO_H_

#include <string>

#include "tracker/facts/capabilities.h"

namespace berth::tracker {

// Stable: keys and features are sorted, absent values are null, maxphysaddr stands only if known.
// `cells` counts as 1 when the capabilities have no topology.
std::string CpuInfoJson(const CpuDescription& cpu, int cells);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_CPU_INFO_H_
