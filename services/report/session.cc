#include "services/report/session.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "services/process/log.h"
#include "services/process/status.h"
#include "services/report/missed_changes.h"
#include "services/wire/fleet.h"

namespace berth::services {

using placement::Decision;
using placement::kAutomaticReason;
using placement::MutexLock;
using placement::ProviderId;
using placement::State;

namespace {

constexpr absl::Duration kSettleWithin = absl::Seconds(30);

// Nobody has to prove yet which host's tracker it is.
std::string ActorOf(const std::string& host) { return "tracker/" + host + " (unverified)"; }

// Whether there is something to tell of `node`: a tracker waits for the records of a node that is
// recorded, also where its providers are gone and the push is empty.
bool IsTold(const State& state, ProviderId node) {
  return state.nodes().Find(node) != nullptr || state.FindProvider(node).has_value();
}

bool HasReason(const absl::Status& status, absl::string_view reason) {
  const auto refusal = placement::RefusalOf(status);
  return refusal && refusal->reason == reason;
}

}  // namespace

ReportSession* ReportSession::Open(ReportSessions* sessions) {
  std::shared_ptr<ReportSession> session(new ReportSession(sessions));
  session->self_ = session;
  session->StartRead(&session->incoming_);
  sessions->Opened(session);
  return session.get();
}

std::vector<ProviderId> ReportSession::node_ids() const {
  std::vector<ProviderId> ids;
  for (const HelloNode& node : hello_.nodes) ids.push_back(node.id);
  return ids;
}

void ReportSession::OnReadDone(bool ok) {
  if (!ok) return End(absl::OkStatus());
  if (absl::Status form = CheckText(incoming_); !form.ok()) return End(form);
  if (incoming_.has_hello()) return HandleHello();
  if (!attached_) {
    return End(
        InvalidField("message", "must be hello: the first message of a session has to be hello"));
  }
  std::optional<Beat> beat;
  if (incoming_.has_heartbeat()) beat = BeatOf(incoming_.heartbeat());
  sessions_->liveness().Hear(key_, incarnation_, beat, absl::Now());
  switch (incoming_.message_case()) {
    case pb::SessionRequest::kReport:
      return HandleReport();
    case pb::SessionRequest::kReadiness:
      return HandleReadiness();
    case pb::SessionRequest::kAuditDone:
      sessions_->AuditDone(incoming_.audit_done());
      return ReadNext();
    default:  // a heartbeat, or what a newer tracker says beyond this release
      return ReadNext();
  }
}

void ReportSession::HandleHello() {
  absl::StatusOr<HelloFacts> hello = HelloOf(incoming_.hello());
  if (!hello.ok()) return End(hello.status());
  const Liveness::Key key = {hello->service.host, hello->service.binary};
  const bool same = key == key_ && hello->service.incarnation == incarnation_;
  if (attached_ && !same) {
    return End(InvalidField("hello", "names another process than the first hello of this session"));
  }
  if (!attached_) {
    key_ = key;
    incarnation_ = hello->service.incarnation;
  }
  placement::CommandBody body = hello->service;
  Submit(std::move(body), [this, hello = *std::move(hello)](const Decision& decision) {
    if (!decision.status.ok()) return End(decision.status);
    // The nodes of ten thousand trackers are looked up by workers, not by who answers claims.
    auto welcome = [self = shared_from_this(), hello, decision] { self->Welcome(hello, decision); };
    if (!sessions_->workers()->Submit(std::move(welcome))) {
      End(placement::Refuse(absl::StatusCode::kUnavailable, "OVERLOADED",
                            "too many trackers connect at once: connect again later", {},
                            absl::Seconds(1)));
    }
  });
}

void ReportSession::Welcome(const HelloFacts& hello, const Decision& decision) {
  const std::shared_ptr<ReportSession> self = shared_from_this();
  std::vector<ProviderId> gone = node_ids();
  hello_ = hello;
  for (const HelloNode& node : hello_.nodes) std::erase(gone, node.id);
  sessions_->liveness().Hear(key_, incarnation_, std::nullopt, absl::Now());
  if (!attached_) sessions_->Attach(self);
  attached_ = true;
  sessions_->Disown(self, gone);
  sessions_->Own(self, OwnNodes(*sessions_->ledger()->Newest()));
  // Newer than what was dispatched before: nothing falls between.
  const placement::StatePtr state = sessions_->ledger()->Newest();
  pb::SessionResponse response;
  SetRevision(state->position().revision, response.mutable_revision());
  FillWelcome(*state, decision, response.mutable_welcome());
  RetireNodes(*state);
  Send(std::move(response));
  BeginPushes(*state);
  FlushPushes();
  ReadNext();
}

// Of the nodes that Hello named those that are recorded for its host, or for nobody yet.
std::vector<ProviderId> ReportSession::OwnNodes(const State& state) const {
  std::vector<ProviderId> own;
  for (const HelloNode& node : hello_.nodes) {
    const NodePtr* record = state.nodes().Find(node.id);
    if (record == nullptr || (*record)->host == key_.first) own.push_back(node.id);
  }
  return own;
}

void ReportSession::FillWelcome(const State& state, const Decision& decision, pb::Welcome* to) {
  const auto* service = state.services().Find(key_);
  if (service != nullptr) FillService(**service, nullptr, to->mutable_service());
  to->set_service_created(decision.result.created);
  const absl::Duration interval = sessions_->heartbeat_interval();
  to->mutable_heartbeat_interval()->set_seconds(absl::ToInt64Seconds(interval));
  to->mutable_heartbeat_interval()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(interval % absl::Seconds(1))));
  for (const HelloNode& node : hello_.nodes) FillNodeWelcome(state, node, to->add_nodes());
  for (const NodePtr& node : state.NodesOf(key_.first)) {
    FillRecordedNode(*node, to->add_recorded_nodes());
  }
}

