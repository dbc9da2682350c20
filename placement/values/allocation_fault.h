// AllocationFault: how the allocations of a consumer can be wrong (T-345).
#ifndef BERTH_PLACEMENT_VALUES_ALLOCATION_FAULT_H_
#define BERTH_PLACEMENT_VALUES_ALLOCATION_FAULT_H_

namespace berth::placement {

// The numbers are those of the enum AllocationFault in audit.proto.
enum class AllocationFault {
  kMissing = 1,        // an instance on a node holds nothing there, nor on another node
  kWrongProvider = 2,  // it holds nothing on its node, but something on another one
  kSuperfluous = 3,    // something is held that no instance and no migration needs
  kWrongAmount = 4,    // an instance holds other amounts than its flavor has
};
inline constexpr int kAllocationFaultMax = static_cast<int>(AllocationFault::kWrongAmount);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_ALLOCATION_FAULT_H_
