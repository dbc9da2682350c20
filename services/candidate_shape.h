// What candidates have in common that differ in nothing but providers. Pure.
#ifndef BERTH_SERVICES_CANDIDATE_SHAPE_H_
#define BERTH_SERVICES_CANDIDATE_SHAPE_H_

#include "absl/functional/function_ref.h"
#include "placement/candidate.h"

namespace berth::services {

// Whether the two differ in nothing but providers.
bool HaveOneShape(const placement::Candidate& one, const placement::Candidate& other);

// Every provider of `candidate`, in the order in which its allocations, its mappings and its root
// name them. As many for all candidates of one shape.
void ForEachId(const placement::Candidate& candidate,
               absl::FunctionRef<void(placement::ProviderId)> visit);

}  // namespace berth::services

#endif  // BERTH_SERVICES_CANDIDATE_SHAPE_H_
