#include "services/candidate_shape.h"

#include <cstddef>

namespace berth::services {

using placement::Allocation;
using placement::Candidate;
using placement::ProviderId;

bool HaveOneShape(const Candidate& one, const Candidate& other) {
  if (one.allocations.size() != other.allocations.size() ||
      one.mappings.size() != other.mappings.size()) {
    return false;
  }
  for (size_t i = 0; i < one.allocations.size(); ++i) {
    const Allocation &left = one.allocations[i], &right = other.allocations[i];
    if (left.resource_class != right.resource_class || left.amount != right.amount) return false;
    if (i > 0 && (left.provider == one.allocations[i - 1].provider) !=
                     (right.provider == other.allocations[i - 1].provider)) {
      return false;
    }
  }
  for (size_t i = 0; i < one.mappings.size(); ++i) {
    const auto &left = one.mappings[i], &right = other.mappings[i];
    if (left.first != right.first || left.second.size() != right.second.size()) return false;
  }
  return true;
}

void ForEachId(const Candidate& candidate, absl::FunctionRef<void(ProviderId)> visit) {
  const ProviderId* last = nullptr;
  for (const Allocation& allocation : candidate.allocations) {
    if (last == nullptr || *last != allocation.provider) visit(allocation.provider);
    last = &allocation.provider;
  }
  for (const auto& [suffix, providers] : candidate.mappings) {
    for (const ProviderId provider : providers) visit(provider);
  }
  visit(candidate.anchor);
}

}  // namespace berth::services
