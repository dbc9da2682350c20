// Watcher: one who watches: what it wants, how far it has been told, what waits to be sent to it.
//
// Holds messages only up to a limit: one that reads too slowly is cut off, and resumes where it
// was. Thread-safe; free of gRPC.
#ifndef BERTH_SERVICES_WATCH_WATCHER_H_
#define BERTH_SERVICES_WATCH_WATCHER_H_

#include <deque>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "services/watch/filter.h"
#include "services/watch/messages.h"
#include "services/watch/snapshot.h"

namespace berth::services {

// Where a watcher's messages go. Called with the watcher's lock held; must not call back from
// within.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // Begins to send. Watcher::Sent is called when the message is gone, before the next one comes.
  virtual void Send(const WatchMessage& message) = 0;
  // The last call.
  virtual void Finish(const absl::Status& status) = 0;
};

struct WatchLimits {
  size_t messages_max = 1024;  // that wait for one watcher
  size_t bytes_max = 4 << 20;  // of them; a revision that is larger is told alone
  absl::Duration sending_max = absl::Seconds(30);  // of one message
  absl::Duration quiet_max = absl::Seconds(3);     // then comes an empty message
  absl::Duration snapshot_max = absl::Minutes(5);  // as long as it lasts, its state is kept
};

class Watcher {
 public:
  Watcher(WatchSink* sink, const WatchLimits& limits) : sink_(sink), limits_(limits) {}

  // What it wants and where it begins; `snapshot` is told first. To be called once, before anything
  // is told.
  void Begin(const WatchFilter& filter, placement::Revision position,
             std::unique_ptr<WatchSnapshot> snapshot);
  // Says at which revision it begins, where nothing else tells it. REQUIRES: begun, not started.
  void SayWhere();
  // From now on it may be told something: what it begins with is there. Before, it is not hungry.
  void Start();
  // Valid after Begin.
  const WatchFilter& filter() const { return filter_; }

  placement::Revision position() const;
  bool ended() const;
  // Whether it is told as things happen; else it is told what it asks for.
  void SetLive(bool live);
  // Has nothing to send and is not told as things happen.
  bool IsHungry() const;

  // Tells the next part of the snapshot. Returns false where there is none left. One at a time.
  bool TellSnapshot();
  // Whether it may be told more than waits already: of one that is told what it asks for, not much
  // is kept.
  bool HasRoom() const;
  // Tells `told`, unless it has been. Ends the stream with WATCHER_TOO_SLOW where too much waits for
  // one that is told as things happen.
  void Tell(const ToldRevision& told);
  // All up to `revision` has been told.
  void SkipTo(placement::Revision revision);
  // The time is `now`, and all up to `revision` has been told to those who are told as things
  // happen. Says how far this one is, where nothing else was said for a while; ends the stream where
  // a message does not go, or a snapshot takes too long.
  void Beat(placement::Revision revision, absl::Time now);
  // The message in flight is gone, or will never be.
  void Sent(bool ok);
  // Ends the stream; what waits is dropped. Idempotent.
  void End(const absl::Status& status);
  // The sink is going. REQUIRES: ended.
  void Closed();

 private:
  void Put(WatchMessage message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status TooSlow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SnapshotTooSlow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WatchSink* const sink_;
  const WatchLimits limits_;
  WatchFilter filter_;

  mutable placement::Mutex mutex_;
  placement::Revision position_ ABSL_GUARDED_BY(mutex_);  // told, or waiting to be sent
  std::unique_ptr<WatchSnapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
  bool in_snapshot_ ABSL_GUARDED_BY(mutex_) = false;  // it has not been told to its end
  absl::Time begun_at_ ABSL_GUARDED_BY(mutex_);
  std::deque<WatchMessage> outbox_ ABSL_GUARDED_BY(mutex_);
  size_t outbox_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<absl::Time> sending_since_ ABSL_GUARDED_BY(mutex_);
  absl::Time sent_at_ ABSL_GUARDED_BY(mutex_);
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool live_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};
using WatcherPtr = std::shared_ptr<Watcher>;

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_WATCHER_H_
