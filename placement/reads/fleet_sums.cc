#include "placement/reads/fleet_sums.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/ground/status_macros.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

void Add(const NodeAmounts& from, NodeAmounts& to) {
  to.vcpus += from.vcpus;
  to.pcpus += from.pcpus;
  to.memory_mib += from.memory_mib;
  to.disk_gib += from.disk_gib;
}

// A total has no dedicated CPUs among its vcpus, and a use has them (T-353).
NodeAmounts FreeOf(const NodeAmounts& total, const NodeAmounts& used) {
  return {total.vcpus - (used.vcpus - used.pcpus), total.pcpus - used.pcpus,
          total.memory_mib - used.memory_mib, total.disk_gib - used.disk_gib};
}

NodeAmounts SizeOf(const FlavorAmounts& flavor) {
  return {flavor.vcpus, 0, flavor.memory_mib, flavor.local_disk_gib()};
}

absl::StatusOr<std::vector<NodeRecordPtr>> NodesOn(const State& state, absl::string_view host,
                                                   std::optional<ProviderId> node) {
  std::vector<NodeRecordPtr> nodes = state.NodesOf(host);
  if (nodes.empty()) {
    return Refuse(absl::StatusCode::kNotFound, "HOST_NOT_FOUND",
                  absl::StrCat("there is no node on a host named ", host),
                  {{{"host", std::string(host)}, {"field", "host"}}});
  }
  if (!node) return nodes;
  std::erase_if(nodes, [&](const NodeRecordPtr& one) { return one->id != *node; });
  if (!nodes.empty()) return nodes;
  return Refuse(absl::StatusCode::kNotFound, "NODE_NOT_FOUND",
                absl::StrCat("there is no node ", node->ToString(), " on host ", host),
                {{{"node", node->ToString()}, {"field", "node_uuid"}}});
}

// The hosts of all trackers that are enabled.
absl::flat_hash_set<absl::string_view> EnabledHosts(const State& state) {
  absl::flat_hash_set<absl::string_view> hosts;
  hosts.reserve(state.nodes().size());
  state.services().ForEach([&](const auto&, const ServicePtr& service) {
    if (service->binary == kTrackerBinary && !service->disabled) hosts.insert(service->host);
    return true;
  });
  return hosts;
}

// Collects the hosts that have their storage in common with another host.
class SharedStorage {
 public:
  void Add(const NodeRecord& node) {
    if (node.sums.storage_id.empty()) return;
    const auto [first, is_new] = first_host_.try_emplace(node.sums.storage_id, node.host);
    if (is_new || first->second == node.host) return;
    hosts_.insert(first->second);
    hosts_.insert(node.host);
  }
  std::vector<std::string> Hosts() const {
    std::vector<std::string> hosts(hosts_.begin(), hosts_.end());
    std::sort(hosts.begin(), hosts.end());
    return hosts;
  }

 private:
  absl::flat_hash_map<absl::string_view, absl::string_view> first_host_;  // by storage
  absl::flat_hash_set<absl::string_view> hosts_;
};

}  // namespace

absl::StatusOr<HostSums> SumUpHost(const State& state, absl::string_view host,
                                   std::optional<ProviderId> node) {
  HostSums sums;
  BERTH_ASSIGN_OR_RETURN(sums.nodes, NodesOn(state, host, node));
  for (const NodeRecordPtr& one : sums.nodes) {
    Add(one->sums.total, sums.total);
    Add(one->sums.used, sums.used_now);
  }
  for (const InstancePtr& instance : state.records().InstancesOf(host)) {
    if (IsRemovable(*instance) || (node && instance->node != *node)) continue;
    const NodeAmounts size = SizeOf(instance->flavor);
    Add(size, sums.used_max);
    Add(size, sums.projects[instance->project]);
  }
  return sums;
}

FleetSums SumUpFleet(const State& state) {
  const absl::flat_hash_set<absl::string_view> enabled = EnabledHosts(state);
  FleetSums sums;
  SharedStorage storage;
  state.nodes().ForEach([&](const ProviderId&, const NodeRecordPtr& node) {
    if (!enabled.contains(node->host)) return true;
    const NodeSums& numbers = node->sums;
    ++sums.node_count;
    Add(numbers.total, sums.total);
    Add(numbers.used, sums.used);
    sums.disk_available_least_gib += numbers.disk_available_least_gib.value_or(0);
    sums.instance_count += numbers.instance_count;
    sums.task_count += numbers.task_count;
    storage.Add(*node);
    return true;
  });
  sums.free = FreeOf(sums.total, sums.used);
  sums.shared_storage_hosts = storage.Hosts();
  return sums;
}

}  // namespace berth::placement
