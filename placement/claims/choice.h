// Choices compared with a newer state than the one in which they were found: whether a choice still
// fits, and how good it is. Pure.
#ifndef BERTH_PLACEMENT_CLAIMS_CHOICE_H_
#define BERTH_PLACEMENT_CLAIMS_CHOICE_H_

#include <cstdint>

#include "placement/commands/command.h"
#include "placement/search/plan.h"
#include "placement/state/state.h"

namespace berth::placement {

// `candidate`, which was found in `state`, with the trees that it concerns.
Choice ChoiceOf(const State& state, Candidate candidate);

// Whether `choice`, which was found for `query`, still serves `query` within `scope`: the shapes of
// its trees have not changed, their services take claims, and their free capacity suffices.
bool Stands(const State& now, const Choice& choice, const CandidateRequest& query,
            const SearchScope& scope);

// The rank of the choice by `order` in the state `now`; more is better. REQUIRES: Stands.
int64_t WorthOf(const State& now, const Choice& choice, const PlannedOrder& order);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_CHOICE_H_
