// PushQueue: what one tracker is still to be told of its nodes, and the answers to its writes of
// records, which wait for a push.
//
// Of the changes that must be pushed, the queue keeps only names, however slow the tracker is: one
// PushScope per node, and one for the push that is open. A worker fills in the values, one slice at a
// time.
//
// Invariants:
//   1. At most one push is open, from its first Take until its last slice is returned. Changes that
//      are noted meanwhile belong to the next push of their node.
//   2. At most one worker has the job to make slices.
//   3. From Prepare until Begin no push is taken: an earlier push would tell the tracker a revision
//      of which it lacks changes.
//   4. While a push is open, no answer is taken. An answer has the newest values. The slices may have
//      older values of the same records, and the tracker uses them when the last slice has come.
// Not thread-safe: the session guards the PushQueue with its lock.
#ifndef BERTH_SERVICES_REPORT_PUSH_QUEUE_H_
#define BERTH_SERVICES_REPORT_PUSH_QUEUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/placement/v1/report.pb.h"
#include "placement/log/feed.h"
#include "placement/state/state.h"
#include "services/report/messages.h"
#include "services/report/push_scope.h"

namespace berth::services {

// A push of which at least one slice is to be made.
struct OpenPush {
  placement::ProviderId node;
  PushScope rest;  // the names of everything that the next slices must contain
  placement::Revision revision;
  bool names_all = false;  // `rest` must get the names of a complete push first (NameAll)
};

// The answer to a write of records, without the records, and the names of these.
struct RecordAnswer {
  std::optional<placement::ProviderId> node;  // none: the answer has no records
  PushScope names;
  pb::RecordAnswer message;
};
// The answer to `write` without its status. It will have the records that the write names, as far as
// their uuids can be read and `hello` announced the node.
RecordAnswer AnswerTo(const pb::RecordWrite& write, const HelloFacts& hello);

// The nodes of `hello` for which its tracker gets pushes. A tracker reports a recorded node only after
// it got a complete push for the node, which may be empty. So a tracker that takes over a node whose
// host is down gets pushes before the ledger records the node for this tracker's host.
std::vector<HelloNode> ToldOf(const placement::State& state, const HelloFacts& hello);

class PushQueue {
 public:
  // A Hello of the tracker on `host` announces `nodes`: changes of these nodes are noted, too.
  void Prepare(const std::string& host, const std::vector<HelloNode>& nodes);
  // Notes `missed`, the changes of `nodes` before Prepare, and forgets all other nodes.
  void Begin(const std::vector<HelloNode>& nodes, PushScopes missed);

  // Notes the changes of a command (AddNews). Returns how many times it has looked at a change.
  int64_t Note(const placement::FeedCommand& command, bool is_own);
  // Makes the next push for each node, or for `node`, complete.
  void NoteAll();
  void NoteAll(placement::ProviderId node) { scopes_[node].complete = true; }

  // Gives the caller the job to make slices if there may be some to make and nobody has the job. The
  // caller keeps the job until Leave or Return.
  bool GetJob();
  void Leave() { has_worker_ = false; }
  // Takes out the push of which the next slice is to be made with the values of `state`, or returns
  // nothing if there is none. `dispatched`: all changes up to there have been noted, and `state` has
  // them. REQUIRES: the caller has the job.
  std::optional<OpenPush> Take(const placement::State& state, placement::Revision dispatched);
  // To be called when the slice was made. `more`: it was not the last slice. Ends the job.
  void Return(OpenPush push, bool more);
  // Whether the push for `node` is open. Some of its values may be older than what was answered
  // meanwhile.
  bool IsOpen(placement::ProviderId node) const { return open_ && open_->node == node; }

  void Hold(RecordAnswer answer) { answers_.push_back(std::move(answer)); }
  // Takes out the answers, with the values of `state`, in the order of Hold; none while a push is
  // open.
  std::vector<pb::SessionResponse> TakeAnswers(const placement::State& state);

 private:
  bool OpenNext(const placement::State& state, placement::Revision dispatched);

  std::string host_;
  PushScopes scopes_;
  std::optional<OpenPush> open_;  // while a slice is made: only its node
  std::vector<RecordAnswer> answers_;
  bool has_worker_ = false;
  bool preparing_ = false;  // Begin has not been called since Prepare
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_PUSH_QUEUE_H_
