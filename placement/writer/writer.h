// Writer: the thread that takes commands from the queue in batches, decides each batch while it
// holds the ledger's lock in PostgreSQL, and commits it.
//
// Writer owns the thread and the connection that writes. Any thread may call Stop, Watch and
// ConnectsSlowly. Start is called once. Turns (turns.h) decides which batch is next. The code that
// handles failures is in writer_faults.cc, the code of the short road (roads.h) in writer_short.cc
// and writer_ahead.cc, and the code that ends leases in writer_leases.cc.
//
// Invariants:
//   1. A decision takes effect, or is answered, only if it was made on the state of the newest log
//      row. On the long road the writer decides while it holds the lock. On the short road it
//      decides first, and PostgreSQL compares the state with the newest log row under the lock.
//   2. A command is answered after the commit of its batch, or when it is certain that the command
//      was not done, or with "outcome unknown".
//   3. A batch is published after its commit and before its answers are given.
//   4. While a batch on the short road is being committed, one more batch may be decided on the
//      state that this commit will make. It is sent after the commit has succeeded. Else it is
//      dropped: none of its commands has begun, and all go back to the queue.
#ifndef BERTH_PLACEMENT_WRITER_WRITER_H_
#define BERTH_PLACEMENT_WRITER_WRITER_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "placement/publish/answerer.h"
#include "placement/publish/catch_up.h"
#include "placement/publish/health.h"
#include "placement/publish/options.h"
#include "placement/publish/publisher.h"
#include "placement/store/database.h"
#include "placement/store/rows.h"
#include "placement/writer/batch.h"
#include "placement/writer/clock.h"
#include "placement/writer/command_queue.h"
#include "placement/writer/roads.h"
#include "placement/writer/turns.h"

namespace berth::placement {

// The longest sleep of an idle writer. After the sleep the writer checks its connection and removes
// old request ids.
inline constexpr absl::Duration kIdleWaitMax = absl::Milliseconds(500);
// The first pause after a failure.
inline constexpr absl::Duration kPauseMin = absl::Milliseconds(20);

class Writer {
 public:
  // The publisher, the queue, the answerer and the health must outlive the writer.
  Writer(const LedgerOptions& options, Publisher* publisher, CommandQueue* queue,
         Answerer* answerer, Health* health);
  ~Writer();

  void Start();
  // Waits until all batches are settled (turns.h), until `settle_until` at the latest. Tells the
  // callers of all other commands that nothing was done, then ends the thread. A second call does
  // nothing. REQUIRES: the queue is closed.
  void Stop(BootTime settle_until);
  // Shuts the connection if the call that runs on it has taken longer than no_progress_max plus 1
  // ms for each row that the call writes.
  void Watch();
  // Whether the present attempt to connect has lasted for no_progress_max or longer. New commands
  // are then refused, because the attempt may last much longer.
  bool ConnectsSlowly() const;

 private:
  void Run();
  bool Connect();
  void Disconnect();
  bool MustEnd() const;
  // Waits before the next attempt after a failure. Each pause is twice as long as the pause before
  // it, up to 1 s. After a batch has succeeded, the pauses start short again.
  void Pause();
  // Notes that a batch succeeded: the next failure starts with the shortest pause again.
  void BatchSucceeded();
  // Closes a broken connection, so that Run opens a new one. If another connection has broken since
  // the last batch that succeeded, pauses first.
  void ConnectionLost();

  // Begins the next turn and returns the commands of the turn.
  std::vector<PendingPtr> BeginTurn();
  // Decides and writes the batch of the present turn, which contains `commands`.
  void RunBatch(std::vector<PendingPtr> commands);
  // Replaces the queue's list of begun commands by the commands of `first`, those of `next`, and
  // those that turns_ keeps.
  void NoteBegun(const std::vector<PendingPtr>& first, const std::vector<PendingPtr>& next);

  // Takes the lock, decides `commands` and writes the batch.
  void TakeLongRoad(const std::vector<PendingPtr>& commands);
  // Applies the log rows after the published state, `head` included, while the ledger's lock is
  // held. Returns false if the batch cannot go on; the transaction is over then.
  bool ReachHead(const std::optional<LogRow>& head);
  // Handles the result `step` of CatchUp if the batch cannot go on after it: reports it to the
  // operator, ends the transaction, and loads the tables if that helps.
  void StopBehindHead(const absl::StatusOr<CatchUpStep>& step, const Position& head);
  // If one of `commands` is large, lets this session be idle for 60 s instead of 2 s before
  // PostgreSQL ends it. Returns false if the connection broke.
  bool AllowLongSilence(const std::vector<PendingPtr>& commands);
  // Writes the batch in the open transaction and commits. If the batch has nothing to write,
  // compares its request ids.
  void Write(std::unique_ptr<Batch> batch);

  // The next six methods are defined in writer_short.cc.
  Road ChooseRoad(const std::vector<PendingPtr>& commands);
  // Decides `commands` and sends the batch, then those that were decided ahead. If a batch was not
  // written, its commands go back to the queue, and the next batch takes the long road.
  void TakeShortRoad(std::vector<PendingPtr> commands);
  // Begins the commands of `batch` and sends the batch. Returns false if nothing was sent; the
  // commands are back in the queue then. `*before`: the batch before, which is committed, or null.
  // Answers the batch before, and sets `*before` to null, if the message needs a round trip of
  // preparation.
  bool Send(Batch& batch, std::unique_ptr<Batch>* before);
  // Waits for the outcome of `batch`, which was sent. Returns whether it took effect.
  // If it did not, its commands and those of `ahead`, which may be null, are taken care of.
  bool Receive(std::unique_ptr<Batch>& batch, std::unique_ptr<Batch>& ahead);
  // Handles a batch of either road that PostgreSQL has not written and never will. `status`: OK if
  // the comparison under the lock failed. No transaction is open. The next shared batch takes the
  // long road, and does not fill up.
  void NotWritten(const absl::Status& status, Batch& batch);
  void TakeBack(Batch& batch);

