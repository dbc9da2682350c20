// HostView: how a scheduler sees one node (T-332), and what it has promised on it since.
//
// A view is made from the HostState that placement answers, or by Hosts from a mirror. A
// scheduler takes what it promises from the view, as an estimate; the claim decides. Plain values and
// pure functions.
#ifndef BERTH_SERVICES_CLIENT_CPP_HOST_VIEW_H_
#define BERTH_SERVICES_CLIENT_CPP_HOST_VIEW_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "berth/placement/v1/host_state.pb.h"
#include "berth/placement/v1/instance.pb.h"
#include "berth/tracker/v1/tracker.pb.h"

namespace berth::client {

namespace pb = ::berth::placement::v1;

// What placement knows of a host. The messages never change, so that many views share them.
struct HostParts {
  // The record. Never null.
  std::shared_ptr<const pb::Node> node = std::make_shared<const pb::Node>();
  std::map<std::string, std::string> stats;    // as HostState.stats
  std::shared_ptr<const pb::Service> service;  // null: there is none
  std::vector<std::shared_ptr<const pb::HostAggregate>> aggregates;
  std::set<std::string> instances;  // uuids
  bool stale = false;               // as HostState.stale
};
HostParts PartsOf(const pb::HostState& state);

// Each value of NodeFacts.cpu_info_json by its path, as text, for example topology:cores. The JSON is
// read when somebody first asks, because hardly any request does. There is no value if the JSON
// cannot be read, has more than 64 KiB, or is nested deeper than 32, or if the paths of its values
// and objects have more than 1 MiB together. Thread-safe.
class CpuInfo {
 public:
  explicit CpuInfo(std::shared_ptr<const pb::Node> node) : node_(std::move(node)) {}
  const std::map<std::string, std::string>& values() const;

 private:
  const std::shared_ptr<const pb::Node> node_;
  mutable absl::once_flag read_;
  mutable std::map<std::string, std::string> values_;
};

// Amounts are physical: no ratio is applied. One of which the tracker told more than 2^42, in the
// unit in which it tells it, counts as 2^42, and so it is below zero. Until an audited node came,
// `node` has only uuid, host, name and sequence.
struct HostView : HostParts {
  std::shared_ptr<const CpuInfo> cpu_info;  // null: nothing was taken over yet
  int64_t free_memory_mib = 0;
  int64_t free_disk_mib = 0;
  int64_t used_disk_mib = 0;
  int64_t used_vcpus = 0;
  int64_t instance_count = 0;
  int64_t io_operation_count = 0;
  int64_t failed_build_count = 0;
  std::optional<absl::Time> updated_at;  // absent: nothing was taken over yet
};

// What one instance takes from a host: no more than 2^42 of what a flavor names.
struct HostDemand {
  int64_t memory_mib = 0;
  int64_t disk_gib = 0;
  int64_t vcpus = 0;
};
HostDemand DemandOf(const pb::Flavor& flavor);

// HOST:NODE, as messages for people name a node (T-342).
std::string NameOf(const HostView& view);

// Takes the answer over, in one step: record, service, aggregates, instances, in this order (T-335).
// Returns false, and leaves the record and the amounts as they are, if the node was never audited, or
// if the view is newer than the record, because it has later instances then (T-334).
bool UpdateHostView(HostParts parts, HostView* view);

// Takes NUMA cells and devices, whose form only the host knows, from the view.
using TakeCells = absl::FunctionRef<absl::Status(const HostView& view)>;

// Takes what an instance needs from the view. If `take_cells` fails, nothing is taken, and the host is
// no candidate of the request any more; the failure is returned (T-336).
absl::Status ConsumeFromHost(const HostDemand& demand, absl::Time now, TakeCells take_cells,
                             HostView* view);

// How much of the node may be promised: what it has by its allocation ratios. They go with the
// request to the claim on the host (T-337). An amount of which the ratio is not known has no limit;
// no limit is above 10^15.
tracker::v1::Limits LimitsOf(const HostView& view);

// The value of the attribute that requests know by this name, as text. Nothing: a view has no such
// attribute, or it has no value.
std::optional<std::string> AttributeOf(const HostView& view, const std::string& name);

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_HOST_VIEW_H_
