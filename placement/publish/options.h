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

// Steps of the writer. A test can stop the writer, or the writer's database, at one of these steps.
//   kBeforeLock    the commands of the batch are taken; none is decided
//   kLocked        long road only: this process has the lock
//   kDecided       short road only: the batch is decided, and no command has begun
//   kDecidedAhead  short road only: a batch is decided while the one before it is being committed
//   kBeforeWrite   the message that writes or compares the batch is about to be sent
//   kCommitted, kPublished
enum class LedgerStep {
  kBeforeLock,
  kLocked,
  kDecided,
  kDecidedAhead,
  kBeforeWrite,
  kCommitted,
  kPublished
};

// Which roads the writer may take (roads.h). kShortFirst: every batch tries the short road first,
// even if another process writes all the time. For tests and comparisons; kByHistory is the
// default.
enum class LedgerRoads { kByHistory, kLong, kShortFirst };

struct LedgerOptions {
  std::string database_url;
  int queue_max = 4096;        // how many commands may wait; one more is refused with UNAVAILABLE
  int batch_weight_max = 256;  // a batch of this weight (WeightOf) takes no more commands
  int batch_rows_max = 2000;
  int64_t batch_facts_bytes_max = int64_t{4}
                                  << 20;  // a batch with more facts takes no more commands
  absl::Duration batch_deciding_max = absl::Milliseconds(10);
  absl::Duration no_progress_max =
      absl::Seconds(5);  // a call to the database that lasts longer fails
  absl::Duration staleness_max = absl::Seconds(1);  // an older state is not served to readers
  int64_t log_rows_kept = 100'000;                  // the newest rows; older ones are deleted
  int awaits_max = 10'000;                          // how many readers may wait for a revision
  absl::Duration requests_kept = absl::Hours(24);   // request ids are kept this long or longer
  // The maximum numbers of batches, of changes and of bytes that the feed holds in memory.
  int64_t feed_rows_kept = 4096;
  int64_t feed_changes_kept = 500'000;
  int64_t feed_bytes_kept = int64_t{256} << 20;
  // The path of a file that keeps the newest position of this process. Open compares the file with
  // the database, and the caller writes the file (Ledger::PositionToKeep). Empty: no such file.
  std::string position_path;
  // Read only for the first position (LedgerClock).
  std::function<absl::Time()> wall_clock = absl::Now;
  // Measures the ages of states and leases. Deadlines are always times of BootNow.
  std::function<BootTime()> boot_clock = BootNow;
  LedgerRoads roads = LedgerRoads::kByHistory;
  std::function<void(LedgerStep)> at_step;  // called by the writer's thread; for tests
  std::function<void(const std::string&)>
      tell_operator;  // called with a text for each lost connection, recovery and alarm

  // Calls at_step, if there is one.
  void Step(LedgerStep step) const {
    if (at_step) at_step(step);
  }
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_OPTIONS_H_
