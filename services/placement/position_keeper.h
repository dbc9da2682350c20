// PositionKeeper: writes the newest position of the ledger to its file, on a thread of its own.
//
// The state directory may hang, for example because it is on a dead file server. Then the thread of
// the keeper hangs, and no other. At most one write runs, and at most one position waits for it: a
// newer position takes its place. Thread-safe.
#ifndef BERTH_SERVICES_PLACEMENT_POSITION_KEEPER_H_
#define BERTH_SERVICES_PLACEMENT_POSITION_KEEPER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/store/position_file.h"

namespace berth::services {

class PositionKeeper {
 public:
  using TellOperator = std::function<void(const std::string&)>;

  // A write that lasts longer than this is told to the operator.
  static constexpr absl::Duration kWriteWithin = absl::Seconds(5);

  // `path`: of the file; empty: there is none, and no call does anything. `tell_operator` is called
  // from the thread of the keeper and from those that call Keep.
  PositionKeeper(const std::string& path, TellOperator tell_operator);
  // Calls Stop, which then does not wait.
  ~PositionKeeper();

  // Has `position` written when the write that runs has ended. Never waits. Tells the operator when
  // a write lasts too long, and when the directory answers again; and when a write fails, unless
  // the one before it failed, too.
  void Keep(const placement::Position& position, placement::BootTime now);
  // Waits until the position of the last Keep is written, or its write has failed; until `until` at
  // most. Returns false if this time has passed: a write hangs. The thread is then left behind, and
  // ends with its write. No later call does anything.
  bool Stop(placement::BootTime until);

 private:
  // What the keeper and its thread share. A thread that was left behind still has it.
  struct Work;
  static void Run(const std::shared_ptr<Work>& work);

  const std::shared_ptr<Work> work_;
  std::thread thread_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PLACEMENT_POSITION_KEEPER_H_
