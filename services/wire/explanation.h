// Conversion of explanations and of headroom to proto messages. Pure.
#ifndef BERTH_SERVICES_WIRE_EXPLANATION_H_
#define BERTH_SERVICES_WIRE_EXPLANATION_H_

#include <cstddef>

#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/query.pb.h"
#include "placement/explain/explanation.h"
#include "placement/explain/headroom.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

void SetExplanation(const placement::Explanation& from, pb::Explanation* to);
// Shortens `explanation` until it is no larger than `bytes_max`, and then sets `truncated`. Removes
// the last near misses first, then the last relaxations, then the last steps.
void FitExplanation(size_t bytes_max, pb::Explanation* explanation);

// `state`: the state for which `from` was counted. It gives the names of the roots.
void SetHeadroom(const placement::State& state, const placement::Headroom& from,
                 pb::GetCapacityResponse* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_EXPLANATION_H_