  // The next five methods are defined in writer_ahead.cc.
  //
  // Takes commands of this `weight` from the queue, for a batch that is being decided, without
  // waiting. `sent`: the batch before, if it is being committed, else null. Returns false if the
  // next command of the queue must not be in this batch.
  bool TakeMore(int weight, const Batch* sent, std::vector<PendingPtr>* commands);
  // Decides the commands that have come while the long road waited for the lock, as far as `batch`
  // has room for them. Decides none if the batch before was not written, because another failed
  // comparison would have its commands decided once more.
  void FillUp(Batch& batch);
  // Decides commands of the queue on the state that `sent` will make, until the outcome of `sent`
  // can be received. Returns null if nothing was decided. If the batch can take no more before
  // that, the text of its message is made meanwhile, too.
  std::unique_ptr<Batch> DecideAhead(const Batch& sent);
  bool MayDecideAhead(const Batch& sent);
  bool AddAhead(const Batch& sent, std::unique_ptr<Batch>* ahead);

  // Whether the present batch may decide `pending`. A shared batch leaves out a command that is
  // known to be large (IsLarge).
  bool MayDecide(const Pending& pending) const;
  // OK, or a refusal: the call was cancelled, its deadline passed, or its batch was lost too often.
  absl::Status WhyNotDecide(const Pending& pending, BootTime now) const;
  // Offers `pending` to `batch`. `first`: no other command of the queue was offered to the batch, so
  // this one may be large if the turn allows it.
  Batch::Verdict Offer(const PendingPtr& pending, bool first, bool others_wait, Batch& batch);
  // Offers `commands` to `batch`. Puts back those that the batch has no room for, and returns
  // whether there are none. `first`: as for Offer, of the first of `commands`.
  bool DecideAll(const std::vector<PendingPtr>& commands, bool first, Batch& batch);
  // To be called when `batch` was committed. Publishes it and answers its commands, after those of
  // earlier batches that the commit proves to be durable. `began`: before the commit was sent.
  void Committed(Batch& batch, absl::Duration began);
  void PublishCommitted(Batch& batch, absl::Duration began);
  void AnswerCommitted(Batch& batch);
  void AnswerAll(Batch& batch);
  // Once an hour, drops the request ids that are too old. Tells the operator what PostgreSQL could
  // not do.
  void RotateRequests();
  static int64_t HourOf(absl::Time ledger_time);
  void Step(LedgerStep step) const;
  absl::Status Call(const std::string& sql);

  // The next five methods are defined in writer_leases.cc. LeasesWantBatch returns whether leases
  // need a batch even if no command waits: a lease has ended, or leases exist and the newest row of
  // the log is old. A new log row then records the ledger time.
  bool LeasesWantBatch();
  // Whether the newest log row is so old that a restart would lose ledger time.
  bool TimeIsOld(const Position& position);
  // How long the writer may sleep if there is nothing to do.
  absl::Duration IdleWait();
  // Before the commands of the queue: if a lease has ended, offers `batch` a command that releases
  // such leases. Else, if the newest log row is too old, makes `batch` write a row.
  void OfferExpiry(Batch& batch);
  // To be called when PostgreSQL refused a batch that was made for leases. LeasesWantBatch then
  // returns false for 10 s.
  void PutOffLeases();

  // The methods from here on are defined in writer_faults.cc.
  //
  // Puts back to the front of the queue those of `commands` that no batch has begun to decide. The
  // others now wait to be decided alone.
  void PutBack(const std::vector<PendingPtr>& commands);
  void Refuse(const std::vector<PendingPtr>& commands, absl::Status status);
  void RefuseAll(absl::Status status);
  void GiveUpUnsettled();
  void LockFailed(const absl::Status& status, const std::vector<PendingPtr>& commands);
  // Ends the session of a paused process that holds the lock. REQUIRES: no transaction is open.
  void EndIdleHolder();
  // Handles the loss of the connection while `batch` was committed.
  void Lost(std::unique_ptr<Batch> batch, const absl::Status& status);
  void Refused(const absl::Status& status, Batch& batch);
  void RefusedAlone(const absl::Status& status, const PendingPtr& pending);
  void Reload();
  bool Settle(Batch& batch);
  void ForgetOutcomes(const Batch& batch);

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
  std::atomic<int64_t> writing_rows_{0};  // rows of the statement that runs now
  // The time of the boot clock at which the present attempt to connect began; 0 if no attempt runs.
  std::atomic<int64_t> connecting_since_ns_{0};

  // All members from here on are used by the writer's thread alone.
  Database* connection_ = nullptr;  // database_, or null
  BatchId committed_;               // the newest batch that this process knows to be durable
  Turns turns_;
  Roads roads_;
  bool not_written_ = false;  // the last batch was not: see NotWritten
  // LeasesWantBatch returns false before this time of the boot clock, because a release failed.
  std::shared_ptr<std::atomic<int64_t>> leases_wait_until_ns_ =
      std::make_shared<std::atomic<int64_t>>(0);
  PendingPtr reloaded_for_;  // the command that was refused before the last reload
  std::optional<absl::Duration> reloaded_at_;
  LedgerClock clock_;
  int64_t rotated_hour_ = -1;
  absl::Duration sent_at_;  // when the message of the short road was sent, on the boot clock
  absl::Duration pause_ = kPauseMin;  // the length of the next pause after a failure
  int disconnects_ = 0;               // broken connections since a batch succeeded
  std::thread thread_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_WRITER_H_
