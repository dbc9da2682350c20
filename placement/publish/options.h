// LedgerOptions: the settings of a ledger. A plain value.
#ifndef BERTH_PLACEMENT_PUBLISH_OPTIONS_H_
#define BERTH_PLACEMENT_PUBLISH_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"

namespace berth::placement {

// Steps of the writer on its two roads (roads.h). A test can stop the writer, or the writer's
// database, at one of these steps.
//   kBeforeLock    the commands of a turn (turns.h) are taken, and none of them is decided
//   kLocked        long road only: this process has the lock
//   kDecided       short road only: a batch is decided, and none of its commands has begun
//   kDecidedAhead  short road only: a batch is decided, and the outcome of the batch before is
//                  still to be received
//   kBeforeWrite   the message that writes a batch is about to be sent; on the long road also one
//                  that only compares
//   kCommitted     a batch is committed and not published yet
//   kPublished     a batch is published, and its answers are given or posted; on the short road
//                  also a batch that had nothing to write
enum class LedgerStep {
  kBeforeLock,
  kLocked,
  kDecided,
  kDecidedAhead,
  kBeforeWrite,
  kCommitted,
  kPublished
};

// Which roads the writer may take (roads.h). kByHistory: both, as Roads describes. kLong: only the
// long road. kShortFirst: both, but mostly the short road, even if another process has written
// lately or a request id is looked up. kLong and kShortFirst are for tests and comparisons.
enum class LedgerRoads { kByHistory, kLong, kShortFirst };

struct LedgerOptions {
  std::string database_url;
  int queue_max = 4096;  // how many commands may wait (CommandQueue)
  // Commands are taken for a batch until they weigh this (WeightOf), or less (CommandQueue::RoomIn).
  int batch_weight_max = 256;
  int batch_rows_max = 2000;  // how many table rows a batch may touch if it is not large (turns.h)
  // One call of Intake::DecideAll takes no more commands when it has decided reports with so many
  // bytes of facts, or when it has lasted so long.
  int64_t batch_facts_bytes_max = int64_t{4} << 20;
  absl::Duration batch_deciding_max = absl::Milliseconds(10);
  // How long a call of the writer or the follower over an open connection may last. The writer has
  // more time for a call that writes many rows (WriterConnection).
  absl::Duration no_progress_max = absl::Seconds(5);
  absl::Duration staleness_max = absl::Seconds(1);  // Ledger::Fresh refuses an older state
  int64_t log_rows_kept = 100'000;                  // so many of the newest log rows are kept
  // How many readers may wait. As many again, whose owner has its share, wait to be refused
  // (WaitingRoom).
  int awaits_max = 10'000;
  absl::Duration requests_kept = absl::Hours(24);  // request ids are kept this long or longer
  // The limits of the feed (FeedLimits).
  int64_t feed_rows_kept = 4096;
  int64_t feed_changes_kept = 500'000;
  int64_t feed_bytes_kept = int64_t{256} << 20;
  // The path of a file that keeps the newest position over restarts (PositionFile). Ledger::Open
  // compares the file with the database; the owner of the ledger writes the file
  // (Ledger::PositionToKeep). Empty: there is no file.
  std::string position_path;
  // Read only by LedgerClock.
  std::function<absl::Time()> wall_clock = absl::Now;
  // The clock of LedgerClock, the age of states and more. Deadlines are always times of BootNow.
  std::function<BootTime()> boot_clock = BootNow;
  LedgerRoads roads = LedgerRoads::kByHistory;
  std::function<void(LedgerStep)> at_step;  // called by the writer's thread; for tests
  // Called with each text for an operator, from any thread; may be null.
  std::function<void(const std::string&)> tell_operator;

  // Calls at_step, if there is one.
  void Step(LedgerStep step) const {
    if (at_step) at_step(step);
  }
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_OPTIONS_H_
