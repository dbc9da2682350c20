// UplinkOptions and UplinkCallbacks: what the stream to placement is told when it is made.
#ifndef BERTH_TRACKER_UPLINK_OPTIONS_H_
#define BERTH_TRACKER_UPLINK_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tracker/uplink/backoff.h"

namespace berth::tracker {

struct UplinkOptions {
  std::string target;  // placement's address, as gRPC names it
  std::string host;
  std::string binary = "berth-tracker";
  std::string incarnation;
  std::string machine_id;
  std::string version;
  std::string address;  // of the tracker's own service; empty: none
  std::vector<std::string> retired_node_uuids;
  absl::Time started_at;
  std::chrono::milliseconds heartbeat{10000};  // until placement says otherwise
  std::chrono::milliseconds connect_patience{10000};
  Backoff::Options backoff;
  uint64_t seed = 0;
};

// Called from the uplink's thread; must not call back into the uplink, Notify() apart.
struct UplinkCallbacks {
  // Something worth a line in the log.
  std::function<void(const absl::Status& status, absl::string_view text)> log;
  // A node's identity contradicts placement's records; `first` until a session has begun well.
  std::function<void(const std::string& node, const absl::Status& status, bool first)> refused;
  // What placement is known to hold has changed, and with it perhaps when a node wants its next pass.
  std::function<void()> records_changed;
  // Placement wants an audit of a node, or of all when empty; answer with AuditDone().
  std::function<void(const std::string& order_id, const std::string& node_uuid)> audit_ordered;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_OPTIONS_H_
