// Health: the counters and alarms of one ledger. The ledger's threads write them; health checks
// and metrics read them. Thread-safe.
#ifndef BERTH_PLACEMENT_LEDGER_HEALTH_H_
#define BERTH_PLACEMENT_LEDGER_HEALTH_H_

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/batch_tally.h"
#include "placement/state/state.h"
#include "placement/values/types.h"

namespace berth::placement {

// The counters and alarms of a ledger at one moment.
struct LedgerHealth {
  bool writable = false;           // takes commands: no alarm, and the database can be reached
  bool recovery_required = false;  // the database went back in time: reads only, until StartEpoch
  bool format_too_new = false;     // the log holds rows of a newer format than this release knows
  bool writing_stopped = false;    // a second reload within a minute: an operator must look
  absl::Duration staleness;        // since the last successful poll or commit began
  // While recovery is required: the newest revision of the database; else {0, 0}.
  Revision database_revision;
  // The revision after which the log has every row, as the follower last saw; none: it has not
  // looked.
  std::optional<Revision> oldest_watchable;
  int64_t queue_length = 0;
  int64_t batches = 0, commands = 0, refusals = 0, in_doubt = 0, reconnects = 0;
  // As in BatchTally, since the start.
  int64_t claims_done = 0, claims_without_room = 0, claims_refused = 0;
  int64_t provider_conflicts = 0, consumer_conflicts = 0;
  int64_t followed_rows = 0, reloads = 0;  // log rows applied; loads of all tables
};

class Health {
 public:
  explicit Health(std::function<void(const std::string&)> tell_operator)
      : tell_operator_(std::move(tell_operator)) {}

  // Tells an operator: a line in the log of the server.
  void Tell(const std::string& words) const {
    if (tell_operator_) tell_operator_(words);
  }

  // OK, or the refusal of all commands as long as an operator must act.
  absl::Status WhyNoWrites() const;
  // The database went back in time. Tells the operator, but only the first time.
  void RequireRecovery(const std::string& words);
  // This process knows that the database has lost `lost`, which it once had.
  void SetLost(const Position& lost);
  // That position; none: nothing is known to be lost.
  std::optional<Position> lost() const;
  // The published state at `newest` agrees with the database: recovery is no longer required. But
  // if a position is known to be lost, only a state of a later epoch ends the recovery.
  void Agree(Revision newest);
  // The newest revision of a database that went back in time. {0, 0}: it did not, or its revision
  // is not known.
  void SetDatabaseRevision(Revision revision);
  Revision database_revision() const;
  // The revision after which the log has every row; none: nobody has looked yet.
  void SetOldestWatchable(Revision revision);
  std::optional<Revision> oldest_watchable() const;
  // All counters and alarms; `writable` says only whether no alarm forbids writes. What other parts
  // of the ledger know is left empty: staleness and queue_length.
  LedgerHealth Snapshot() const;
  // Adds the counts of a batch that was answered.
  void Add(const BatchTally& tally);

  // Whether a new command may wait in the queue. False after an attempt to connect failed, or after
  // the database refused writes or could not be read. A lost connection alone does not make it
  // false.
  std::atomic<bool> reachable{true};
  std::atomic<bool> recovery_required{false};
  std::atomic<bool> format_too_new{false};
  std::atomic<bool> writing_stopped{false};
  std::atomic<int64_t> batches{0}, commands{0}, refusals{0}, in_doubt{0}, reconnects{0};
  std::atomic<int64_t> claims_done{0}, claims_without_room{0}, claims_refused{0};
  std::atomic<int64_t> provider_conflicts{0}, consumer_conflicts{0};
  std::atomic<int64_t> followed_rows{0}, reloads{0};

 private:
  const std::function<void(const std::string&)> tell_operator_;
  mutable Mutex mutex_;
  Revision database_revision_ ABSL_GUARDED_BY(mutex_);
  std::optional<Revision> oldest_watchable_ ABSL_GUARDED_BY(mutex_);
  std::optional<Position> lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_HEALTH_H_
