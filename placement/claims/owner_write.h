// A write of allocations that keeps the consumer's owner.
//
// A pure function.
#ifndef BERTH_PLACEMENT_CLAIMS_OWNER_WRITE_H_
#define BERTH_PLACEMENT_CLAIMS_OWNER_WRITE_H_

#include <vector>

#include "placement/commands/command.h"
#include "placement/state/state.h"

namespace berth::placement {

// The write after which the consumer holds `allocations`, without a lease. Its owner stays: that of
// `before`; or, if `before` is null, the one that the record `instance` names. One of the two is
// not null.
ConsumerAllocations WriteKeepingOwner(const State& state, ConsumerId id, const ConsumerPtr& before,
                                      const InstanceRecord* instance,
                                      const std::vector<Allocation>& allocations);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_OWNER_WRITE_H_
