// Watcher: one open Watch stream. It has a filter, a position (the revision up to which changes
// were given to it), and the messages that wait to be sent.
//
// The hub gives a live watcher every revision as soon as the revision is committed. A watcher that
// is behind gets the next revision only when it can take more messages. The messages that wait are
// limited: if the client of a live watcher reads too slowly, the stream is ended, and the client
// can resume with a new stream. Thread-safe; free of gRPC.
#ifndef BERTH_SERVICES_WATCH_WATCHER_H_
#define BERTH_SERVICES_WATCH_WATCHER_H_

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "services/watch/filter.h"
#include "services/watch/messages.h"
#include "services/watch/snapshot.h"

namespace berth::services {

// The stream that a watcher sends to. Every method is called with the watcher's lock held and must
// not call the watcher back before it returns.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // Begins to send `message`. When it is sent, Watcher::Sent must be called; Send is not called
  // again before that.
  virtual void Send(const WatchMessage& message) = 0;
  // Ends the stream. No other method is called afterwards.
  virtual void Finish(const absl::Status& status) = 0;
};

struct WatchLimits {
  size_t messages_max = 1024;                      // messages that wait for one live watcher
  size_t bytes_max = 4 << 20;                      // their bytes; one revision alone may be larger
  absl::Duration sending_max = absl::Seconds(30);  // for sending one message
  absl::Duration quiet_max = absl::Seconds(3);     // without a message; then an empty one is sent
  absl::Duration snapshot_max =
      absl::Minutes(5);  // for sending a snapshot, whose state is kept meanwhile
};

class Watcher {
 public:
  // `owner`: the identity of the caller, in whose turn workers work for the watcher.
  Watcher(WatchSink* sink, const WatchLimits& limits, std::string owner = "")
      : sink_(sink), limits_(limits), owner_(std::move(owner)) {}

  // Sets the filter. The watcher gets the changes after revision `position`. If `snapshot` is
  // given, it is sent first. Called once, before every other method.
  void Begin(const WatchFilter& filter, placement::Revision position,
             std::unique_ptr<WatchSnapshot> snapshot);
  // Sends an empty message that tells the client the revision at which the stream begins. REQUIRES:
  // Begin was called, and Start was not.
  void SayWhere();
  // To be called when all messages that must come before the first revision are in the queue. From
  // now on the watcher may be given revisions.
  void Start();
  // REQUIRES: Begin was called.
  const WatchFilter& filter() const { return filter_; }
  const std::string& owner() const { return owner_; }
  // Becomes true when the stream has ended.
  const std::shared_ptr<std::atomic<bool>>& gone() const { return gone_; }

  placement::Revision position() const;
  bool ended() const;
  // Changes the watcher to "live" if `live`, else to "behind".
  void SetLive(bool live);
  // Whether the watcher is started, behind, and has nothing to send.
  bool IsHungry() const;

  // Adds the next message of the snapshot to the messages that wait. Returns false if the snapshot
  // has no more messages. Called by one thread at a time.
  bool TellSnapshot();
  // Whether a watcher that is behind may be given another revision. True while the messages
  // that wait for it take at most a quarter of the limits of a live watcher.
  bool HasRoom() const;
  // Adds the messages of the revision `told` to the messages that wait, unless the watcher has this
  // revision already. If the watcher is live and too slow, so that more messages wait than the
  // limits allow, ends the stream with WATCHER_TOO_SLOW.
  void Tell(const ToldRevision& told);
  // Records that the watcher has been given every change up to `revision` that it asked for.
  void SkipTo(placement::Revision revision);
  // One step of the timer. Sends an empty message with the position of this watcher if no message
  // was sent for a while. Ends the stream if a message, or the snapshot, takes too long to send.
  // `revision`: the revision up to which all live watchers have their changes.
  void Beat(placement::Revision revision, placement::BootTime now);
  // To be called when the message that was being sent has been sent or, if not `ok`, cannot be sent
  // any more.
  void Sent(bool ok);
  // Ends the stream and drops the messages that wait. Idempotent.
  void End(const absl::Status& status);

 private:
  void Put(WatchMessage message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status TooSlow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SnapshotTooSlow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WatchSink* const sink_;
  const WatchLimits limits_;
  const std::string owner_;
  const std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);
  WatchFilter filter_;

  mutable placement::Mutex mutex_;
  placement::Revision position_ ABSL_GUARDED_BY(mutex_);  // changes up to here were sent or wait
  std::unique_ptr<WatchSnapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
  bool in_snapshot_ ABSL_GUARDED_BY(mutex_) = false;  // the snapshot is not complete yet
  placement::BootTime begun_at_ ABSL_GUARDED_BY(mutex_);
  std::deque<WatchMessage> outbox_ ABSL_GUARDED_BY(mutex_);
  size_t outbox_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<placement::BootTime> sending_since_ ABSL_GUARDED_BY(mutex_);
  placement::BootTime sent_at_ ABSL_GUARDED_BY(mutex_);
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool live_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};
using WatcherPtr = std::shared_ptr<Watcher>;

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_WATCHER_H_