void ReportSession::FillNodeWelcome(const State& state, const HelloNode& node,
                                    pb::NodeWelcome* to) {
  to->set_node_uuid(node.id.ToString());
  const NodePtr* found = state.nodes().Find(node.id);
  if (found != nullptr) {
    const placement::NodeRecord& record = **found;
    FillRecordedNode(record, to->mutable_recorded());
    if (record.incarnation == incarnation_) to->set_last_sequence(record.report_sequence);
    if (!record.retired && record.host == key_.first && IsKnown(state, record, node.digest)) {
      return to->set_standing(pb::NODE_STANDING_KNOWN);
    }
    const ServicePtr owner = FindTracker(state, record.host);
    if (record.host != key_.first && owner != nullptr && owner->up && !owner->forced_down) {
      return to->set_standing(pb::NODE_STANDING_STANDBY);
    }
  }
  to->set_standing(sessions_->AskForSnapshot(node.id) ? pb::NODE_STANDING_SEND_ALL
                                                      : pb::NODE_STANDING_WAIT);
}

// What the tracker has not seen: what changed since it last heard, else all there is.
void ReportSession::BeginPushes(const State& state) {
  const std::vector<ProviderId> own = OwnNodes(state);
  MutexLock lock(&mutex_);
  std::map<ProviderId, PushScope> scopes;
  for (const HelloNode& node : hello_.nodes) {
    if (std::find(own.begin(), own.end(), node.id) == own.end()) continue;
    PushScope& scope = scopes[node.id] = std::move(scopes_[node.id]);
    if (!IsTold(state, node.id)) continue;
    const placement::Revision now = state.position().revision;
    if (!AddMissed(sessions_->ledger()->feed(), now, node, &scope)) scope.complete = true;
  }
  scopes_ = std::move(scopes);
}

// What the configuration no longer names is retired (T-40).
void ReportSession::RetireNodes(const State& state) {
  for (const ProviderId id : hello_.retired) {
    const NodePtr* node = state.nodes().Find(id);
    if (node == nullptr || (*node)->host != key_.first || (*node)->retired) continue;
    Submit(placement::RetireNode{id, true}, [](const Decision&) {});
  }
}

void ReportSession::HandleReport() {
  const placement::StatePtr state = sessions_->ledger()->Newest();
  absl::StatusOr<placement::ApplyReport> report = ApplyReportOf(*state, hello_, incoming_.report());
  if (!report.ok()) return End(report.status());
  const ProviderId node = report->node;
  const std::vector<ProviderId> named = node_ids();
  if (std::find(named.begin(), named.end(), node) == named.end()) {
    return End(
        InvalidField("report.node_uuid", "names a node that no hello of this session named"));
  }
  Submit(*std::move(report),
         [this, node](const Decision& decision) { SettleReport(node, decision); });
}

void ReportSession::SettleReport(ProviderId node, const Decision& decision) {
  const pb::Report& report = incoming_.report();
  const placement::StatePtr state = sessions_->ledger()->Newest();
  const absl::Status ending = EndingOf(decision.status);
  if (!ending.ok()) return End(ending);
  pb::SessionResponse response;
  SetRevision(decision.status.ok() ? decision.revision : state->position().revision,
              response.mutable_revision());
  if (decision.status.ok()) {
    FillAck(*state, report, decision, response.mutable_ack());
    if (report.kind() == pb::REPORT_KIND_SNAPSHOT) sessions_->SnapshotTaken(node);
    sessions_->Own(shared_from_this(), {node});  // also one that came from another host
  } else if (HasReason(decision.status, "REPORT_GAP")) {
    response.mutable_snapshot_order()->set_node_uuid(report.node_uuid());
  } else {
    FillReject(*state, node, report, decision.status, response.mutable_reject());
  }
  Send(std::move(response));
  if (decision.status.ok() && decision.result.created) {
    // The node's tree stands now: what others hold of it is told from here on.
    MutexLock lock(&mutex_);
    scopes_[node].complete = true;
  }
  FlushPushes();
  ReadNext();
}

