// Uplink: the stream to placement. It sends Hello, reports and heartbeats, and receives answers,
// pushes and orders. When the stream breaks, the Uplink connects again.
//
// Owns a thread that connects and sends, and during a session a second thread that receives. Does
// not own the nodes. Thread-safe.
//
// Invariants:
//   1. A pass never waits for the uplink: reports wait in the node's outbox (T-231).
//   2. The node's outbox checks every answer. An answer that is late or comes twice has no effect.
//   3. After kFenced or kDeleted the Uplink never connects again; only a new process may connect.
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
    kConnected,  // placement has answered the Hello
    kFenced,     // a newer process of this host has taken over
    kDeleted,    // placement has no record of the service any more
    kStopped,
  };

  struct Status {
    State state = State::kConnecting;
    std::string error;  // why the last session ended
    // Counters since the start of the process.
    int64_t sessions = 0;  // that placement welcomed
    int64_t heartbeats = 0;
    int64_t conflicts = 0;  // reports that were refused because a provider had changed
  };

  // `nodes` outlive the uplink.
  Uplink(Options options, std::vector<Node*> nodes, Callbacks callbacks);
  // Ends the session, if there is one, and waits for both threads.
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  // Wakes the thread: a report may have to be sent, or a node may have found its identity.
  void Notify();
  // Sends another Hello. Placement answers it, and sends all records of those nodes for which
  // WantAllRecords() was called.
  void Greet();
  // Makes the thread tell placement that an ordered audit is done, after it has sent the reports
  // that the audit caused.
  void AuditDone(const std::string& order_id);

  Status status() const;

 private:
  class Worker;
  const std::unique_ptr<Worker> worker_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_UPLINK_H_
