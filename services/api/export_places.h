// ExportPlaces: limits how many exports run in this process, and for how long.
//
// An export keeps the state at its revision in memory until the caller has read all of it. So one
// identity has kOwnerMax exports at most, all together kExportsMax. Its caller has kReadWithin in
// all to read it, which counts only the time in which a message is being sent, not the turns that
// the export waits for in this process. No export lasts longer than kLastsMax. A ticket identifies a
// running export. Thread-safe; free of gRPC.
//
// A call is ended once. While the call awaits its caller, that is, while a message is being sent,
// ExportPlaces may end the call by its End. At all other times only the thread that works for the
// call may end it.
#ifndef BERTH_SERVICES_API_EXPORT_PLACES_H_
#define BERTH_SERVICES_API_EXPORT_PLACES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"

namespace berth::services {

class ExportPlaces {
 public:
  // Ends a call. Await or Tick calls it at most once, without a lock.
  using End = std::function<void(const absl::Status&)>;

  static constexpr int kOwnerMax = 2;
  static constexpr int kExportsMax = 8;
  static constexpr absl::Duration kReadWithin = absl::Minutes(5);  // from Await to Heard, in sum
  static constexpr absl::Duration kLastsMax = absl::Minutes(30);   // from Take

  // Takes a place for an export of `owner`, the identity of the caller, and returns its ticket,
  // above 0. Returns 0 if `owner` has kOwnerMax exports, or if kExportsMax run.
  int64_t Take(const std::string& owner, placement::BootTime now, End end);
  // Marks the call as waiting for its caller, and calls `write`, which begins to send a message.
  // The lock of the ExportPlaces is held meanwhile, so nobody can end the call; `write` must not
  // call the ExportPlaces. Does not call `write` in two cases: if the call has been ended already,
  // does nothing; if the call has lasted longer than kLastsMax, or its caller has read for longer
  // than kReadWithin, ends it with WATCHER_TOO_SLOW.
  void Await(int64_t ticket, placement::BootTime now, absl::FunctionRef<void()> write);
  // To be called when the message was sent: the call no longer awaits its caller. Returns false if
  // the call has been ended meanwhile; then nothing is left to do.
  [[nodiscard]] bool Heard(int64_t ticket, placement::BootTime now);
  // Gives the place back if `ticket` still has one. REQUIRES: the call does not await its caller.
  void Leave(int64_t ticket);

  // One step of the timer, called about once a second. Ends the calls that await their caller and
  // have lasted too long, with WATCHER_TOO_SLOW.
  void Tick(placement::BootTime now);

 private:
  struct Export {
    std::string owner;
    placement::BootTime begun_at;
    End end;
    absl::Duration read_for = absl::ZeroDuration();  // in the waits that are over
    std::optional<placement::BootTime> waits_since;  // it awaits its caller
  };

  static bool IsLate(const Export& running, placement::BootTime now);

  placement::Mutex mutex_;
  int64_t tickets_ ABSL_GUARDED_BY(mutex_) = 0;                // number of tickets given so far
  std::map<int64_t, Export> exports_ ABSL_GUARDED_BY(mutex_);  // by ticket
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_EXPORT_PLACES_H_
