// The stream to placement: says hello, sends reports and heartbeats, takes answers and pushes.
//
// Owns one thread that connects, speaks and waits before it tries again, and while a session lasts one
// more that listens. Nodes are the caller's. Thread-safe.
//
// Invariants:
//   1. A pass never waits for it: what a node has to tell lies in the node until it is taken (T-231).
//   2. Every answer is judged by the node's own outbox; one that comes late or twice changes nothing.
//   3. Once fenced off or deleted it never connects again: only a new process may.
#ifndef BERTH_TRACKER_UPLINK_H_
#define BERTH_TRACKER_UPLINK_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tracker/backoff.h"
#include "tracker/node.h"

namespace berth::tracker {

class Uplink {
 public:
  struct Options {
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

  enum class State {
    kConnecting,
    kConnected,  // Welcome has come
    kFenced,     // another incarnation has taken over
    kDeleted,    // the service record is gone
    kStopped,
  };

  // Called from the uplink's thread; must not call back into the uplink, Notify() apart.
  struct Callbacks {
    // Something worth a line in the log.
    std::function<void(const absl::Status& status, absl::string_view text)> log;
    // A node's identity contradicts placement's records; `first` until a session has begun well.
    std::function<void(const std::string& node, const absl::Status& status, bool first)> refused;
    // Placement wants an audit of a node, or of all when empty; answer with AuditDone().
    std::function<void(const std::string& order_id, const std::string& node_uuid)> audit_ordered;
  };

  struct Status {
    State state = State::kConnecting;
    std::string error;  // why it is not connected
    int64_t sessions = 0;
    int64_t heartbeats = 0;
    int64_t conflicts = 0;
  };

  // `nodes` outlive the uplink.
  Uplink(Options options, std::vector<Node*> nodes, Callbacks callbacks);
  // Ends the session, if one stands, and waits for both threads.
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  // A node may have something to tell, or has found its identity.
  void Notify();
  // An audit that was ordered is done; sent after the reports that it caused.
  void AuditDone(const std::string& order_id);

  Status status() const;

 private:
  class Worker;
  const std::unique_ptr<Worker> worker_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_H_
