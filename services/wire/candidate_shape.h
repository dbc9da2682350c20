// What candidates have in common that differ in nothing but providers. Pure.
#ifndef BERTH_SERVICES_WIRE_CANDIDATE_SHAPE_H_
#define BERTH_SERVICES_WIRE_CANDIDATE_SHAPE_H_

#include "placement/values/candidate.h"

namespace berth::services {

// Whether the two differ in nothing but providers.
bool HaveOneShape(const placement::Candidate& one, const placement::Candidate& other);

// Every provider of `candidate`, in the order in which its allocations, its mappings and its root
// name them. As many for all candidates of one shape.
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
