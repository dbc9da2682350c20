// Health: the counters and alarms of one ledger. The threads of the ledger set them; health checks
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

// A copy of the counters and alarms of a ledger, read one after the other.
struct LedgerHealth {
  bool writable = false;           // no alarm is set, and the writer seems to reach the database
  bool recovery_required = false;  // the database went back in time: no writes
  bool format_too_new = false;     // the log has a newer format than this release knows: no writes
  bool writing_stopped = false;    // writes are refused until an operator restarts the process
  absl::Duration staleness;        // see Publisher::staleness
  // While recovery is required: the newest revision of the database, with its batch, when this
  // process last found that the database had gone back. Else {0, 0}.
  Revision database_revision;
  // The log has every row after this revision, as the follower last saw. None: not known yet.
  std::optional<Revision> oldest_watchable;
  int64_t queue_length = 0;
  int64_t batches = 0, commands = 0, refusals = 0, in_doubt = 0, reconnects = 0;
  // Commands that were refused or put out because the queue was full (FairQueue).
  int64_t refused_by_turn = 0;
  // The counts of BatchTally, added up over the batches that this process has answered.
  int64_t claims_done = 0, claims_without_room = 0, claims_refused = 0;
  int64_t provider_conflicts = 0, consumer_conflicts = 0;
  // The rows that CatchUp and ApplyRead have returned as applied, and the successful loads of all
  // tables by the follower or the writer.
  int64_t followed_rows = 0, reloads = 0;
  // short_batches: batches that succeeded on the short road (roads.h), also those that had nothing
  // to write. moved_batches: batches of either road that had no effect, because the comparison
  // under the lock failed. dropped_batches: batches that were decided for the short road and not
  // sent, because one of their commands could not begin any more, or because the batch before
  // failed.
  int64_t short_batches = 0, moved_batches = 0, dropped_batches = 0;
  // Batches with commands that were decided while the batch before was on its way, and that batch
  // then succeeded.
  int64_t ahead_batches = 0;
};

class Health {
 public:
  explicit Health(std::function<void(const std::string&)> tell_operator)
      : tell_operator_(std::move(tell_operator)) {}

  // Calls the constructor's `tell_operator` with `words`, unless that function is null.
  void Tell(const std::string& words) const {
    if (tell_operator_) tell_operator_(words);
  }

  // OK if no alarm is set; else the refusal that new commands get.
  absl::Status WhyNoWrites() const;
  // Sets the alarm recovery_required: the database went back in time. Tells the operator `words` if
  // the alarm was not set before.
  void RequireRecovery(const std::string& words);
  // Notes that the database has lost `lost`, the position that was in the file at the start
  // (LedgerOptions::position_path).
  void SetLost(const Position& lost);
  // The position that SetLost noted, until Agree forgets it; else none.
  std::optional<Position> lost() const;
  // To be called when the published state, at revision `newest`, agrees with the database. Recovery
  // is then no longer required, and lost() is forgotten. Exception: if lost() is a position whose
  // epoch is that of `newest` or later, Agree does nothing.
  void Agree(Revision newest);
  // Notes the newest revision, with its batch, of a database that went back in time; {0, 0} if its
  // log is empty. database_revision() is {0, 0} until the first call.
  void SetDatabaseRevision(Revision revision);
  Revision database_revision() const;
  // Notes that the log has every row after `revision`. oldest_watchable() is none until the first
  // call.
  void SetOldestWatchable(Revision revision);
  std::optional<Revision> oldest_watchable() const;
  // All counters and alarms. Here `writable` only means that no alarm is set. The fields staleness
  // and queue_length are left 0, because other parts of the ledger know them.
  LedgerHealth Snapshot() const;
  // Adds the counts of `tally`. To be called once for each batch that is answered.
  void Add(const BatchTally& tally);

  // False: new commands are refused, because the writer could not connect or read, or has ended. A
  // lost connection alone does not make this false, nor a lock that another process holds.
  std::atomic<bool> reachable{true};
  std::atomic<bool> recovery_required{false};
  std::atomic<bool> format_too_new{false};
  std::atomic<bool> writing_stopped{false};
  std::atomic<int64_t> batches{0}, commands{0}, refusals{0}, in_doubt{0}, reconnects{0};
  std::atomic<int64_t> refused_by_turn{0};
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
