#include "services/wire/candidate_shape.h"

#include <cstddef>

namespace berth::services {

using placement::Allocation;
using placement::Candidate;

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

}  // namespace berth::services
