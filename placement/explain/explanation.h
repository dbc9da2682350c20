// Explanation: why a request fits under some roots and not under others. It says how many roots
// meet each constraint, what is missing under the roots that come nearest, and which single change
// to the request would help. Plain values.
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
  kForbiddenRoots,
};

// One constraint of a request.
struct Constraint {
  ConstraintKind kind = ConstraintKind::kCombination;
  std::string suffix;              // of the group that it belongs to, if any
  std::vector<std::string> names;  // traits, aggregates, classes, suffixes; `!X`: no X on a root
  Amount amount = 0;               // the amount that kInventory or kFree asks for
  friend bool operator==(const Constraint&, const Constraint&) = default;
};

// How many roots met all constraints before this one, and how many of those roots meet this one,
// too.
struct FilterStep {
  Constraint constraint;
  int64_t roots_before = 0;
  int64_t roots_after = 0;
};

// A constraint that a root does not meet, and what the root could give instead.
struct Shortfall {
  Constraint constraint;
  Amount available = 0;  // if an amount is asked for: the most that one provider could give
};

// A root under which the request does not fit, and everything that the root lacks.
struct NearMiss {
  ProviderId root;
  std::string name;
  std::vector<Shortfall> shortfalls;
};

// A change to the request that makes it fit: `constraint` is left out, or asks for less.
struct Relaxation {
  Constraint constraint;
  Amount fitting_amount = 0;  // the largest amount that fits under some root; 0: leave it out
  int64_t root_count = 0;     // how many roots the changed request fits under
};

struct Explanation {
  int64_t root_count = 0;
  int64_t fitting_root_count = 0;
  std::vector<FilterStep> steps;        // in the order in which constraints are tested
  std::vector<NearMiss> near_misses;    // nearest first
  std::vector<Relaxation> relaxations;  // most roots first; empty if the request fits
  bool truncated = false;               // the budget was spent before all roots were examined
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_EXPLAIN_EXPLANATION_H_
