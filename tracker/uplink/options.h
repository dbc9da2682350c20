// UplinkOptions and UplinkCallbacks: two parameters of Uplink's constructor.
//
// Plain values.
#ifndef BERTH_TRACKER_UPLINK_OPTIONS_H_
#define BERTH_TRACKER_UPLINK_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/backoff.h"

namespace grpc {
class Channel;
class ChannelCredentials;
}  // namespace grpc

namespace berth::tracker {

struct UplinkOptions {
  std::string target;                      // placement's address in the form that gRPC expects
  std::shared_ptr<grpc::Channel> channel;  // null: the uplink opens one of its own to `target`
  std::shared_ptr<grpc::ChannelCredentials> credentials;  // of an own channel; null: no TLS
  std::string host;
  std::string binary = "berth-tracker";
  std::string incarnation;
  std::string machine_id;
  std::string version;
  std::string zone;     // the availability zone of the host; empty: none
  std::string address;  // of the tracker's own service; empty: there is none
  std::vector<Uuid> retired_node_uuids;
  absl::Time started_at;
  std::chrono::milliseconds heartbeat{10000};  // until placement's Welcome sets another interval
  // How long the Hello may take to be sent: the name is looked up, and the connection waits for its
  // turn at placement. gRPC gives up sooner if it cannot connect: 30 s for each address of the name.
  std::chrono::milliseconds hello_patience{120000};
  // How long to wait for placement's Welcome then; before, for a node to greet with.
  std::chrono::milliseconds connect_patience{10000};
  // The largest size of a message by placement, and of the slices of one push together. With 64 KiB
  // for each of a thousand guests a push has 64 MiB.
  int received_bytes_max = 256 << 20;
  Backoff::Options backoff;
  uint64_t seed = 0;
};

// Uplink calls these functions on threads of gRPC, one at a time, and without a lock. They must not
// wait, because other streams may need the thread.
struct UplinkCallbacks {
  // Logs the line `text`, with the error in `status` if `status` is not OK.
  std::function<void(const absl::Status& status, absl::string_view text)> log;
  // Called with the reason and a text for the log if the uplink will never connect again: placement
  // has deleted the service record, or a newer process has taken over.
  std::function<void(const absl::Status& status, absl::string_view text)> gave_up;
  // Called if a node's identity contradicts placement's records. `first`: placement has not
  // welcomed any earlier session of this process.
  std::function<void(const std::string& node, const absl::Status& status, bool first)> refused;
  // Called if placement has refused a report that moves resources to other providers, and only other
  // settings of the host can help. The process should end: what it would report next contradicts
  // what consumers hold. After other refusals the next pass reports again (T-197).
  std::function<void(const std::string& node, const absl::Status& status)> reshape_failed;
  // Called when the records of a node, and therefore the time of its next pass, may have changed.
  std::function<void()> records_changed;
  // Called when placement orders an audit of one node, or of all nodes if `node_uuid` is nil. The
  // order must be answered by AuditDone().
  std::function<void(const std::string& order_id, const Uuid& node_uuid)> audit_ordered;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_OPTIONS_H_
