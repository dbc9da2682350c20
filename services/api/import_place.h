// ImportPlace: lets this process run one import at a time, and ends an import whose caller is too
// slow.
//
// The reason for the limit is that a process keeps a whole import in memory. The running import has
// the place; a ticket identifies it. The time limits count only the time in which the import waits
// for its caller, and not the time of workers or of the ledger. Thread-safe; free of gRPC.
//
// A call is ended once. While the call awaits its caller, the ImportPlace may end the call by its
// End. At all other times only the thread that works for the call may end it.
#ifndef BERTH_SERVICES_API_IMPORT_PLACE_H_
#define BERTH_SERVICES_API_IMPORT_PLACE_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"

namespace berth::services {

class ImportPlace {
 public:
  // Ends a call. Await, Tick or EndAll calls it at most once, without a lock.
  using End = std::function<void(const absl::Status&)>;

  static constexpr absl::Duration kSilenceMax = absl::Seconds(30);  // one wait for the caller
  static constexpr absl::Duration kReadingMax = absl::Minutes(10);  // all waits, counted from Take

  // Takes the place and returns its ticket, above 0. Returns 0 if another import has the place.
  int64_t Take(placement::BootTime now, End end);
  // Marks the call as waiting for its caller, and calls `read`, which begins to read a message. The
  // lock of the ImportPlace is held meanwhile, so nobody can end the call; `read` must not call the
  // ImportPlace. Does not call `read` in two cases: if the call has been ended already, does
  // nothing; if EndAll was called, ends the call.
  void Await(int64_t ticket, placement::BootTime now, absl::FunctionRef<void()> read);
  // To be called when the call's caller has sent something: the call no longer awaits its caller.
  // Returns false if the call has been ended meanwhile; then nothing is left to do.
  [[nodiscard]] bool Heard(int64_t ticket);
  // Gives the place back if `ticket` still has it. REQUIRES: the call does not await its caller.
  void Leave(int64_t ticket);

  // One step of the timer, called about once a second. Ends the call with DEADLINE_BEFORE_START if
  // its caller is too slow.
  void Tick(placement::BootTime now);
  // Ends the call with NOT_SERVING as soon as it awaits its caller, and does the same with every
  // later call. A call that has received all its records goes on.
  void EndAll();

 private:
  End Free() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  placement::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t tickets_ ABSL_GUARDED_BY(mutex_) = 0;  // number of tickets given so far
  int64_t holder_ ABSL_GUARDED_BY(mutex_) = 0;   // the ticket that has the place; 0: none
  End end_ ABSL_GUARDED_BY(mutex_);
  placement::BootTime begun_at_ ABSL_GUARDED_BY(mutex_);
  std::optional<placement::BootTime> silent_since_
      ABSL_GUARDED_BY(mutex_);  // set while the call awaits its caller
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_IMPORT_PLACE_H_
