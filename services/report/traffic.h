// Traffic: what is read from and sent to one tracker, and how its stream ends.
//
// Invariants:
//   1. At most one message is being read, and at most one is being sent. The others wait in the
//      outbox, in the order of Send.
//   2. While kOutboxMax messages wait or are promised, no message is read: a tracker that does not
//      read its answers cannot send more messages.
//   3. The stream is finished once, when nothing is being sent. Afterwards nothing is read or sent.
// Thread-safe.
#ifndef BERTH_SERVICES_REPORT_TRAFFIC_H_
#define BERTH_SERVICES_REPORT_TRAFFIC_H_

#include <cstddef>
#include <list>
#include <optional>

#include "absl/status/status.h"
#include "berth/placement/v1/report.pb.h"
#include "placement/ground/mutex.h"

namespace berth::services {

namespace pb = ::berth::placement::v1;

// The stream that a session reads from and writes to. Every method is called with the lock of the
// session's Traffic held and must not call the session back before it returns.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  // Begins to read the tracker's next message into `to`, which stays valid until the end of the
  // session. When the message has arrived or the stream has ended, ReportSession::HandleRead is
  // called.
  virtual void Read(pb::SessionRequest* to) = 0;
  // Begins to send `message`, which stays valid until ReportSession::HandleSent is called.
  virtual void Send(const pb::SessionResponse& message) = 0;
  // Ends the stream. No other method is called afterwards.
  virtual void Finish(const absl::Status& status) = 0;
};

class Traffic {
 public:
  static constexpr size_t kOutboxMax = 8;

  explicit Traffic(ReportSink* sink) : sink_(sink) {}

  // Asks for the next message, at once or when fewer messages wait.
  void ReadNext();
  // The message that was read last. To be used only between the end of its read and ReadNext.
  pb::SessionRequest& incoming() { return incoming_; }

  void Send(pb::SessionResponse message);
  // Counts one message more as waiting, until SendPromised sends it.
  void Promise();
  void SendPromised(pb::SessionResponse message);
  // To be called when the message that was being sent has been sent or, if not `ok`, cannot be sent
  // any more.
  void HandleSent(bool ok);
  // Whether a message would be sent at once.
  bool is_free() const;

  // Ends the stream after the message that is being sent now. A second call has no effect.
  void End(const absl::Status& status);
  bool ended() const;  // whether End was called, or the tracker has gone
  // REQUIRES: the sink's Finish was called, and nothing is being sent.
  void CheckClosed() const;

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadIfRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ReportSink* const sink_;
  pb::SessionRequest incoming_;  // the message that is being read or settled

  mutable placement::Mutex mutex_;
  // A list, because an empty deque takes half a KiB, and most sessions have an empty outbox.
  std::list<pb::SessionResponse> outbox_ ABSL_GUARDED_BY(mutex_);
  pb::SessionResponse outgoing_ ABSL_GUARDED_BY(mutex_);
  size_t promised_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_waits_ ABSL_GUARDED_BY(mutex_) = false;  // ReadNext was put off
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_TRAFFIC_H_
