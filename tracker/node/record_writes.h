// RecordWrites: the writes of records with which the claims of a node, the ends of claims, and the
// repairs of a pass get into placement's ledger. Each write waits to be sent, waits for its answer,
// or is in doubt.
//
// Sends nothing itself. Not thread-safe; the node's lock protects it.
//
// Invariants:
//   1. An instance has at most one write.
//   2. A write that was given out by Next may be applied as long as placement has not answered it,
//      even after the session. Then it is in doubt. A claim in doubt is withdrawn in the next session:
//      the answer to the withdrawal says whether the claim was applied. Until then it stays.
//   3. A write that was not given out yet has no effect, and may be dropped at any time.
#ifndef BERTH_TRACKER_NODE_RECORD_WRITES_H_
#define BERTH_TRACKER_NODE_RECORD_WRITES_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tracker/account/open_claim.h"
#include "tracker/audit/accounting.h"
#include "tracker/ground/uuid.h"
#include "tracker/node/claim_replies.h"

namespace berth::tracker {

// How a claim ends.
enum class ClaimEnd {
  kAbort,    // it is given back
  kConfirm,  // the source of a move gives up what it kept for a way back
  kRevert,   // the destination of a move gives up what was claimed there
  kRepair,   // no claim ends: a pass corrects the records
};

class RecordWrites {
 public:
  // More writes are refused. A hypervisor host builds a few guests at a time.
  static constexpr size_t kMax = 1024;

  enum class State {
    kUnsent,
    kSent,     // given out in the present session, and not answered
    kInDoubt,  // given out in an earlier session, and not answered
  };

  struct Write {
    OpenClaim claim;              // the claim that the write makes or ends
    std::optional<ClaimEnd> end;  // absent: the write makes the claim
    // The records to be written, with the generations on which the write is based.
    Instance instance;
    std::optional<Migration> migration;
    bool ends_move = false;  // the migration ends with its status
    std::vector<ClaimCaller> callers;
    State state = State::kUnsent;
    bool withdraws = false;         // what is sent is the withdrawal of the write
    int tries = 0;                  // how many times the write was answered with a conflict
    MonotonicTime not_before = {};  // when a write may be sent again
  };

  // What is to be sent.
  struct Outgoing {
    int64_t id = 0;
    Instance instance;
    std::optional<Migration> migration;
    bool withdraw = false;
    bool ends_move = false;
    bool sets_state = false;  // the state and the task of the instance are written, too
  };

  size_t size() const { return writes_.size(); }
  // REQUIRES: the instance has no write.
  void Add(Write write);
  // The write of the instance, or null. The pointer is valid until the next change.
  Write* FindInstance(const Uuid& instance_uuid);
  // The write that makes or ends the claim with this id of ClaimIdOf, or null.
  Write* FindClaim(const std::string& claim_id);
  // The write that was given out under this id in the present session, or null.
  Write* FindSent(int64_t id);

  // Gives out the next write: first those in doubt, as withdrawals, then the unsent ones, oldest
  // first. Nothing: there is none to be sent now.
  std::optional<Outgoing> Next(MonotonicTime now);
  // Removes and returns the unsent writes for which nobody waits any more.
  std::vector<Write> TakeAbandoned();
  // Removes and returns the write of the instance.
  //
  // REQUIRES: there is one.
  Write Take(const Uuid& instance_uuid);
  // Takes the callers of all writes away from them.
  std::vector<ClaimCaller> TakeCallers();
  // To be called at the end of a session. Removes and returns the unsent writes, and the ends of
  // claims. What is left is in doubt.
  std::vector<Write> Disconnect();

 private:
  template <typename Predicate>
  std::vector<Write> TakeIf(Predicate predicate);

  int64_t last_id_ = 0;
  std::map<int64_t, Write> writes_;  // by id; in the order in which they came
};

// Whether the instance does not have the claim any more once the write is applied.
bool GivesBack(const RecordWrites::Write& write);

// The refusal of a call whose write placement refused with `answer`. `ends`: the write ends a
// claim.
absl::Status RefusalBy(const absl::Status& answer, bool ends);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_RECORD_WRITES_H_
