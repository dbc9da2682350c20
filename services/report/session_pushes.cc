// The methods of ReportSession that send the pushes.
#include <algorithm>
#include <utility>
#include <vector>

#include "services/report/push_news.h"
#include "services/report/push_slice.h"
#include "services/report/session.h"

namespace berth::services {

using placement::MutexLock;
using placement::ProviderId;
using placement::State;

namespace {

// Whether the tracker of `host` gets pushes for `node`. A tracker reports a recorded node only
// after it got a complete push for the node, which may be empty. So a tracker that takes over a
// node whose host is down gets pushes before the ledger records the node for this tracker's host.
bool IsTold(const State& state, const std::string& host, ProviderId node) {
  const NodePtr* record = state.nodes().Find(node);
  return record != nullptr ? !IsHeldElsewhere(state, **record, host)
                           : state.FindProvider(node).has_value();
}

}  // namespace

// Prepares the first pushes. For each node, pushes the changes after the revision that the tracker
// has; if these changes cannot be found, pushes everything. Finds them before it takes the lock,
// since all other trackers wait while Touch waits for the lock.
void ReportSession::BeginPushes(const State& state, const HelloFacts& hello) {
  std::vector<HelloNode> told;
  for (const HelloNode& node : hello.nodes) {
    if (IsTold(state, key_.first, node.id)) told.push_back(node);
  }
  MissedChanges missed =
      FindMissed(sessions_->ledger()->feed(), state.position().revision, key_.first, told);
  MutexLock lock(&mutex_);
  PushScopes scopes;
  for (const HelloNode& node : hello.nodes) {
    PushScope& scope = scopes[node.id] = std::move(scopes_[node.id]);
    scope.Add(std::move(missed.scopes[node.id]));
  }
  scopes_ = std::move(scopes);
  welcoming_ = false;
}

void ReportSession::FlushPushes() {
  {
    MutexLock lock(&mutex_);
    const bool wanted = push_ || std::any_of(scopes_.begin(), scopes_.end(), [](const auto& entry) {
                          return !entry.second.empty();
                        });
    if (!wanted || welcoming_ || pushing_ || finished_ || writing_) return;
    pushing_ = true;
  }
  if (sessions_->workers()->Submit([self = shared_from_this()] { self->TellPushes(); })) return;
  {
    MutexLock lock(&mutex_);
    pushing_ = false;
  }
  sessions_->TickLater(shared_from_this());
}

// Sends one slice of a push at a time. Meanwhile, new changes are added to the scopes of the next
// pushes. A slice is filled without the lock, since all other trackers wait while Touch waits for
// the lock. pushing_ stays true, so that no other worker fills a slice. push_ stays set, so that
// the answers wait, and a report learns that a push for its node is being sent.
void ReportSession::TellPushes() {
  placement::StatePtr state;
  OpenPush push;
  {
    MutexLock lock(&mutex_);
    state = TakePush(&push);
    if (state == nullptr) {
      pushing_ = false;
      return;
    }
  }
  if (sessions_->before_fill()) sessions_->before_fill()();
  if (push.names_all) NameAll(*state, key_.first, push.node, &push.rest);
  push.names_all = false;
  pb::SessionResponse message;
  SetRevision(push.revision, message.mutable_revision());
  FillSlice(*state, key_.first, push.node, &push.rest, message.mutable_push());
  MutexLock lock(&mutex_);
  pushing_ = false;
  push_.reset();
  if (message.push().more()) push_ = std::move(push);
  outbox_.push_back(std::move(message));
  SendRecordAnswers();
  WriteNext();
}

// Moves the push of which the next slice is to be sent into `push`, and returns the state with
// whose values the slice is to be filled. This state has each change that the push names. Returns
// null if nothing is to be sent now.
placement::StatePtr ReportSession::TakePush(OpenPush* push) {
  if (welcoming_ || writing_ || finished_ || ending_) return nullptr;
  const placement::Revision dispatched = sessions_->dispatched();
  placement::StatePtr state = sessions_->ledger()->Newest();
  if (!push_ && !OpenNextPush(*state, dispatched)) return nullptr;
  std::swap(*push, *push_);
  push_->node = push->node;  // IsPushing compares it
  return state;
}

// Begins the next push. Returns false if no push is needed.
bool ReportSession::OpenNextPush(const State& state, placement::Revision dispatched) {
  const placement::Revision newest = state.position().resume_point();
  for (auto& [node, scope] : scopes_) {
    if (!IsTold(state, key_.first, node)) {  // only the host's own service concerns the tracker
      const bool service = scope.service;
      scope = PushScope();
      scope.service = service;
    }
    if (scope.empty()) continue;
    // A push that is not complete has the values of the newest state, but may lack entities that
    // changed after `dispatched`. So it tells the tracker only that all changes up to `dispatched`
    // were sent.
    const placement::Revision revision = scope.complete ? newest : std::min(newest, dispatched);
    const bool names_all = scope.complete;
    push_ = OpenPush{node, std::exchange(scope, PushScope()), revision, names_all};
    return true;
  }
  return false;
}

bool ReportSession::IsPushing(ProviderId node) const {
  MutexLock lock(&mutex_);
  return push_ && push_->node == node;
}

}  // namespace berth::services
