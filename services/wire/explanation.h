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
// Shortens `explanation` until it takes at most `bytes_max` bytes, and sets `truncated` if anything
// was removed. Removes near misses first, then relaxations, then steps; of each list the last
// elements first.
void FitExplanation(size_t bytes_max, pb::Explanation* explanation);

// `state` is the state in which the headroom `from` was counted. The names of the roots come from
// it.
void SetHeadroom(const placement::State& state, const placement::Headroom& from,
                 pb::GetCapacityResponse* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_EXPLANATION_H_
