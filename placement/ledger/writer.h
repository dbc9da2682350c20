// Writer: the thread that takes commands in batches, has each batch decided under the ledger's lock
// and makes it durable.
//
// Owns the thread and the writing connection. Stop and Watch may be called from any thread. What it
// does when something fails stands in writer_faults.cc.
#ifndef BERTH_PLACEMENT_LEDGER_WRITER_H_
#define BERTH_PLACEMENT_LEDGER_WRITER_H_

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/answerer.h"
#include "placement/ledger/batch.h"
#include "placement/ledger/clock.h"
#include "placement/ledger/command_queue.h"
#include "placement/ledger/health.h"
#include "placement/ledger/options.h"
#include "placement/ledger/publisher.h"
#include "placement/store/database.h"
#include "placement/store/rows.h"

namespace berth::placement {

// How long an idle writer sleeps before it looks after its connection and the hour.
inline constexpr absl::Duration kIdleWaitMax = absl::Milliseconds(500);

class Writer {
 public:
  // All that is pointed to must live as long.
  Writer(const LedgerOptions& options, Publisher* publisher, CommandQueue* queue,
         Answerer* answerer, Health* health);
  ~Writer();

  void Start();
  // Settles what has begun until `settle_until`, answers the rest, ends the thread. Idempotent.
  // REQUIRES: the queue is closed.
  void Stop(absl::Time settle_until);
  // Shuts the connection when a call on it takes longer than no_progress_max, or than so many rows
  // may take.
  void Watch();
  // Whether an attempt to connect has lasted for no_progress_max: nobody knows when it will end.
  bool ConnectsSlowly() const;

 private:
  void Run();
  bool Connect();
  void Disconnect();
  bool MustEnd() const;
  // Waits before the next attempt, longer each time until a batch goes through.
  void Pause();
  // A batch did: what fails next is no series.
  void WentThrough();
  // The connection broke: the first time it is made again at once, then after a pause.
  void Lost();

  // One batch of `commands`, or of those in doubt.
  void RunBatch(std::vector<PendingPtr> commands);
  std::vector<PendingPtr> NextCommands();
  // Under the lock: brings the published state to `head`. False where the batch cannot go on; then
  // the transaction is over.
  bool ReachHead(const std::optional<LogRow>& head);
  bool MayDecide(const Pending& pending) const;
  // False where the connection broke.
  bool AskForPatience(const std::vector<PendingPtr>& commands);
  void DecideAll(std::vector<PendingPtr> commands, Batch& batch);
  void Write(std::unique_ptr<Batch> batch);
  void AnswerUnwritten(Batch& batch);
  void Count(const Batch& batch);
  void RotateRequests();
  void Step(LedgerStep step) const;
  absl::Status Call(const std::string& sql);

  // writer_leases.cc
  // Whether a batch is wanted though no command waits: a lease is over, or somebody has one and the
  // time is old.
  bool LeasesWantBatch();
  // Whether no row has told for long what time it is.
  bool TimeIsOld(const Position& position);
  // How long it may sleep where nothing is to do.
  absl::Duration IdleWait();
  // Has what is due released before the batch's first command.
  void OfferExpiry(Batch& batch);
  // Leases want no batch for a while: the database refused the last one.
  void PutOffLeases();

  // writer_faults.cc
  void PutBack(const std::vector<PendingPtr>& commands);
  void Refuse(const std::vector<PendingPtr>& commands, absl::Status status);
  void RefuseAll(absl::Status status);
  void GiveUpInDoubt();
  void LockFailed(const absl::Status& status, const std::vector<PendingPtr>& commands);
  void Refused(const absl::Status& status, Batch& batch);
  void RefusedAlone(const absl::Status& status, const PendingPtr& pending);
  void Reload();
  // Under the lock: whether the batch in doubt was committed. False where the batch cannot go on.
  bool SettleInDoubt(Batch& batch, std::vector<PendingPtr>& commands);

  const LedgerOptions options_;
  Publisher* const publisher_;
  CommandQueue* const queue_;
  Answerer* const answerer_;
  Health* const health_;

  Mutex mutex_;
  CondVar ended_changed_;
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> settle_until_ns_{0};
  std::atomic<int64_t> writing_rows_{0};  // by the call that is under way
  // On the boot clock; 0: it is not connecting.
  std::atomic<int64_t> connecting_since_ns_{0};

  // The rest belongs to the thread.
  Database* connection_ = nullptr;             // database_, or null
  BatchId committed_;                          // the last that this process knows to be durable
  std::unique_ptr<Batch> in_doubt_;            // whether it was committed is unknown
  std::vector<std::unique_ptr<Batch>> found_;  // committed, not yet proven durable
  std::deque<PendingPtr> alone_;               // each to be decided in a batch of its own
  PendingPtr big_;                             // touches more rows than a batch should
  bool last_was_big_ = false;
  bool deciding_alone_ = false;   // the batch is for one command that another batch failed with
  bool deciding_big_ = false;     // the batch is for what was in big_
  bool expiry_made_way_ = false;  // leases waited because of a big one; never twice in a row
  // On the boot clock: leases wait until then, because releasing them failed.
  std::shared_ptr<std::atomic<int64_t>> leases_wait_until_ns_ =
      std::make_shared<std::atomic<int64_t>>(0);
  PendingPtr reloaded_for_;  // the tables were loaded because of it
  std::optional<absl::Duration> reloaded_at_;
  LedgerClock clock_;
  int64_t rotated_hour_ = -1;
  absl::Duration pause_;  // before the next attempt, after a failure
  int losses_ = 0;        // of connections, since a batch went through
  std::thread thread_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_WRITER_H_
