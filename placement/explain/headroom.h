// Headroom: how many more times a request can be claimed, over one State. Pure.
#ifndef BERTH_PLACEMENT_EXPLAIN_HEADROOM_H_
#define BERTH_PLACEMENT_EXPLAIN_HEADROOM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "placement/search/budget.h"
#include "placement/state/state.h"
#include "placement/values/candidate.h"

namespace berth::placement {

struct RootHeadroom {
  ProviderId root;
  int64_t count = 0;  // at least 1: roots without room are not listed
};

struct Headroom {
  int64_t total_count = 0;  // under all roots together, which may use the same sharing providers
  int64_t root_count = 0;   // how many roots the request fits under
  std::vector<RootHeadroom> roots;  // highest count first, then by id
  bool truncated = false;           // the budget was spent: the counts may be too low
};

// Counts how many consumers could claim the request, one after the other, if each took the first
// candidate and nothing else changed. Counts for each root by itself, and for all roots together:
// one after the other, without those that fit only after other claims, as is possible with divided
// amounts.
// At most `roots_max` roots are listed. Fails like FindCandidates, and with DEADLINE_EXCEEDED if
// the budget is spent before anything is counted.
absl::StatusOr<Headroom> CountHeadroom(const State& state, const CandidateRequest& request,
                                       int roots_max, const SearchBudget& budget);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_EXPLAIN_HEADROOM_H_
