// Candidate: a place for a request: what to allocate, and which group is served where. A plain
// value.
#ifndef BERTH_PLACEMENT_CANDIDATE_H_
#define BERTH_PLACEMENT_CANDIDATE_H_

#include <string>
#include <utility>
#include <vector>

#include "placement/types.h"

namespace berth::placement {

struct Candidate {
  ProviderId anchor;
  std::vector<Allocation> allocations;  // summed, rising by (provider, class) (P-202)
  std::vector<std::pair<std::string, std::vector<ProviderId>>>
      mappings;  // suffix -> providers, in group order
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CANDIDATE_H_
