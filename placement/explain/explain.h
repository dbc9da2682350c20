// Explain: why a request finds what it finds, over one State. Pure.
#ifndef BERTH_PLACEMENT_EXPLAIN_EXPLAIN_H_
#define BERTH_PLACEMENT_EXPLAIN_EXPLAIN_H_

#include "absl/status/statusor.h"
#include "placement/explain/explanation.h"
#include "placement/search/budget.h"
#include "placement/state/state.h"
#include "placement/values/candidate.h"

namespace berth::placement {

// Every root is looked at, whatever the request's limit and whether equivalent candidates are
// collapsed. `near_misses_max`: how many of those that do not fit to tell about. Fails like
// PlanSearch; the budget's steps bound the work and cut the answer short.
absl::StatusOr<Explanation> Explain(const State& state, const CandidateRequest& request,
                                    int near_misses_max, const SearchBudget& budget);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_EXPLAIN_EXPLAIN_H_
