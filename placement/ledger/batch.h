// Batch: commands decided together, one after the other, over one state. Pure but for clocks.
//
// Command n+1 sees what command n did; a refused command leaves no trace and does not disturb its
// neighbours.
#ifndef BERTH_PLACEMENT_LEDGER_BATCH_H_
#define BERTH_PLACEMENT_LEDGER_BATCH_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "placement/commands/decision.h"
#include "placement/ledger/batch_tally.h"
#include "placement/ledger/command_queue.h"
#include "placement/log/codec.h"
#include "placement/state/state.h"
#include "placement/store/rows.h"

namespace berth::placement {

// The request id that `command` carries or asks for; none where its actor and id are empty, or
// where it only validates: the same id may then come with the write itself.
std::optional<RequestKey> KeyOf(const Command& command);

// Whether `command` may touch more rows than a batch of several, as its size alone tells.
bool IsLarge(const Command& command, int64_t rows_max);

class Batch {
 public:
  // `base` is what the tables hold, `now` the ledger time, `kept` what stands under the request ids
  // of the commands to come.
  Batch(StatePtr base, absl::Time now, const std::vector<KeptRequest>& kept);

  // What became of a command that was offered.
  enum class Verdict {
    kDecided,
    kGone,   // answered meanwhile: its deadline passed
    kFull,   // it would touch more rows than are left: nothing was done
    kTooBig  // it would touch more rows than any batch of several may: nothing was done
  };
  // Decides `pending` next. The first command may touch any number of rows where `may_be_big`.
  Verdict Offer(const PendingPtr& pending, int64_t rows_max, bool may_be_big);

  // This process itself has committed `base`: all that is kept is durable. Else an answer that is kept
  // is given only with a row after it, which proves as much.
  void TrustBase() { base_is_durable_ = true; }
  // Makes it worth a log row even when nothing changed: after a fault, the row proves that all
  // before it is durable.
  void ForceRow() { forced_ = true; }
  // Whether there is anything to write.
  bool writes() const { return forced_ || !log_.empty(); }
  int64_t row_count() const { return touched_.size(); }
  const BatchTally& tally() const { return tally_; }
  BatchId id() const { return id_; }
  // The ledger time at which all of it is decided.
  absl::Time now() const { return now_; }
  const StatePtr& base() const { return base_; }
  // Empty where it writes nothing.
  const std::vector<LogCommand>& log() const { return log_; }
  std::vector<PendingPtr> Commands() const;

  // No more commands: fixes the position of the state that results. REQUIRES: writes().
  void Close();
  // The statement that writes it. REQUIRES: closed.
  Statement Sql(int64_t log_rows_kept) const;
  StatePtr next() const { return next_; }
  // The answers of all decided commands that have none yet. To be called once.
  std::vector<Answer> TakeAnswers();

 private:
  struct Decided {
    PendingPtr pending;
    Decision decision;
    std::optional<RequestKey> remember;  // the answer is kept under it
  };

  Decision Decide(const PendingPtr& pending, bool* remember);
  std::optional<Decision> Replay(const RequestKey& key, const std::string* hash);

  const StatePtr base_;
  const absl::Time now_;
  const BatchId id_;
  std::shared_ptr<State> next_;
  Touched touched_;
  std::vector<LogCommand> log_;
  std::vector<Decided> decided_;
  // Answers by request id: of the past, and places in decided_ of this batch.
  absl::flat_hash_map<RequestKey, KeptRequest> kept_;
  absl::flat_hash_map<RequestKey, size_t> own_;
  int64_t accepted_ = 0;
  BatchTally tally_;
  bool forced_ = false;
  bool base_is_durable_ = false;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LEDGER_BATCH_H_
