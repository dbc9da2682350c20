// TrackerLimits: what the reports of one tracker may not change, by the operator's access file.
//
// Plain values that threads may share.
#ifndef BERTH_PLACEMENT_VALUES_TRACKER_LIMITS_H_
#define BERTH_PLACEMENT_VALUES_TRACKER_LIMITS_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "placement/values/types.h"

namespace berth::placement {

// What only operators give to providers and take from them. The catalog need not have the names.
struct WithheldNames {
  std::set<std::string, std::less<>> traits;
  std::set<std::string, std::less<>> resource_classes;
};

// By name of a resource class: 1..kAmountMax.
using Ceilings = std::map<std::string, Amount, std::less<>>;

struct TrackerLimits {
  std::shared_ptr<const WithheldNames> withheld;  // null: nothing is withheld
  // The most that all providers of all nodes of the tracker's host may have together, as `total`. A
  // class that is not here has no ceiling.
  Ceilings ceilings;
};
using TrackerLimitsPtr = std::shared_ptr<const TrackerLimits>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_TRACKER_LIMITS_H_
