// Uplink: the stream to placement. It sends Hello, reports and heartbeats, and receives answers,
// pushes and orders. When the stream breaks, the Uplink connects again.
//
// Owns the present session, but no thread: the work is done on threads of gRPC, on one at a time.
// Does not own the nodes. Thread-safe.
//
// Invariants:
//   1. A pass never waits for the uplink: reports wait in the node's outbox (T-231).
//   2. The node's outbox checks every answer. An answer that is late or comes twice has no effect.
//   3. After kFenced or kDeleted the Uplink never connects again; only a new process may connect.
//   4. Unless the state is final, either there is a session, or the alarm for the next one is set.
#ifndef BERTH_TRACKER_UPLINK_UPLINK_H_
#define BERTH_TRACKER_UPLINK_UPLINK_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tracker/ground/boot_clock.h"
#include "tracker/ground/mutex.h"
#include "tracker/node/node.h"
#include "tracker/uplink/alarm.h"
#include "tracker/uplink/options.h"

namespace berth::tracker {

class UplinkSession;
struct UplinkCounts;
struct UplinkEnd;

class Uplink {
 public:
  using Options = UplinkOptions;
  using Callbacks = UplinkCallbacks;

  enum class State {
    kConnecting,
    kConnected,  // placement has answered the Hello
    kFenced,     // a newer process of this host has taken over
    kDeleted,    // placement has no record of the service any more
  };

  struct Status {
    State state = State::kConnecting;
    std::string error;  // why the last session ended
    // Counters since the start of the process.
    int64_t sessions = 0;  // that placement welcomed
    int64_t heartbeats = 0;
    int64_t conflicts = 0;  // reports that were refused because a provider had changed
  };

  // Returns a channel that may become the `channel` of several uplinks. Their sessions then share
  // one connection to `options.target`. Two channels never share a connection.
  static std::shared_ptr<grpc::Channel> OpenChannel(const Options& options);

  // `nodes` outlive the uplink.
  Uplink(Options options, std::vector<Node*> nodes, Callbacks callbacks);
  // Ends the session, if there is one, and waits until no callback runs.
  //
  // REQUIRES: the caller is none of the callbacks.
  ~Uplink();
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  // To be called if a report may have to be sent, or if a node may have found its identity.
  void Notify();
  // To be called every second, by a thread that does not wait for the wall clock. Does what is late
  // (see Alarm), and what Renew() has put off.
  void Tick();
  // Sends another Hello. Placement answers it, and sends all records of those nodes for which
  // WantAllRecords() was called.
  void Greet();
  // To be called when the tracker has another certificate. At a random time within `within`, ends the
  // session and connects again, over a new connection with `credentials`: the old connection would
  // keep the old certificate. If the session ends earlier, the next one uses them at once.
  void Renew(std::shared_ptr<grpc::ChannelCredentials> credentials,
             std::chrono::nanoseconds within);
  // While `disabled`, tells placement that the tracker cannot do its work, so that placement disables
  // the service (T-295).
  void SetDisabled(bool disabled);
  // Tells placement that an ordered audit is done, after the reports that the audit caused were
  // sent.
  void AuditDone(const std::string& order_id);

  Status status() const;

 private:
  void ConnectLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // To be called by a session at its end. Destroys the session.
  void Ended(const UplinkEnd& end);
  std::chrono::milliseconds NextWait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins the wait for the next session.
  void Rest();
  // Connects again, unless the uplink is being destroyed.
  void Retry();

  const bool owns_channel_;  // else it was given one
  // With a channel. Changed only between sessions, which refer to it.
  Options options_;
  const std::vector<Node*> nodes_;
  const Callbacks callbacks_;
  const std::unique_ptr<UplinkCounts> counts_;

  mutable Mutex mutex_;
  CondVar changed_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kConnecting;  // between sessions
  std::string error_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<UplinkSession> session_ ABSL_GUARDED_BY(mutex_);
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  // Since when sessions fail: the end of the last one that reset the waits.
  MonotonicTime failing_since_ ABSL_GUARDED_BY(mutex_);
  Alarm alarm_ ABSL_GUARDED_BY(mutex_);
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;  // the alarm will call Rest() or Retry()
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // What Renew() gave and no session uses yet; null: nothing.
  std::shared_ptr<grpc::ChannelCredentials> renewed_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime renewal_due_ ABSL_GUARDED_BY(mutex_);  // when the session is ended because of it
  bool renewing_ ABSL_GUARDED_BY(mutex_) = false;      // the session was ended because of it
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  int64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;  // in a row
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_UPLINK_H_
