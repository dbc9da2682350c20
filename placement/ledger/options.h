// How a ledger is to behave, and how it stands.
#ifndef BERTH_PLACEMENT_LEDGER_OPTIONS_H_
#define BERTH_PLACEMENT_LEDGER_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "placement/values/types.h"

namespace berth::placement {

// Steps of the writer, for tests that stop it or its database at a known point.
enum class LedgerStep { kBeforeLock, kLocked, kBeforeWrite, kCommitted, kPublished };

struct LedgerOptions {
  std::string database_url;
  int queue_max = 4096;  // commands that wait; one more is refused with UNAVAILABLE
  int batch_commands_max = 256;
  int batch_rows_max = 2000;
  absl::Duration batch_deciding_max = absl::Milliseconds(10);
  absl::Duration no_progress_max = absl::Seconds(5);  // then the writer's socket is shut
  absl::Duration staleness_max = absl::Seconds(1);    // of reads
  int64_t log_rows_kept = 100'000;                    // the horizon: older rows go
  int awaits_max = 10'000;
  absl::Duration requests_kept = absl::Hours(24);  // at least; they go by the hour
  // How many batches, changes and bytes the feed holds in memory at the most.
  int64_t feed_rows_kept = 4096;
  int64_t feed_changes_kept = 500'000;
  int64_t feed_bytes_kept = int64_t{256} << 20;
  std::function<absl::Time()> wall_clock = absl::Now;
  // Monotonic, and running while the machine sleeps (CLOCK_BOOTTIME). Empty: the system's.
  std::function<absl::Duration()> boot_clock;
  std::function<void(LedgerStep)> at_step;  // empty but in tests
  std::function<void(const std::string&)>
      tell_operator;  // lost connections, recoveries, alarms, in words
};

// How the ledger stands, for health checks and metrics.
struct LedgerHealth {
  bool writable = false;           // may write, and its database is reached, or was a moment ago
  bool recovery_required = false;  // the database went back in time: reads only, until StartEpoch
  bool format_too_new = false;     // the log holds rows of a newer format than this release knows
  bool writing_stopped = false;    // a second reload within a minute: an operator must look
  absl::Duration staleness;        // since the last successful poll or commit began
  // Where the database was last seen while recovery is required; else {0, 0}.
  Revision database_revision;
  // The revision after which every log row was there when the follower last looked; none: not yet.
  std::optional<Revision> oldest_watchable;
  int64_t queue_length = 0;
  int64_t batches = 0, commands = 0, refusals = 0, in_doubt = 0, reconnects = 0;
  // Writes of allocations that came to hold, and those refused for want of room or for another
  // reason; writes refused because their author knew an older generation.
  int64_t claims_done = 0, claims_without_room = 0, claims_refused = 0;
  int64_t provider_conflicts = 0, consumer_conflicts = 0;
  int64_t followed_rows = 0, reloads = 0;  // log rows read to catch up; whole-table loads
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_OPTIONS_H_
