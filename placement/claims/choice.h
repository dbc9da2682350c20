// Compares a choice with a state that is newer than the state in which the choice was found: does
// the choice still fit, and how good is it now? Pure.
#ifndef BERTH_PLACEMENT_CLAIMS_CHOICE_H_
#define BERTH_PLACEMENT_CLAIMS_CHOICE_H_

#include <cstdint>

#include "placement/commands/command.h"
#include "placement/search/plan.h"
#include "placement/state/state.h"

namespace berth::placement {

// The choice for `candidate`, which was found in `state`: the candidate with the trees that it
// concerns.
Choice ChoiceOf(const State& state, Candidate candidate);

// Whether `choice`, which was found for `query`, still serves `query` within `scope`. It does if
// the shapes of its trees have not changed, the services of the trees' nodes take claims, and the
// free capacity suffices.
bool Stands(const State& now, const Choice& choice, const CandidateRequest& query,
            const SearchScope& scope);

// The rank of `choice` by `order` in the state `now`. A greater rank is better. REQUIRES:
// Stands(now, choice, ...).
int64_t WorthOf(const State& now, const Choice& choice, const PlannedOrder& order);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_CHOICE_H_
