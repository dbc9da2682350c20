// ImportPlace: the one import that a process takes at a time, and how long its caller may be silent.
//
// An import is held in memory as a whole, so there is a place for one; a caller that sends nothing
// gives it back. Only the wait for the caller is timed: never a worker, nor the ledger. Keeps what
// ends the call that has the place. Thread-safe; free of gRPC.
//
// A call is ended once: by this one, or by whoever has heard its caller and has not awaited more.
#ifndef BERTH_SERVICES_API_IMPORT_PLACE_H_
#define BERTH_SERVICES_API_IMPORT_PLACE_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"

namespace berth::services {

class ImportPlace {
 public:
  // Ends a call. Called without a lock, at most once, by whoever calls Await, Tick or EndAll.
  using End = std::function<void(const absl::Status&)>;

  static constexpr absl::Duration kSilenceMax = absl::Seconds(30);  // of one wait for the caller
  static constexpr absl::Duration kReadingMax = absl::Minutes(10);  // from Take on

  // Takes the place, and returns the ticket to it, above 0; 0 where another one has it.
  int64_t Take(absl::Time now, End end);
  // Waits for the caller from now on: `read` begins to. It is called at once and under the lock, so
  // that whoever ends the call comes before it or after it; it must not call back. Where the call
  // has been ended, or is here, nothing is read.
  void Await(int64_t ticket, absl::Time now, absl::FunctionRef<void()> read);
  // The caller is awaited no more. Returns false where the call has been ended: nothing is left to
  // do.
  [[nodiscard]] bool Heard(int64_t ticket);
  // Gives the place back, where `ticket` still has it. REQUIRES: the caller is not awaited.
  void Leave(int64_t ticket);

  // One step of the timer, about once a second: ends a call whose caller is too slow with
  // DEADLINE_BEFORE_START.
  void Tick(absl::Time now);
  // Ends the call with NOT_SERVING if it awaits its caller, now or later, and so each that begins.
  // One that has heard all is not disturbed.
  void EndAll();

 private:
  End Free() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  placement::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t tickets_ ABSL_GUARDED_BY(mutex_) = 0;  // handed out so far
  int64_t holder_ ABSL_GUARDED_BY(mutex_) = 0;   // 0: nobody
  End end_ ABSL_GUARDED_BY(mutex_);
  absl::Time begun_at_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Time> silent_since_ ABSL_GUARDED_BY(mutex_);  // while the caller is awaited
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_IMPORT_PLACE_H_
