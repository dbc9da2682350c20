// Traffic: what is read from and sent to one tracker, and how the tracker's stream ends.
//
// Invariants:
//   1. At most one message is being read, and at most one is being sent. Other messages to be sent
//      wait in the outbox, in the order of Send and SendPromised.
//   2. While at least kOutboxMax messages wait or are promised (Promise), no read begins. So
//      answers that a tracker does not read do not pile up.
//   3. Finish is called at most once, when nothing is being sent. When the stream is ending or has
//      ended (ended), no read and no send begins.
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

// The stream that a session reads from and writes to. Every method is called while the lock of the
// session's Traffic is held, so it must not call the session itself.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  // Begins to read the tracker's next message into `to`, which stays valid as long as the session
  // lives. The sink must call ReportSession::HandleRead when the read has ended.
  virtual void Read(pb::SessionRequest* to) = 0;
  // Begins to send `message`, which stays valid until ReportSession::HandleSent is called. The sink
  // must call HandleSent when the send has ended.
  virtual void Send(const pb::SessionResponse& message) = 0;
  // Ends the stream. No method of the sink is called afterwards.
  virtual void Finish(const absl::Status& status) = 0;
};

class Traffic {
 public:
  static constexpr size_t kOutboxMax = 8;

  explicit Traffic(ReportSink* sink) : sink_(sink) {}

  // Begins to read the next message, at once or later (invariant 2), unless the stream ends.
  void ReadNext();
  // The message that was read last. To be used only after its read has ended and before ReadNext.
  pb::SessionRequest& incoming() { return incoming_; }

  void Send(pb::SessionResponse message);
  // Counts one message more as waiting, until SendPromised sends it.
  void Promise();
  // REQUIRES: the message was promised.
  void SendPromised(pb::SessionResponse message);
  // To be called when the send of a message has ended. `ok`: the message was sent. If false, the
  // stream ends.
  void HandleSent(bool ok);
  // Whether Send would begin to send a message at once.
  bool is_free() const;

  // Ends the stream with `status` as soon as no message is being sent. Messages that wait are not
  // sent. Has no effect if ended().
  void End(const absl::Status& status);
  bool ended() const;  // whether End was called or a message could not be sent
  // REQUIRES: the sink's Finish was called, and nothing is being sent.
  void CheckClosed() const;

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadIfRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ReportSink* const sink_;
  pb::SessionRequest incoming_;  // the message that is being read or was read last

  mutable placement::Mutex mutex_;
  // A list, because an empty deque takes half a KiB, and most sessions have an empty outbox.
  std::list<pb::SessionResponse> outbox_ ABSL_GUARDED_BY(mutex_);
  pb::SessionResponse outgoing_ ABSL_GUARDED_BY(mutex_);
  size_t promised_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_waits_ ABSL_GUARDED_BY(mutex_) = false;  // ReadNext has begun no read yet
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_TRAFFIC_H_
