// Conversion of explanations and headroom (how many more times a query fits) to messages. Pure.
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
// Shortens `explanation` to at most `bytes_max` bytes: removes the last near misses, then the last
// relaxations, then the last steps. Sets `truncated` if anything was removed.
void FitExplanation(size_t bytes_max, pb::Explanation* explanation);

// Converts the headroom `from`. `state` is the state in which the headroom was counted; it has the
// names of the roots.
void SetHeadroom(const placement::State& state, const placement::Headroom& from,
                 pb::GetCapacityResponse* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_EXPLANATION_H_
