// Choices held against the state as it is now: whether one stands as it stood when it was found,
// and what it is worth. Pure.
#ifndef BERTH_PLACEMENT_CLAIMS_CHOICE_H_
#define BERTH_PLACEMENT_CLAIMS_CHOICE_H_

#include <cstdint>

#include "placement/commands/command.h"
#include "placement/search/plan.h"
#include "placement/state/state.h"

namespace berth::placement {

// `candidate` with the trees that it stands on in `state`, where it was found.
Choice ChoiceOf(const State& state, Candidate candidate);

// Whether `choice`, which was found for `query`, is still a candidate of it within `scope`: its
// trees are configured as they were and serve, and have room.
bool Stands(const State& now, const Choice& choice, const CandidateRequest& query,
            const SearchScope& scope);

// What the choice is worth by `order` as it stands now. REQUIRES: it stands.
int64_t WorthOf(const State& now, const Choice& choice, const PlannedOrder& order);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_CHOICE_H_
