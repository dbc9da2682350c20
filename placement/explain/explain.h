// Explain: tells why a request fits under some roots and not under others, over one State. Pure.
#ifndef BERTH_PLACEMENT_EXPLAIN_EXPLAIN_H_
#define BERTH_PLACEMENT_EXPLAIN_EXPLAIN_H_

#include "absl/status/statusor.h"
#include "placement/explain/explanation.h"
#include "placement/search/budget.h"
#include "placement/state/state.h"
#include "placement/values/candidate.h"

namespace berth::placement {

// Examines every root; the request's limit and collapse_equivalent are ignored. `near_misses_max`:
// how many of the roots that do not fit are described, those nearest to fitting first. Fails like
// PlanSearch. If the steps of `budget` run out, the explanation is marked as truncated.
absl::StatusOr<Explanation> Explain(const State& state, const CandidateRequest& request,
                                    int near_misses_max, const SearchBudget& budget);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_EXPLAIN_EXPLAIN_H_
