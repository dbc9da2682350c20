// Shapes of candidates: candidates that are equal except for their provider ids have one shape.
// Pure.
#ifndef BERTH_SERVICES_WIRE_CANDIDATE_SHAPE_H_
#define BERTH_SERVICES_WIRE_CANDIDATE_SHAPE_H_

#include "placement/values/candidate.h"

namespace berth::services {

// Whether the candidates are equal except for their provider ids.
bool HaveOneShape(const placement::Candidate& one, const placement::Candidate& other);

// Calls `visit` with each provider id of `candidate`: of the allocations (one call for adjacent
// allocations of one provider), of the mappings, and of the root, in this order. All candidates of
// one shape have the same number of calls.
template <typename Visit>
void ForEachId(const placement::Candidate& candidate, const Visit& visit) {
  const placement::ProviderId* last = nullptr;
  for (const placement::Allocation& allocation : candidate.allocations) {
    if (last == nullptr || *last != allocation.provider) visit(allocation.provider);
    last = &allocation.provider;
  }
  for (const auto& [suffix, providers] : candidate.mappings) {
    for (const placement::ProviderId provider : providers) visit(provider);
  }
  visit(candidate.root);
}

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_CANDIDATE_SHAPE_H_
