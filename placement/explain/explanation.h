// Explanation: why a request finds what it finds: how many roots each constraint leaves over, what
// the nearest lack, and which single change would help. Plain values.
#ifndef BERTH_PLACEMENT_EXPLAIN_EXPLANATION_H_
#define BERTH_PLACEMENT_EXPLAIN_EXPLANATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "placement/values/types.h"

namespace berth::placement {

enum class ConstraintKind {
  kRootTraits,
  kRootAggregates,
  kInTree,
  kStaleness,
  kInventory,
  kFree,
  kRequiredTraits,
  kForbiddenTraits,
  kMemberOf,
  kForbiddenAggregates,
  kIsolate,
  kSameSubtree,
  kSeparateSubtrees,
  kCombination,
};

// One constraint of a request.
struct Constraint {
  ConstraintKind kind = ConstraintKind::kCombination;
  std::string suffix;              // of its group
  std::vector<std::string> names;  // what it asks for; what it forbids of a root begins with `!`
  Amount amount = 0;
  friend bool operator==(const Constraint&, const Constraint&) = default;
};

struct FilterStep {
  Constraint constraint;
  int64_t roots_before = 0;
  int64_t roots_after = 0;
};

struct Shortfall {
  Constraint constraint;
  Amount available = 0;  // the most that one provider could give, where an amount is asked for
};

struct NearMiss {
  ProviderId root;
  std::string name;
  std::vector<Shortfall> shortfalls;
};

// A change to the request after which it fits: the constraint goes, or asks for less.
struct Relaxation {
  Constraint constraint;
  Amount fitting_amount = 0;  // the largest that fits somewhere; 0: the constraint goes
  int64_t root_count = 0;     // how many roots it then fits under
};

struct Explanation {
  int64_t root_count = 0;
  int64_t fitting_root_count = 0;
  std::vector<FilterStep> steps;        // in the order tried
  std::vector<NearMiss> near_misses;    // nearest first
  std::vector<Relaxation> relaxations;  // most roots first; none where the request fits
  bool truncated = false;               // the budget ended it: roots were left out
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_EXPLAIN_EXPLANATION_H_
