// Relaxations: the single changes to a request after which it fits somewhere. Pure.
#ifndef BERTH_PLACEMENT_EXPLAIN_RELAXATION_H_
#define BERTH_PLACEMENT_EXPLAIN_RELAXATION_H_

#include <vector>

#include "placement/explain/funnel.h"

namespace berth::placement {

// Every constraint of `request`, which fits nowhere, tried alone: left out, or asking for less where
// it asks for an amount. Most roots first. `funnel` is that of the request; ends early where
// `budget` is spent.
std::vector<Relaxation> FindRelaxations(const State& state, const CandidateRequest& request,
                                        const Sharing& sharing, Funnel& funnel, StepBudget& budget);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_EXPLAIN_RELAXATION_H_
