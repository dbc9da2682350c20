// Sums over the nodes of one host, and over the nodes of the whole fleet. Pure.
//
// The sums add up the numbers of the records, and decode no facts and no accounts. So the sum over
// 10,000 nodes takes a few milliseconds.
#ifndef BERTH_PLACEMENT_READS_FLEET_SUMS_H_
#define BERTH_PLACEMENT_READS_FLEET_SUMS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "placement/state/state.h"

namespace berth::placement {

// What a host has, and what is promised there (T-303).
struct HostSums {
  std::vector<NodeRecordPtr> nodes;  // in order of id
  NodeAmounts total;
  NodeAmounts used_now;
  // The sums of the flavors of the instances on the nodes. Swap does not count. A flavor does not
  // say which of its CPUs are dedicated, so `pcpus` is 0.
  NodeAmounts used_max;
  std::map<std::string, NodeAmounts> projects;  // the parts of used_max
};

// The sums over all nodes of `host` or, if `node` is given, over this node. An instance without a
// node counts for the whole host, but not for a single node. An instance that is removable
// (IsRemovable) does not count. Fails with NOT_FOUND / HOST_NOT_FOUND if the host has no node, and
// with NOT_FOUND / NODE_NOT_FOUND if `node` is not on the host.
absl::StatusOr<HostSums> SumUpHost(const State& state, absl::string_view host,
                                   std::optional<ProviderId> node);

// Sums over the nodes of all hosts whose tracker is enabled, whether it is up or down (T-311). A
// node without a tracker does not count.
struct FleetSums {
  int64_t node_count = 0;
  NodeAmounts total;
  NodeAmounts used;
  NodeAmounts free;  // of a node on which more is promised than it has, the free amount is negative
  int64_t disk_available_least_gib = 0;  // over the nodes of which it is known
  int64_t instance_count = 0;
  int64_t task_count = 0;
  // The counted hosts that have their storage in common with another one, sorted. The disk of each
  // of them is counted, although there is only one (T-312).
  std::vector<std::string> shared_storage_hosts;
};
FleetSums SumUpFleet(const State& state);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_READS_FLEET_SUMS_H_
