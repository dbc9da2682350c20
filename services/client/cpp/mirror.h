// Mirror: the whole ledger in the memory of a client, kept up to date.
//
// It follows WatchService.Watch at one placement process, and after a failure goes on at the next
// one, after the last complete revision. Owns one thread, which reads the stream and makes the
// views. Readers take a view, which never changes, so they neither wait nor make the mirror wait.
// Thread-safe.
//
// The view never goes back. If the changes after it cannot be had, a snapshot replaces it. A process
// whose snapshot is older than the view lags, and is left like one that is UNAVAILABLE. A revision is
// later than all those of earlier epochs.
//
// Time: a revision is visible as soon as its last message has arrived and was applied, some
// microseconds for each change. Memory: each view that is still held keeps what was changed since.
// While a mirror begins anew, it holds the old view and the new one.
#ifndef BERTH_SERVICES_CLIENT_CPP_MIRROR_H_
#define BERTH_SERVICES_CLIENT_CPP_MIRROR_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "services/client/cpp/backoff.h"
#include "services/client/cpp/endpoint.h"
#include "services/client/cpp/failure.h"
#include "services/client/cpp/mirror_state.h"
#include "services/client/cpp/mutex.h"

namespace berth::client {

struct MirrorOptions {
  // Only entities of these kinds are mirrored. Empty: all.
  std::vector<placement::v1::EntityKind> kinds;
  // A stream on which nothing comes for so long is given up. Placement sends something every 5 s,
  // but not while it prepares a snapshot.
  absl::Duration silence_max = absl::Seconds(30);
};

// All are called by the mirror's thread, one at a time, and hold it up; the first call may come
// before the constructor returns. Null: not called. None may destroy the mirror.
struct MirrorListener {
  // A revision is complete, and view() has it next. For views that are derived from it: whoever
  // Awaits a revision finds it there, too.
  std::function<void(const ViewChange& change)> changed = nullptr;
  // The mirror cannot resume, and asks for a snapshot. Until that is complete, view() stays as it
  // was, and grows old. OK: a snapshot was interrupted because the certificate was renewed.
  std::function<void(const Failure& failure)> begins_anew = nullptr;
  // The stream has ended, and a new one is opened after a pause. For a log.
  std::function<void(const Failure& failure)> interrupted = nullptr;
};

class Mirror {
 public:
  struct Status {
    bool following = false;  // the present stream has sent a complete revision
    Failure failure;         // why the last stream ended; OK: none has
    // The time since placement last said how far the ledger is: up to 5 s while nothing changes.
    // Infinite: there is no view.
    absl::Duration age = absl::InfiniteDuration();
    // Counters since the mirror was made.
    int64_t streams = 0;     // that were opened
    int64_t begun_anew = 0;  // times that a snapshot had to be asked for again
  };

  // Begins at once. Pauses of 100 ms to 10 s, drawn at random, are between two streams.
  explicit Mirror(std::shared_ptr<Endpoints> endpoints, MirrorOptions options = {},
                  MirrorListener listener = {});
  // Cancels the stream, and waits until no callback runs.
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // The newest complete revision. Null: no snapshot has been complete so far.
  std::shared_ptr<const View> view() const;
  // Waits until the view has `revision` or a later one, for example that of the caller's own write,
  // and returns the view. Null: it has not come within `timeout`. With MirrorOptions::kinds, a
  // revision that changes nothing of these kinds may be told 5 s late.
  std::shared_ptr<const View> Await(const placement::v1::Revision& revision,
                                    absl::Duration timeout) const;
  Status status() const;

 private:
  enum class Ended { kFailed, kRenewed, kStopping };

  void Run();
  Ended FollowOnce(Failure* failure);
  // Returns whether the operation in progress succeeded.
  bool Wait(grpc::ClientContext* context, grpc::CompletionQueue* queue, Ended* ended,
            Failure* failure);
  void Hear(placement::v1::WatchResponse* message, grpc::ClientContext* context, Failure* failure);
  bool Register(grpc::ClientContext* context);
  bool Pause(absl::Duration pause);

  const std::shared_ptr<Endpoints> endpoints_;
  const MirrorOptions options_;
  const MirrorListener listener_;
  // Of the thread.
  MirrorState state_;
  Backoff backoff_;
  int64_t renewals_ = 0;  // of the endpoints, when the stream was opened

  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the stream, if it is open
  std::shared_ptr<const View> view_ ABSL_GUARDED_BY(mutex_);
  Status status_ ABSL_GUARDED_BY(mutex_);  // without the age
  absl::Duration heard_at_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses the rest
};

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_MIRROR_H_
