// Explanations and counts of room as protos.
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
// Leaves out the least of it until it takes no more than `bytes_max`, and says so: near misses from
// the last on, then relaxations, then steps.
void FitExplanation(size_t bytes_max, pb::Explanation* explanation);

// `state` is the one that was counted: it names the roots.
void SetHeadroom(const placement::State& state, const placement::Headroom& from,
                 pb::GetCapacityResponse* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_EXPLANATION_H_
