// PushQueue: what one tracker is still to be told of its nodes, and the answers to the tracker's
// writes of records, which may have to wait for a push.
//
// Of the changes that must be pushed, the queue keeps only names, however slow the tracker is: one
// PushScope per node, and one for the push that is open. A worker fills in the values, one slice at
// a time.
//
// Invariants:
//   1. At most one push is open: from the first Take for the push until the Return of its last
//      slice. Changes that are noted meanwhile belong to the next push of their node.
//   2. At most one worker has the job to make slices.
//   3. From Prepare until Begin no slice is taken. Until Begin the queue lacks what the tracker has
//      missed, so a push could lack changes of before the revision that it tells the tracker.
//   4. While a push is open, no answer is taken. An answer has the newest values of records. The
//      slices may have older ones, which the tracker would use later, after the last slice.
// Not thread-safe: ReportSession guards the PushQueue with its mutex_.
#ifndef BERTH_SERVICES_REPORT_PUSH_QUEUE_H_
#define BERTH_SERVICES_REPORT_PUSH_QUEUE_H_

#include <cstdint>
#include <memory>
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
  PushScope rest;                // what the next slices must contain
  placement::Revision revision;  // if ToldOf has the node: the push has all its changes up to this
  bool names_all = false;        // the caller of Take must first call NameAll for `rest`
};

// The answer to a write of records. `message` lacks the records, whose names are in `names`.
struct RecordAnswer {
  std::optional<placement::ProviderId> node;  // none: the answer gets no records
  PushScope names;
  pb::RecordAnswer message;
};
// Makes the answer to `write`, without a status. `names` gets the instance and the migration of the
// write, as far as their uuids are well-formed. If `hello` does not announce the node of the write,
// the answer has neither a node nor names.
RecordAnswer AnswerTo(const pb::RecordWrite& write, const HelloFacts& hello);

// The nodes of `hello` of which the tracker is told: those that it may report (MayReport) and that
// are recorded, or have no record but a provider with the node's uuid. A tracker that lacks the
// records of a recorded node reports it only after a complete push. So a tracker that takes over a
// node gets pushes before the ledger records the node for its host. A tracker with a certificate
// takes none over, so all these nodes are recorded for its host.
std::vector<HelloNode> ToldOf(const placement::State& state, const HelloFacts& hello);

class PushQueue {
 public:
  // To be called for each Hello of the tracker. From now on, changes of the Hello's nodes are noted,
  // besides those of the nodes of earlier Hellos.
  void Prepare(std::shared_ptr<const HelloFacts> hello);
  // To be called after Prepare, with the nodes of the same Hello. Notes `missed`, which is what
  // FindMissed has found, and forgets what was noted of all other nodes.
  void Begin(const std::vector<HelloNode>& nodes, PushScopes missed);

  // Notes the changes of a command. `is_own` and the result are those of AddNews (push_news.h).
  int64_t Note(const placement::FeedCommand& command, bool is_own);
  // Ask for a complete push for each node, or for `node`.
  void NoteAll();
  void NoteAll(placement::ProviderId node) { scopes_[node].complete = true; }

  // Gives the caller the job to make slices, until Leave or Return, and returns true. Returns false
  // if no push is open and nothing is noted, if somebody has the job, or between Prepare and Begin.
  bool GetJob();
  void Leave() { has_worker_ = false; }
  // Takes out the open push, or else opens the next one, so that the caller fills the next slice
  // with values of `state`. Returns nothing if no push is needed, or between Prepare and Begin.
  // A push that is opened for a node that ToldOf leaves out has only the tracker's service.
  // `dispatched`: a revision; all changes up to it have been noted, and `state` has them. REQUIRES:
  // the caller has the job.
  std::optional<OpenPush> Take(const placement::State& state, placement::Revision dispatched);
  // Gives back what Take returned, when the slice was filled. `more`: this was not the last slice
  // of the push. Ends the job.
  void Return(OpenPush push, bool more);
  // Whether a push for `node` is open. The first slices of this push may have older values than an
  // Ack that is sent before the last slice.
  bool IsOpen(placement::ProviderId node) const { return open_ && open_->node == node; }

  void Hold(RecordAnswer answer) { answers_.push_back(std::move(answer)); }
  // Removes and returns the answers in the order of Hold, with the records as `state` has them for
  // the node. Returns none while a push is open.
  std::vector<pb::SessionResponse> TakeAnswers(const placement::State& state);

 private:
  bool OpenNext(const placement::State& state, placement::Revision dispatched);

  std::shared_ptr<const HelloFacts> hello_ = std::make_shared<HelloFacts>();  // the newest
  PushScopes scopes_;
  std::optional<OpenPush> open_;  // between Take and Return, only open_->node is set
  std::vector<RecordAnswer> answers_;
  bool has_worker_ = false;
  bool preparing_ = false;  // Begin has not been called since Prepare
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_PUSH_QUEUE_H_
