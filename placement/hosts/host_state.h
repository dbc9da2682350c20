// HostState: how a scheduler sees one node (T-332).
//
// The view follows from the record of the node, its service, its aggregates and its instances. A
// scheduler takes what it promises from the view, as an estimate; the claim on the host decides.
//
// Plain values and pure functions.
#ifndef BERTH_PLACEMENT_HOSTS_HOST_STATE_H_
#define BERTH_PLACEMENT_HOSTS_HOST_STATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace berth::placement {

// A node as it was last reported. Amounts are physical: no ratio is applied.
struct NodeStock {
  std::string uuid;
  std::string host;
  std::string node_name;
  std::string hypervisor_hostname;
  std::string hypervisor_type;
  int64_t hypervisor_version = 0;
  std::string host_ip;
  std::string cpu_info;
  // Each value of `cpu_info` by its path, as text, for example topology:cores.
  std::map<std::string, std::string> cpu_info_values;
  std::vector<std::vector<std::string>> supported_instances;  // each: architecture, type, mode
  int64_t memory_mib = 0;
  int64_t free_memory_mib = 0;
  int64_t disk_gib = 0;
  int64_t used_disk_gib = 0;
  std::optional<int64_t> free_disk_gib;  // absent: the node was never audited
  std::optional<int64_t> disk_available_least_gib;
  int64_t vcpus = 0;
  int64_t used_vcpus = 0;
  double cpu_allocation_ratio = 0;
  double memory_allocation_ratio = 0;
  double disk_allocation_ratio = 0;
  std::map<std::string, std::string> counters;
  absl::Time updated_at;
};

// What a scheduler knows of the service of a node: a copy, so that no filter changes the record.
struct HostService {
  bool disabled = false;
  bool up = false;  // as T-291 judges
};

struct HostAggregate {
  std::string name;
  std::map<std::string, std::string> metadata;
};

struct HostState {
  // Its uuid is empty until a record of an audited node came. host and node_name are the key.
  NodeStock node;
  int64_t free_memory_mib = 0;
  int64_t free_disk_mib = 0;
  int64_t used_disk_mib = 0;
  int64_t used_vcpus = 0;
  int64_t instance_count = 0;
  int64_t io_operation_count = 0;
  int64_t failed_build_count = 0;
  std::optional<absl::Time> updated_at;  // absent: nothing was taken over yet
  HostService service;
  std::vector<HostAggregate> aggregates;
  std::set<std::string> instances;  // uuids
};

// What one instance takes from a host.
struct HostDemand {
  int64_t memory_mib = 0;
  int64_t disk_gib = 0;
  int64_t vcpus = 0;
};

// Takes the record over, in one step. Returns false, and changes nothing, if the node was never
// audited, or if the view is newer than the record, because it has later instances then (T-334).
bool UpdateFromNode(const NodeStock& node, HostState* state);

// The view of a request: record, service, aggregates, instances, in this order (T-335).
bool UpdateHostState(const NodeStock& node, const HostService& service,
                     std::vector<HostAggregate> aggregates, std::set<std::string> instances,
                     HostState* state);

// Takes what an instance needs from the view. `take_cells` takes NUMA cells and devices, whose form
// only the host knows. If it fails, nothing is taken, and the host is no candidate of the request
// any more; the failure is returned (T-336).
absl::Status ConsumeFromHost(const HostDemand& demand, absl::Time now,
                             absl::FunctionRef<absl::Status()> take_cells, HostState* state);

// The value of the attribute that the scheduler's requests know by this name, as text. Nothing: a
// view has no such attribute, or it has no value.
std::optional<std::string> AttributeOf(const HostState& state, const std::string& name);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_HOSTS_HOST_STATE_H_
