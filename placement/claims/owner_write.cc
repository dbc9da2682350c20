#include "placement/claims/owner_write.h"

#include <string>

#include "placement/claims/plan.h"

namespace berth::placement {

ConsumerAllocations WriteKeepingOwner(const State& state, ConsumerId id, const ConsumerPtr& before,
                                      const InstanceRecord* instance,
                                      const std::vector<Allocation>& allocations) {
  ConsumerAllocations wanted;
  wanted.consumer = id;
  if (before != nullptr) {
    const Owner& owner = *before->owner;
    wanted.project = owner.project;
    wanted.user = owner.user;
    wanted.type = owner.type;
  } else {
    wanted.project = instance->project;
    wanted.user = instance->user;
    wanted.type = std::string(kInstanceType);
  }
  wanted.allocations = AmountsOf(state.catalog(), allocations);
  return wanted;
}

}  // namespace berth::placement
