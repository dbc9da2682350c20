// Batch: decides commands one after the other on a copy of one state, and collects the rows and the
// log entry that they write.
//
// Not thread-safe. Calls no database. Command n+1 sees the changes of command n. A refused command
// changes nothing and does not affect the other commands.
//
// Invariant: all decisions of a batch carry one and the same revision, that of next(). Exception:
// an answer that an earlier batch kept under a request id carries the revision of that batch.
#ifndef BERTH_PLACEMENT_WRITER_BATCH_H_
#define BERTH_PLACEMENT_WRITER_BATCH_H_

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "placement/commands/decision.h"
#include "placement/ground/boot_clock.h"
#include "placement/log/codec.h"
#include "placement/publish/batch_tally.h"
#include "placement/state/state.h"
#include "placement/store/rows.h"
#include "placement/writer/command_queue.h"

namespace berth::placement {

// The key under which the answer to `command` is kept: the actor and the request id. For a
// FindRequest: the key that it asks about. None if the command has no request id, or if it only
// validates: the write that follows a validation may have the same request id.
std::optional<RequestKey> KeyOf(const Command& command);

// Whether `command` is an import of more than `rows_max` records. False for any other command: how
// many rows it touches is known only when it is decided.
bool IsLarge(const Command& command, int64_t rows_max);

// The bytes of facts that `command`, a tracker's report, brings; 0 for any other command.
int64_t FactsBytes(const Command& command);

class Batch {
 public:
  // A batch that is decided while this process has the lock. `base`: the state that the tables hold.
  // `now`: the ledger time of the batch. `kept`: the rows that the table of request ids has for the
  // commands that will be offered.
  Batch(StatePtr base, absl::Time now, const std::vector<KeptRequest>& kept);
  // A batch that is decided before it is sent, on the state `base` that the tables should hold then.
  // Offer does not begin the commands, and BeginAll must be called before the batch is sent. The
  // statement that writes the batch compares the newest log row and the request ids of all commands.
  Batch(StatePtr base, absl::Time now);

  // The result of offering a command to a batch.
  enum class Verdict {
    kDecided,
    kGone,   // the command was answered already (deadline, cancelled): nothing was done
    kFull,   // the command would touch more rows than the batch has left: nothing was done
    kTooBig  // the command touches more rows than a shared batch may: nothing was done
  };
  // Decides `pending`. All commands of a batch together may touch `rows_max` rows at most.
  // Exception: if `may_be_large`, the first command may touch any number of rows.
  Verdict Offer(const PendingPtr& pending, int64_t rows_max, bool may_be_large);

  // To be called if this process committed `base`: all kept answers are then durable. If it is not
  // called, a batch that returns a kept answer also writes a log row: the commit of that row proves
  // that the kept answer is durable.
  void TrustBase() { base_is_durable_ = true; }
  // To be called if `kept` lacks the answers that may be kept for the commands that are offered from
  // now on: the statement that writes the batch then compares the request ids of these commands. If
  // one of the ids is kept, nothing is written.
  void CompareNext() { compared_from_ = decided_.size(); }
  // Whether a request id is compared. Then no command may be answered before the statement of
  // Prepare has returned a row, even if the batch writes nothing.
  bool compares() const { return !ComparedKeys().empty(); }
  // Begins all commands. Returns false if a command was answered or cancelled, or if its deadline
  // is not after `now`. The batch must then not be sent, because it contains what that command
  // changes; the caller calls ReturnAll.
  bool BeginAll(BootTime now);
  // Makes all commands of the batch wait again. To be called only if it is certain that PostgreSQL
  // has not written the batch and never will.
  void ReturnAll();
  // Makes the batch write a log row even if no command changes anything.
  void ForceRow() { forced_ = true; }
  // Whether the batch has a log row to write.
  bool writes() const { return forced_ || !log_.empty(); }
  // How many table rows the batch touches.
  int64_t row_count() const { return touched_.size(); }
  const BatchTally& tally() const { return tally_; }
  BatchId id() const { return id_; }
  // The ledger time at which all commands of the batch are decided.
  absl::Time now() const { return now_; }
  const StatePtr& base() const { return base_; }
  // The part of the log row about each command that changed something or has a request id.
  const std::vector<LogCommand>& log() const { return log_; }
  std::vector<PendingPtr> Commands() const;
  int command_count() const { return static_cast<int>(decided_.size()); }
  // The sum of the weights of the commands (WeightOf).
  int weight() const { return weight_; }
  // Whether the batch keeps an answer under `key`.
  bool Keeps(const RequestKey& key) const { return own_.contains(key); }

  // Ends the batch, gives next() its revision if the batch writes, and returns the statement that
  // writes the batch. No command may be offered afterwards. The second call returns the statement
  // of the first. If the batch is decided before it is sent, or compares a request id, the statement
  // takes the ledger's lock, and then writes the batch, if any, provided that the newest log row is
  // that of base() and that no answer is kept under the request ids to compare. The statement
  // returns one row if it has written, or if there was nothing to write but to compare; else none.
  const Statement& Prepare(int64_t log_rows_kept);
  // The state after the commands that were decided so far. Before Prepare() it has the revision of
  // base().
  StatePtr next() const { return next_; }
  // The answers of all decided commands that were not answered yet. To be called once.
  std::vector<Answer> TakeAnswers();

 private:
  struct Decided {
    PendingPtr pending;
    Decision decision;
    std::optional<RequestKey> remember;  // the request id under which the answer will be kept
    bool of_earlier_batch = false;       // the decision is an answer that an earlier batch kept
  };

  Decided Decide(const PendingPtr& pending);
  // If the request id `key` was used before, puts the answer that was given then into `decided` and
  // returns true. Else returns false. `hash`: the hash of the body of the command; null for a
  // FindRequest.
  bool Replay(const RequestKey& key, const std::string* hash, Decided* decided);
  // Applies the changes of `decided` to next(), and adds them to the touched rows and to the log.
  void Apply(const Decided& decided);
  BatchRows Rows(int64_t log_rows_kept) const;
  std::vector<RequestKey> ComparedKeys() const;
  // Gives every decision of this batch the revision of next().
  void Stamp();

  const StatePtr base_;
  const absl::Time now_;
  const BatchId id_;
  std::shared_ptr<State> next_;
  Touched touched_;
  std::vector<LogCommand> log_;
  std::vector<Decided> decided_;
  size_t compared_from_ = std::numeric_limits<size_t>::max();  // index in decided_: see CompareNext
  // kept_: the answers that earlier batches kept. own_: the indexes in decided_ of those commands
  // of this batch whose answers will be kept. Both are keyed by request id.
  absl::flat_hash_map<RequestKey, KeptRequest> kept_;
  absl::flat_hash_map<RequestKey, size_t> own_;
  std::optional<Statement> prepared_;
  int weight_ = 0;
  int64_t accepted_ = 0;  // commands that were not refused
  BatchTally tally_;
  bool forced_ = false;
  bool begins_later_ = false;
  bool base_is_durable_ = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_BATCH_H_
