// Health: the counters and alarms of one ledger. The ledger's threads write them; health checks
// and metrics read them. Thread-safe.
#ifndef BERTH_PLACEMENT_PUBLISH_HEALTH_H_
#define BERTH_PLACEMENT_PUBLISH_HEALTH_H_

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "placement/ground/mutex.h"
#include "placement/publish/batch_tally.h"
#include "placement/state/state.h"
#include "placement/values/types.h"

namespace berth::placement {

// The counters and alarms of a ledger at one moment.
struct LedgerHealth {
  bool writable = false;           // takes commands: no alarm, and the database can be reached
  bool recovery_required = false;  // the database went back in time: reads only, until StartEpoch
  bool format_too_new = false;     // the log holds rows of a newer format than this release knows
  bool writing_stopped = false;    // writes are refused until an operator restarts the process
  absl::Duration staleness;        // time since the start of the last successful poll or commit
  // The newest revision of the database, with its batch, while recovery is required; else {0, 0}.
  Revision database_revision;
  // The log has every row after this revision, as the follower last saw. None: the follower has not
  // looked yet.
  std::optional<Revision> oldest_watchable;
  int64_t queue_length = 0;
  int64_t batches = 0, commands = 0, refusals = 0, in_doubt = 0, reconnects = 0;
  // The counts of BatchTally, summed since the start of the process.
  int64_t claims_done = 0, claims_without_room = 0, claims_refused = 0;
  int64_t provider_conflicts = 0, consumer_conflicts = 0;
  int64_t followed_rows = 0, reloads = 0;  // log rows applied; loads of all tables
  // Batches that the short road committed or answered; batches that were decided in vain because
  // the comparison under the lock failed; batches that were decided and not sent, because a command
  // was cancelled or too late, or because the batch before failed. The commands of the last two
  // kinds were decided again.
  int64_t short_batches = 0, moved_batches = 0, dropped_batches = 0;
  int64_t ahead_batches = 0;  // batches that were decided while the one before was committed
};

class Health {
 public:
  explicit Health(std::function<void(const std::string&)> tell_operator)
      : tell_operator_(std::move(tell_operator)) {}

  // Reports `words` to an operator, as a line in the log of the server.
  void Tell(const std::string& words) const {
    if (tell_operator_) tell_operator_(words);
  }

  // OK, or the refusal that all commands get as long as an operator must act.
  absl::Status WhyNoWrites() const;
  // Sets the alarm "the database went back in time". Reports `words` to the operator if the alarm
  // was not set before.
  void RequireRecovery(const std::string& words);
  // Notes that the database has lost `lost`, a position that this process once had.
  void SetLost(const Position& lost);
  // The position that SetLost noted; none if nothing is known to be lost.
  std::optional<Position> lost() const;
  // To be called when the published state, at revision `newest`, agrees with the database. Recovery
  // is then no longer required. Exception: if SetLost noted a position, recovery ends only if the
  // epoch of `newest` is later than that position's epoch.
  void Agree(Revision newest);
  // Sets the newest revision, with its batch, of a database that went back in time. {0, 0}: the
  // database did not go back, or its revision is not known.
  void SetDatabaseRevision(Revision revision);
  Revision database_revision() const;
  // Notes that the log has every row after `revision`. oldest_watchable() is none until the first
  // call.
  void SetOldestWatchable(Revision revision);
  std::optional<Revision> oldest_watchable() const;
  // All counters and alarms. Here `writable` only means that no alarm is set. The fields staleness
  // and queue_length are left empty, because other parts of the ledger know them.
  LedgerHealth Snapshot() const;
  // Adds the counts of a batch that was answered.
  void Add(const BatchTally& tally);

  // Whether a new command may wait in the queue. False if an attempt to connect failed, or if the
  // database refused writes or could not be read. A lost connection alone does not make it false.
  std::atomic<bool> reachable{true};
  std::atomic<bool> recovery_required{false};
  std::atomic<bool> format_too_new{false};
  std::atomic<bool> writing_stopped{false};
  std::atomic<int64_t> batches{0}, commands{0}, refusals{0}, in_doubt{0}, reconnects{0};
  std::atomic<int64_t> claims_done{0}, claims_without_room{0}, claims_refused{0};
  std::atomic<int64_t> provider_conflicts{0}, consumer_conflicts{0};
  std::atomic<int64_t> followed_rows{0}, reloads{0};
  std::atomic<int64_t> short_batches{0}, moved_batches{0}, dropped_batches{0}, ahead_batches{0};

 private:
  const std::function<void(const std::string&)> tell_operator_;
  mutable Mutex mutex_;
  Revision database_revision_ ABSL_GUARDED_BY(mutex_);
  std::optional<Revision> oldest_watchable_ ABSL_GUARDED_BY(mutex_);
  std::optional<Position> lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_HEALTH_H_
