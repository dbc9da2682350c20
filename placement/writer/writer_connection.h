// WriterConnection: the connection that writes, and the pauses between attempts to use the
// database.
//
// Owns the connection. Belongs to the writer's thread, but any thread may call Watch, Shut and
// ConnectsSlowly.
//
// Invariants:
//   1. is_open() does not notice that the connection broke: a caller who finds it broken calls Lost
//      or Close.
//   2. The first pause lasts 20 ms. Each pause is twice as long as the pause before it, up to 1 s.
//      After Succeeded, the next pause lasts 20 ms again. CommandQueue::Nudge ends a pause early.
//   3. Watch ends a call on the open connection that has lasted for no_progress_max plus 1 ms for
//      each row that the call writes (Expect).
#ifndef BERTH_PLACEMENT_WRITER_WRITER_CONNECTION_H_
#define BERTH_PLACEMENT_WRITER_WRITER_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "placement/publish/health.h"
#include "placement/publish/options.h"
#include "placement/store/database.h"
#include "placement/writer/command_queue.h"

namespace berth::placement {

class WriterConnection {
 public:
  // All of these must outlive the connection.
  WriterConnection(const LedgerOptions& options, CommandQueue* queue, Health* health);

  // Connects, and sets Health::reachable to the result. Tells the operator, and returns false, if
  // that fails. REQUIRES: !is_open().
  bool Open();
  void Close();
  bool is_open() const { return open_ != nullptr; }
  // REQUIRES: is_open().
  Database& database() const { return *open_; }
  // Rolls the open transaction back. Closes the connection, and returns false, if that fails.
  // REQUIRES: is_open().
  bool Rollback();
  // To be called after a wait for the ledger's lock has timed out. Ends the session that holds the
  // lock if its client seems to be paused (EndIdleLockHolder). Tells the operator whether it did.
  // REQUIRES: is_open(), and no transaction is open.
  void EndIdleHolder();

  // Waits before the next attempt after a failure (invariant 2).
  void Pause();
  // To be called when a batch succeeded.
  void Succeeded();
  // Closes a broken connection. Then pauses, if Lost was called before since the last Succeeded.
  void Lost();

  // Says how many rows the next call writes. To be called with 0 after that call.
  void Expect(int64_t rows) { writing_rows_ = rows; }
  // Shuts the connection if the call that runs on it has taken too long (invariant 3). To be called
  // regularly.
  void Watch();
  // Makes the call that waits on the open connection fail, and all later ones. Does not end Open.
  void Shut();
  // Whether the present call of Open has lasted for no_progress_max or longer.
  bool ConnectsSlowly() const;

 private:
  const LedgerOptions& options_;
  CommandQueue* const queue_;
  Health* const health_;

  Mutex mutex_;
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
  Database* open_ = nullptr;  // database_, for the writer's thread, which reads it without mutex_
  std::atomic<int64_t> writing_rows_{0};
  // The time of the boot clock at which the present call of Open began; 0 if none runs.
  std::atomic<int64_t> connecting_since_ns_{0};
  absl::Duration pause_;  // the length of the next pause
  int losses_ = 0;        // calls of Lost since the last Succeeded
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_WRITER_CONNECTION_H_
