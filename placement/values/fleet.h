// Fleet records: services, and the nodes that the services manage.
//
// Services and nodes are entities of the ledger, like providers and consumers. The ledger keeps what
// a node reports of itself as bytes, and does not interpret them. These bytes have two parts,
// because they change at different times: the facts seldom change, and the account changes with
// every guest.
#ifndef BERTH_PLACEMENT_VALUES_FLEET_H_
#define BERTH_PLACEMENT_VALUES_FLEET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/values/types.h"

namespace berth::placement {

// The `binary` of the services that report nodes (T-294).
inline constexpr absl::string_view kTrackerBinary = "berth-tracker";

// If a tracker disabled its own service, the reason begins with this text. A reason from an
// operator never does (T-297).
inline constexpr char kAutomaticReason[] = "AUTO: ";

// If a service is disabled for the maintenance of its host, the reason begins with this text. The
// end of the maintenance enables only such a service (T-306).
inline constexpr char kMaintenanceReason[] = "MAINT: ";

// Why the record of a new tracker is disabled if the settings say so (T-296).
inline constexpr char kNewDisabledReason[] = "New compute service disabled due to config option.";

// A service: one kind of process on one host (T-1). The key of the record is (host, binary).
struct ServiceRecord {
  std::string host;    // the service's name, 1..255 characters; a free label (T-2)
  std::string binary;  // e.g. "berth-tracker"
  Uuid id;
  Uuid incarnation;        // of the newest process that said Hello (T-14)
  std::string machine_id;  // of the machine; tells a restart from a second machine
  std::string version;
  std::string zone;  // the availability zone of the host, at most 255 characters; empty: none
  bool up = false;   // as last judged by the placement process that has the service's stream
  bool disabled = false;
  std::string disabled_reason;  // at most 255 characters
  bool forced_down = false;
  absl::Time created_at;
  absl::Time updated_at;

  friend bool operator==(const ServiceRecord&, const ServiceRecord&) = default;
};
using ServicePtr = std::shared_ptr<const ServiceRecord>;

// Whether the service is up and no operator forced it down. While this is true, no other process
// may take over the service's host (T-291, T-298).
inline bool HoldsLease(const ServiceRecord& service) { return service.up && !service.forced_down; }

// CPUs, memory and disk of a node.
struct NodeAmounts {
  int64_t vcpus = 0;  // of a total or of what is free: shared CPUs; of a use: all CPUs (T-110)
  int64_t pcpus = 0;  // dedicated CPUs
  int64_t memory_mib = 0;
  int64_t disk_gib = 0;

  friend bool operator==(const NodeAmounts&, const NodeAmounts&) = default;
};

// The numbers of a node that answers add up over many nodes. They are copies of numbers in the
// facts and in the account, so that nobody has to decode those bytes for a sum. Each number is
// between -kNodeNumberMax and kNodeNumberMax, so that the sum over a million nodes cannot overflow.
inline constexpr int64_t kNodeNumberMax = int64_t{1} << 42;
struct NodeSums {
  NodeAmounts total;                                // what the node has
  NodeAmounts used;                                 // what is promised on it
  std::optional<int64_t> disk_available_least_gib;  // none: not known
  int64_t instance_count = 0;                       // of instances on the node, stopped ones too
  int64_t task_count = 0;                           // of tasks that run for these instances
  std::string storage_id;  // of the storage for guests; empty: not known, or of this host alone

  friend bool operator==(const NodeSums&, const NodeSums&) = default;
};

// A node: one hypervisor. The node's id is the id of its root provider. The pair (host, name) is
// unique, too.
struct NodeRecord {
  ProviderId id;
  std::string name;             // from virConnectGetHostname, or the configured NAME
  std::string host;             // of the service that manages the node (T-8)
  bool retired = false;         // no longer in the tracker's configuration (T-40): no candidates
  Uuid incarnation;             // of the process that sent the last applied report
  int64_t report_sequence = 0;  // the number of the last applied report within its incarnation
  std::string digest;           // of the last applied report; empty: there was none
  // The providers of the last applied report, with their generations right after that report. The
  // node may skip its next report only if the digest and these generations are still the same.
  std::vector<std::pair<ProviderId, Generation>> reported;
  std::shared_ptr<const std::string> facts;  // at most 1 MiB; null: none reported yet
  std::string account;                       // at most 64 KiB
  NodeSums sums;                             // numbers from facts and account
  absl::Time created_at;
  absl::Time updated_at;  // of the last applied report

  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};
using NodeRecordPtr = std::shared_ptr<const NodeRecord>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_FLEET_H_
