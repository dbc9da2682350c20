// The stream to placement: says hello, sends reports and heartbeats, takes answers and pushes.
//
// Owns one thread that connects, speaks and waits before it tries again, and while a session lasts one
// more that listens. Nodes are the caller's. Thread-safe.
//
// Invariants:
//   1. A pass never waits for it: what a node has to tell lies in the node until it is taken (T-231).
//   2. Every answer is judged by the node's own outbox; one that comes late or twice changes nothing.
//   3. Once fenced off or deleted it never connects again: only a new process may.
#ifndef BERTH_TRACKER_UPLINK_UPLINK_H_
#define BERTH_TRACKER_UPLINK_UPLINK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracker/node/node.h"
#include "tracker/uplink/options.h"

namespace berth::tracker {

class Uplink {
 public:
  using Options = UplinkOptions;
  using Callbacks = UplinkCallbacks;

  enum class State {
    kConnecting,
    kConnected,  // Welcome has come
    kFenced,     // another incarnation has taken over
    kDeleted,    // the service record is gone
    kStopped,
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
  // Names the nodes to placement anew: what one of them wants to be told again comes with that.
  void Greet();
  // An audit that was ordered is done; sent after the reports that it caused.
  void AuditDone(const std::string& order_id);

  Status status() const;

 private:
  class Worker;
  const std::unique_ptr<Worker> worker_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_UPLINK_H_
