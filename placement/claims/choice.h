// Compares a Choice (commands/command.h) with a state that is newer than the state in which it was
// found: does the choice still fit, and how good is it now? Pure.
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
// the shapes of its trees have not changed, no root of the trees is a retired node, and the free
// capacity suffices. If the query excludes stale roots, the choice's root must not be stale.
bool Stands(const State& now, const Choice& choice, const CandidateRequest& query,
            const SearchScope& scope);

// The rank of `choice` by `order` in the state `now`. A greater rank is better. REQUIRES:
// Stands(now, choice, ...).
int64_t WorthOf(const State& now, const Choice& choice, const PlannedOrder& order);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_CHOICE_H_