// What a refused report ends the stream with, or OK: a report that only is not taken is rejected.
absl::Status ReportSession::EndingOf(const absl::Status& refused) const {
  if (!HasReason(refused, "SERVICE_NOT_REGISTERED")) return absl::OkStatus();
  const placement::StatePtr state = sessions_->ledger()->Newest();
  if (state->services().Find(key_) == nullptr) return refused;
  return placement::Refuse(absl::StatusCode::kAborted, "TRACKER_FENCED",
                           "another process of this host's tracker has taken over",
                           {{{"host", key_.first}, {"incarnation", incarnation_.ToString()}}});
}

// Most say what stands already. What an operator says meanwhile is the rule's to heed (T-297).
void ReportSession::HandleReadiness() {
  const pb::Readiness& readiness = incoming_.readiness();
  const placement::StatePtr state = sessions_->ledger()->Newest();
  const auto* service = state->services().Find(key_);
  if (service == nullptr) return ReadNext();
  if ((*service)->disabled != readiness.ready()) return ReadNext();
  placement::UpdateService command;
  command.host = key_.first;
  command.binary = key_.second;
  command.disabled = !readiness.ready();
  command.automatic = true;
  if (!readiness.ready()) command.disabled_reason = kAutomaticReason + readiness.reason();
  Submit(std::move(command), [this](const Decision& decision) {
    if (!decision.status.ok()) {
      Log(LogLevel::kWarning, "a tracker's readiness could not be recorded",
          {{"host", key_.first}, {"detail", decision.status.ToString()}});
    }
    ReadNext();
  });
}

void ReportSession::Submit(placement::CommandBody body, std::function<void(const Decision&)> done) {
  placement::Command command;
  command.actor = ActorOf(key_.first);
  command.body = std::move(body);
  sessions_->ledger()->Submit(
      std::move(command), absl::Now() + kSettleWithin, std::make_shared<std::atomic<bool>>(false),
      [self = shared_from_this(), done = std::move(done)](const Decision& decision) {
        done(decision);
      });
}

void ReportSession::Touch(ProviderId node, const placement::FeedCommand& command) {
  if (command.actor == ActorOf(key_.first)) return;  // its own report: the Ack says it
  {
    MutexLock lock(&mutex_);
    PushScope& scope = scopes_[node];
    if (scope.complete) return;
    for (const placement::Change& change : *command.changes) AddToScope(change, &scope);
    if (scope.empty()) return;
  }
  FlushPushes();
}

void ReportSession::TouchService() {
  {
    MutexLock lock(&mutex_);
    if (scopes_.empty()) return;
    scopes_.begin()->second.service = true;
  }
  FlushPushes();
}

void ReportSession::TouchAll() {
  {
    MutexLock lock(&mutex_);
    for (auto& [node, scope] : scopes_) scope.complete = true;
  }
  FlushPushes();
}

void ReportSession::FlushPushes() {
  {
    MutexLock lock(&mutex_);
    const bool wanted = std::any_of(scopes_.begin(), scopes_.end(),
                                    [](const auto& entry) { return !entry.second.empty(); });
    if (!wanted || pushing_ || finished_ || writing_) return;
    pushing_ = true;
  }
  if (sessions_->workers()->Submit([self = shared_from_this()] { self->TellPushes(); })) return;
  MutexLock lock(&mutex_);
  pushing_ = false;  // the next tick tries again
}

// One push at a time: while it is on its way, what comes adds up.
void ReportSession::TellPushes() {
  MutexLock lock(&mutex_);
  pushing_ = false;
  if (writing_ || finished_ || ending_) return;
  pb::SessionResponse message;
  if (!NextPush(&message)) return;
  outbox_.push_back(std::move(message));
  WriteNext();
}

bool ReportSession::NextPush(pb::SessionResponse* message) {
  const placement::Revision dispatched = sessions_->dispatched();
  const placement::StatePtr state = sessions_->ledger()->Newest();
  const placement::Revision newest = state->position().resume_point();
  for (auto& [node, scope] : scopes_) {
    if (scope.complete && !IsTold(*state, node)) scope.complete = false;
    if (scope.empty()) continue;
    // Names that are told from the newest state may lack some that it changed as well.
    SetRevision(scope.complete ? newest : std::min(newest, dispatched),
                message->mutable_revision());
    FillPush(*state, key_.first, node, scope, message->mutable_push());
    scope = PushScope();
    return true;
  }
  return false;
}

}  // namespace berth::services
