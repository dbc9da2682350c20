// Relaxations: single changes to a request that fits nowhere, after which it fits somewhere. Pure.
#ifndef BERTH_PLACEMENT_EXPLAIN_RELAXATION_H_
#define BERTH_PLACEMENT_EXPLAIN_RELAXATION_H_

#include <vector>

#include "placement/explain/funnel.h"

namespace berth::placement {

// Tries to change one constraint of `request` at a time: leaves it out or, if it asks for an
// amount, asks for less. Returns the changes after which the request fits, those that fit under
// most roots first. Ends early if `budget` is spent. REQUIRES: `request` fits nowhere, and `funnel`
// was made for it.
std::vector<Relaxation> FindRelaxations(const State& state, const CandidateRequest& request,
                                        const Sharing& sharing, Funnel& funnel, StepBudget& budget);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_EXPLAIN_RELAXATION_H_
