// The audit of allocations: whether a consumer holds what the records of instances and migrations
// say that it should hold (T-345). Pure functions of the state.
//
// An instance on a node should hold the amounts of its flavor in the provider tree of this node,
// and nothing on other nodes. While the instance moves, its allocations change hands, and they are
// not judged. After an evacuation the part on the source stays until the source host is back
// (T-148). What is on a provider without a node, or on a sharing provider, for example a share of a
// storage pool, is only compared by its amount of disk.
#ifndef BERTH_PLACEMENT_COMMANDS_ALLOCATION_AUDIT_H_
#define BERTH_PLACEMENT_COMMANDS_ALLOCATION_AUDIT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "placement/state/state.h"
#include "placement/values/allocation_fault.h"

namespace berth::placement {

// For how long a consumer of such a type may have no record before it counts as superfluous: its
// record may come soon after the allocations (T-145).
inline constexpr absl::Duration kUnknownConsumerAge = absl::Hours(1);

struct AllocationFinding {
  ConsumerId consumer;
  AllocationFault fault{};
  std::string why;                 // a sentence without a full stop
  ConsumerPtr held;                // null: the consumer holds nothing
  std::vector<Allocation> wanted;  // sorted, what the consumer should hold
  // Whether a repair may write `wanted`. False if the records do not tell it, or if they may come
  // later.
  bool repairable = false;
};

// A guest that a tracker has reported as an orphan: it runs on the node, and no consumer held
// anything there for it.
struct ReportedOrphan {
  ConsumerId guest;
  ProviderId node;
  std::string name;  // of the guest
};

// What is wrong with the allocations of the consumer; nothing if they are right or cannot be
// judged. Of several faults, finds the first one in the order of AllocationFault.
std::optional<AllocationFinding> AuditConsumer(const State& state, ConsumerId consumer);

// The finding about an orphan: its guest holds nothing, or holds something on other nodes only. None
// if something is held on the node by now, if the instance moves, or if the node is gone. Disk of
// the node does not count if guests of other nodes may hold it, too (IsSharedDisk). No orphan is
// repairable, because its amounts are not known from a record.
std::optional<AllocationFinding> AuditOrphan(const State& state, const ReportedOrphan& orphan);

// Whether the consumer holds something that its record no longer needs, or its record was deleted,
// or it has no record although its type asks for one (T-346). Cheaper than AuditConsumer, because it
// judges no amounts.
bool IsLeakCandidate(const State& state, const Consumer& consumer);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_ALLOCATION_AUDIT_H_
