// Headroom: how many more times a request fits, over one State. Pure.
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
  int64_t count = 0;  // at least 1
};

struct Headroom {
  int64_t total_count = 0;          // what sharing providers give counts once
  int64_t root_count = 0;           // roots that it fits under
  std::vector<RootHeadroom> roots;  // those with the most headroom first, then by id
  bool truncated = false;           // the budget ended it: there may be more
};

// Counts as if one consumer after the other claimed the first candidate there is, until there is
// none: under each root alone, and under all roots by rising id. At most `roots_max` roots are
// listed. Fails like FindCandidates; DEADLINE_EXCEEDED where the budget ended before any was
// counted.
absl::StatusOr<Headroom> CountHeadroom(const State& state, const CandidateRequest& request,
                                       int roots_max, const SearchBudget& budget);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_EXPLAIN_HEADROOM_H_
