// Batch: decides commands one after the other on a copy of one state, and collects the table rows
// and the log row that they write.
//
// Not thread-safe. Calls no database. Each command is decided on the state after the commands
// before it. A refused command changes nothing.
//
// Invariant: all answers of a batch carry one and the same revision, that of next(). Exception: an
// answer that an earlier batch kept under a request id carries the revision of that batch.
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

// The key under which the answer to `command` is kept, unless it is a refusal: the actor and the
// request id. For a FindRequest: the key that it asks about. None for any other command that has no
// request id or only validates: the write that follows a validation may have the same request id.
std::optional<RequestKey> KeyOf(const Command& command);

// Whether `command` is known to be large before it is decided: an import of more than `rows_max`
// records. False for any other command, because only its decision shows how many rows it touches.
bool IsLarge(const Command& command, int64_t rows_max);

// How many bytes of facts `command` brings if it is a tracker's report; 0 for any other command.
int64_t FactsBytes(const Command& command);

class Batch {
 public:
  // A batch that is decided while this process has the ledger's lock. `base`: the state that the
  // tables hold. `now`: the ledger time of the batch. `kept`: the answers that the table of request
  // ids has for the commands that will be offered, except for those after CompareNext.
  Batch(StatePtr base, absl::Time now, const std::vector<KeptRequest>& kept);
  // A batch that is decided without the lock, on the state `base` that the tables should hold when
  // it is written. Offer does not begin the commands, and BeginAll must be called before the batch
  // is sent. The statement of Prepare compares the newest log row with `base`, and also compares
  // the request ids of all commands (CompareNext).
  Batch(StatePtr base, absl::Time now);

  // The result of offering a command to a batch. Only a kDecided command belongs to the batch.
  enum class Verdict {
    kDecided,
    kGone,   // the command has an answer already, for example because its deadline has passed
    kFull,   // the command may touch more rows than the batch has left
    kTooBig  // the command may touch more rows than Offer's `rows_max`
  };
  // Decides `pending`. All commands of a batch together may touch `rows_max` rows at most.
  // Exception: if `may_be_large`, the batch's first command may touch any number of rows.
  Verdict Offer(const PendingPtr& pending, int64_t rows_max, bool may_be_large);

  // To be called before Offer if this process committed `base`: all answers in `kept` are then
  // durable. Without this call, a batch that finds one of them also writes a log row: the commit of
  // that row proves that the answer is durable.
  void TrustBase() { base_is_durable_ = true; }
  // To be called if `kept` may lack answers for the commands that are offered from now on. The
  // statement of Prepare then compares the request ids of these commands: it looks for an answer
  // that is kept under one of the ids and is not in `kept`. If there is one, it writes nothing.
  void CompareNext() { compared_from_ = decided_.size(); }
  // Whether the statement of Prepare compares a request id. If so, no command may be answered
  // before that statement has returned a row, even if the batch writes nothing.
  bool compares() const { return !ComparedKeys().empty(); }
  // Moves all commands to kBegun. Stops and returns false if one was answered or cancelled, or if
  // its deadline is not after `now`. The batch must then not be sent, because it contains the
  // changes of that command; the caller calls ReturnAll.
  bool BeginAll(BootTime now);
  // Moves the commands in kBegun back to kWaiting. To be called only if it is certain that
  // PostgreSQL has not written the batch and never will.
  void ReturnAll();
  // Makes the batch write a log row even if no command changes anything.
  void ForceRow() { forced_ = true; }
  // Whether the batch has a log row to write.
  bool writes() const { return forced_ || !log_.empty(); }
  // How many entities the commands touch; each is one row of a table.
  int64_t row_count() const { return touched_.size; }
  const BatchTally& tally() const { return tally_; }
  BatchId id() const { return id_; }
  // The ledger time at which all commands of the batch are decided.
  absl::Time now() const { return now_; }
  const StatePtr& base() const { return base_; }
  // The log row's parts: one for each command that changed something or whose own answer is kept.
  const std::vector<LogCommand>& log() const { return log_; }
  std::vector<PendingPtr> Commands() const;
  int command_count() const { return static_cast<int>(decided_.size()); }
  // The sum of the weights of the commands (WeightOf).
  int weight() const { return weight_; }
  // Whether the batch keeps an answer under `key`.
  bool Keeps(const RequestKey& key) const { return own_.contains(key); }

  // Ends the batch: no command may be offered afterwards. If the batch writes, gives next() the
  // revision of the batch. Returns the statement that writes the batch; a second call returns the
  // same statement. `log_rows_kept`: see LedgerOptions.
  //
  // If the batch is decided without the lock, or if compares(), the statement takes the ledger's
  // lock and compares. The comparison succeeds if the newest log row is that of base() and no
  // answer is found (CompareNext). If it fails, the statement writes nothing and returns no row. In
  // all other cases it writes the batch, if there is anything to write, and returns one row.
  const Statement& Prepare(int64_t log_rows_kept);
  // The state after the commands that were decided so far. Its revision is that of base() until
  // Prepare, and also afterwards if the batch writes nothing.
  StatePtr next() const { return next_; }
  // Moves all commands that have no answer yet to kAnswered, and returns their answers, which the
  // caller must give. To be called once.
  std::vector<Answer> TakeAnswers();

 private:
  struct Decided {
    PendingPtr pending;
    Decision decision;
    std::optional<RequestKey> remember;  // the key under which the answer is kept; none: not kept
    bool of_earlier_batch = false;       // the decision is an answer that an earlier batch kept
  };

  Decided Decide(const PendingPtr& pending);
  // Returns false if neither kept_ nor own_ has an answer under `key`. Else puts this answer into
  // `decided`. Exceptions, the first that applies: a refusal if the id was cancelled; a refusal if
  // `hash` differs from the hash that is kept with the answer; an error if the answer cannot be
  // decoded. `hash`: the hash of the command's body; null for a FindRequest.
  bool Replay(const RequestKey& key, const std::string* hash, Decided* decided);
  // Applies the changes of `decided` to next(), and notes them for the tables and for the log.
  void Apply(const Decided& decided);
  BatchRows Rows(int64_t log_rows_kept) const;
  std::vector<RequestKey> ComparedKeys() const;
  // Gives the decisions the revision of next(). Leaves out answers that an earlier batch kept.
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
  // of this batch whose answers are kept.
  absl::flat_hash_map<RequestKey, KeptRequest> kept_;
  absl::flat_hash_map<RequestKey, size_t> own_;
  std::optional<Statement> prepared_;
  int weight_ = 0;
  int64_t accepted_ = 0;  // commands that were neither refused nor answered with a kept answer
  BatchTally tally_;
  bool forced_ = false;
  bool begins_later_ = false;  // the batch is decided without the lock
  bool base_is_durable_ = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_WRITER_BATCH_H_
