#include "services/report/push_queue.h"

#include <algorithm>
#include <utility>

#include "services/report/push_news.h"
#include "services/report/push_slice.h"
#include "services/wire/form.h"

namespace berth::services {

using placement::ProviderId;
using placement::State;

namespace {

// As ToldOf, for one node.
bool IsTold(const State& state, const HelloFacts& hello, ProviderId node) {
  const bool exists = state.nodes().Find(node) != nullptr || state.FindProvider(node).has_value();
  return exists && MayReport(state, hello, node);
}

}  // namespace

RecordAnswer AnswerTo(const pb::RecordWrite& write, const HelloFacts& hello) {
  RecordAnswer answer;
  answer.message.set_write_id(write.write_id());
  answer.message.set_node_uuid(EchoOf(write.node_uuid()));
  const auto node = ProviderId::Parse(write.node_uuid());
  if (!node || !Announces(hello, *node)) return answer;
  answer.node = node;
  const auto instance = placement::InstanceId::Parse(write.instance().uuid());
  if (instance) answer.names.instances.insert(*instance);
  const auto migration = placement::MigrationId::Parse(write.migration().uuid());
  if (migration) answer.names.migrations.insert(*migration);
  return answer;
}

std::vector<HelloNode> ToldOf(const State& state, const HelloFacts& hello) {
  std::vector<HelloNode> told;
  for (const HelloNode& node : hello.nodes) {
    if (IsTold(state, hello, node.id)) told.push_back(node);
  }
  return told;
}

void PushQueue::Prepare(std::shared_ptr<const HelloFacts> hello) {
  hello_ = std::move(hello);
  preparing_ = true;
  for (const HelloNode& node : hello_->nodes) scopes_.try_emplace(node.id);
}

void PushQueue::Begin(const std::vector<HelloNode>& nodes, PushScopes missed) {
  PushScopes scopes;
  for (const HelloNode& node : nodes) {
    PushScope& scope = scopes[node.id] = std::move(scopes_[node.id]);
    scope.Add(std::move(missed[node.id]));
  }
  scopes_ = std::move(scopes);
  preparing_ = false;
}

int64_t PushQueue::Note(const placement::FeedCommand& command, bool is_own) {
  return AddNews(command, hello_->service.host, is_own, &scopes_);
}

void PushQueue::NoteAll() {
  for (auto& [node, scope] : scopes_) scope.complete = scope.service = true;
}

bool PushQueue::GetJob() {
  const bool wanted = open_ || std::any_of(scopes_.begin(), scopes_.end(),
                                           [](const auto& entry) { return !entry.second.empty(); });
  if (!wanted || preparing_ || has_worker_) return false;
  has_worker_ = true;
  return true;
}

std::optional<OpenPush> PushQueue::Take(const State& state, placement::Revision dispatched) {
  if (preparing_ || (!open_ && !OpenNext(state, dispatched))) return std::nullopt;
  OpenPush push;
  std::swap(push, *open_);
  open_->node = push.node;  // IsOpen compares it
  return push;
}

// Opens the next push. Returns false if no push is needed.
bool PushQueue::OpenNext(const State& state, placement::Revision dispatched) {
  const placement::Revision newest = state.position().resume_point();
  for (auto& [node, scope] : scopes_) {
    if (!IsTold(state, *hello_, node)) {  // only the host's own service concerns the tracker
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
    open_ = OpenPush{node, std::exchange(scope, PushScope()), revision, names_all};
    return true;
  }
  return false;
}

void PushQueue::Return(OpenPush push, bool more) {
  has_worker_ = false;
  open_.reset();
  if (more) open_ = std::move(push);
}

std::vector<pb::SessionResponse> PushQueue::TakeAnswers(const State& state) {
  std::vector<pb::SessionResponse> responses;
  if (open_) return responses;
  for (RecordAnswer& answer : answers_) {
    pb::SessionResponse& response = responses.emplace_back();
    SetRevision(state.position().revision, response.mutable_revision());
    pb::RecordAnswer* const message = response.mutable_record_answer();
    *message = std::move(answer.message);
    pb::Push records;
    if (answer.node) FillSlice(state, hello_->service.host, *answer.node, &answer.names, &records);
    message->mutable_instances()->Swap(records.mutable_instances());
    message->mutable_removed_instance_uuids()->Swap(records.mutable_removed_instance_uuids());
    message->mutable_migrations()->Swap(records.mutable_migrations());
    message->mutable_removed_migration_uuids()->Swap(records.mutable_removed_migration_uuids());
  }
  answers_.clear();
  return responses;
}

}  // namespace berth::services
