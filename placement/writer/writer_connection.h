// WriterConnection: the connection that writes, and the pauses between attempts to use the
// database.
//
// Owns the connection. Belongs to the writer's thread, but any thread may call Watch, Shut and
// ConnectsSlowly.
//
// Invariants:
//   1. After a failure that ended the session, is_open() is false until Open has succeeded.
//   2. Each pause is twice as long as the pause before it, up to 1 s. After a batch has succeeded,
//      the pauses start short again.
//   3. Watch ends a call to the database that has lasted for no_progress_max plus 1 ms for each row
//      that the call writes (Expect).
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
  // All of these must outlive the connection. `queue`: Nudge ends a pause.
  WriterConnection(const LedgerOptions& options, CommandQueue* queue, Health* health);

  // Connects. Tells the operator, and returns false, if that fails. REQUIRES: !is_open().
  bool Open();
  void Close();
  bool is_open() const { return open_ != nullptr; }
  // REQUIRES: is_open().
  Database& database() const { return *open_; }
  // Ends the open transaction. Closes the connection, and returns false, if that fails.
  bool Rollback();
  // Ends the session of a paused process that holds the lock. REQUIRES: no transaction is open.
  void EndIdleHolder();

  // Waits before the next attempt after a failure.
  void Pause();
  // To be called when a batch succeeded.
  void Succeeded();
  // Closes a broken connection. Then pauses, if another connection has broken since the last batch
  // that succeeded.
  void Lost();

  // Says how many rows the next call writes. To be called with 0 after that call.
  void Expect(int64_t rows) { writing_rows_ = rows; }
  // Shuts the connection if the call that runs on it has taken too long. To be called again and
  // again.
  void Watch();
  // Makes the call that runs on the connection fail.
  void Shut();
  // Whether the present call of Open has lasted for no_progress_max or longer.
  bool ConnectsSlowly() const;

 private:
  const LedgerOptions& options_;
  CommandQueue* const queue_;
  Health* const health_;

  Mutex mutex_;
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
  Database* open_ = nullptr;  // database_, for the writer's thread
  std::atomic<int64_t> writing_rows_{0};
  // The time of the boot clock at which the present call of Open began; 0 if none runs.
  std::atomic<int64_t> connecting_since_ns_{0};
  absl::Duration pause_;  // the length of the next pause
  int losses_ = 0;        // broken connections since a batch succeeded
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_WRITER_CONNECTION_H_
