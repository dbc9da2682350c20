// Relaxations: changes to a request that fits under no root. Each of them alone makes the request
// fit under some root. Pure.
#ifndef BERTH_PLACEMENT_EXPLAIN_RELAXATION_H_
#define BERTH_PLACEMENT_EXPLAIN_RELAXATION_H_

#include <vector>

#include "placement/explain/funnel.h"

namespace berth::placement {

// Tries one change of `request` at a time: leaves one constraint out or, if the constraint asks for
// an amount, asks for less. Returns the changes after which the request fits; the change with the
// most fitting roots comes first. Ends early if `budget` is spent. REQUIRES: `request` fits under
// no root, and `funnel` was made for `request`.
std::vector<Relaxation> FindRelaxations(const State& state, const CandidateRequest& request,
                                        const Sharing& sharing, Funnel& funnel, StepBudget& budget);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_EXPLAIN_RELAXATION_H_
