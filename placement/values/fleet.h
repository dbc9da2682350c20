// Fleet records: the services that report, and the nodes whose root providers they own.
//
// Entities of the same ledger as everything else. What a node observed of itself (`facts`) is kept
// as the bytes that the report brought: the ledger does not look inside.
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

// The binary whose reports are taken (T-294).
inline constexpr absl::string_view kTrackerBinary = "berth-tracker";

// How the reason begins of what a tracker disabled by itself: an operator's never does (T-297).
inline constexpr char kAutomaticReason[] = "AUTO: ";

// One process kind on one host (T-1). Key: (host, binary).
struct ServiceRecord {
  std::string host;    // the service's name, 1..255 characters; a free label (T-2)
  std::string binary;  // e.g. "berth-tracker"
  Uuid id;
  Uuid incarnation;        // of the newest process that said Hello (T-14)
  std::string machine_id;  // of the machine it runs on; decides between two incarnations
  std::string version;
  bool up = false;  // as last judged by the process that holds the stream
  bool disabled = false;
  std::string disabled_reason;  // at most 255 characters
  bool forced_down = false;
  absl::Time created_at;
  absl::Time updated_at;

  friend bool operator==(const ServiceRecord&, const ServiceRecord&) = default;
};
using ServicePtr = std::shared_ptr<const ServiceRecord>;

// One hypervisor; its id is that of its root provider. Unique on id, and on (host, name).
struct NodeRecord {
  ProviderId id;
  std::string name;             // what virConnectGetHostname says, or the configured NAME
  std::string host;             // of the service that manages it (T-8)
  bool retired = false;         // taken out of the configuration (T-40): no candidates
  Uuid incarnation;             // that sent the last applied report
  int64_t report_sequence = 0;  // of that report within its incarnation
  std::string digest;           // of that report; empty: none applied yet
  // The providers of that report with their generations right after it: the digest is `known` only
  // while these still hold.
  std::vector<std::pair<ProviderId, Generation>> reported;
  std::shared_ptr<const std::string> facts;  // opaque, at most 64 KiB; null: none reported yet
  absl::Time created_at;
  absl::Time updated_at;  // of the last applied report

  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};
using NodeRecordPtr = std::shared_ptr<const NodeRecord>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_FLEET_H_
