#include "services/report/session.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "placement/commands/fleet_node.h"
#include "placement/ground/boot_clock.h"
#include "services/process/error.h"
#include "services/process/log.h"
#include "services/report/push_news.h"
#include "services/wire/fleet.h"

namespace berth::services {

using placement::Decision;
using placement::kAutomaticReason;
using placement::MutexLock;
using placement::ProviderId;
using placement::State;

std::string ReportSession::Actor() const {
  const std::string actor = "tracker/" + key_.first;
  return certificate_.host.empty() ? actor + " (unverified)" : actor;
}

absl::Status ReportSession::CheckCertificate() const {
  if (absl::Now() < certificate_.not_after) return absl::OkStatus();
  return placement::Refuse(absl::StatusCode::kUnauthenticated, "UNAUTHENTICATED",
                           "the certificate with which the connection was opened has expired");
}

absl::Status ReportSession::CheckHost(const std::string& host) const {
  if (certificate_.host.empty() || host == certificate_.host) return absl::OkStatus();
  return placement::Refuse(absl::StatusCode::kPermissionDenied, "POLICY_DENIED",
                           "the hello names another host than the tracker's certificate",
                           {{{"field", "hello.host"}, {"host", certificate_.host}}});
}

bool ReportSession::HasReason(const absl::Status& status, absl::string_view reason) {
  const auto refusal = placement::RefusalOf(status);
  return refusal && refusal->reason == reason;
}

bool ReportSession::Names(const HelloFacts& hello, ProviderId node) {
  return std::any_of(hello.nodes.begin(), hello.nodes.end(),
                     [node](const HelloNode& named) { return named.id == node; });
}

void ReportSession::Open() {
  sessions_->Opened(shared_from_this());
  ReadNext();
}

ReportSession::HelloPtr ReportSession::hello() const {
  MutexLock lock(&mutex_);
  return hello_;
}

void ReportSession::HandleRead(bool ok) {
  if (!ok) return End(absl::OkStatus());
  if (absl::Status valid = CheckCertificate(); !valid.ok()) return End(valid);
  const absl::Status form = CheckText(incoming_);
  if (incoming_.has_hello()) return form.ok() ? HandleHello() : End(form);
  if (hello() == nullptr)
    return End(
        InvalidField("message", "must be hello, because it is the first message of the session"));
  std::optional<Beat> beat;
  if (incoming_.has_heartbeat()) beat = BeatOf(incoming_.heartbeat());
  sessions_->liveness().Hear(key_, incarnation_, beat, placement::BootNow(), absl::Now());
  switch (incoming_.message_case()) {
    case pb::SessionRequest::kRecordWrite:
      return HandleRecordWrite(form);
    case pb::SessionRequest::kReport:
      return HandleReport(form);
    case pb::SessionRequest::kReadiness:
      return HandleReadiness(form);
    case pb::SessionRequest::kAuditDone:
      sessions_->AuditDone(incoming_.audit_done());
      return ReadNext();
    default:  // a heartbeat, or a message that only newer releases know
      return ReadNext();
  }
}

void ReportSession::HandleHello() {
  absl::StatusOr<HelloFacts> facts = HelloOf(incoming_.hello());
  if (!facts.ok()) return End(facts.status());
  const absl::Status host = CheckHost(facts->service.host);
  if (!host.ok()) return End(host);
  facts->service.starts_disabled = !sessions_->enables_new_services();
  const auto hello = std::make_shared<const HelloFacts>(*std::move(facts));
  const placement::RegisterService& service = hello->service;
  const Liveness::Key key = {service.host, service.binary};
  if (this->hello() == nullptr) {
    key_ = key;
    incarnation_ = service.incarnation;
  } else if (key != key_ || service.incarnation != incarnation_) {
    return End(InvalidField("hello", "names another process than the first hello of this session"));
  }
  Submit(service, [this, hello](const Decision& decision) {
    if (!decision.status.ok()) return End(decision.status);
    // A worker looks up the nodes: with ten thousand trackers this would take too long on the
    // ledger's answering thread.
    auto welcome = [self = shared_from_this(), hello, decision] { self->Welcome(hello, decision); };
    if (!sessions_->workers()->Submit(std::move(welcome))) {
      End(placement::Refuse(absl::StatusCode::kUnavailable, "OVERLOADED",
                            "too many trackers connect at once: connect again later", {},
                            absl::Seconds(1)));
    }
  });
}

// Runs on a worker. The stream may have ended meanwhile; then Attach refuses it.
void ReportSession::Welcome(const HelloPtr& hello, const Decision& decision) {
  {
    MutexLock lock(&mutex_);
    hello_ = hello;
    welcoming_ = true;
    for (const HelloNode& node : hello->nodes) scopes_.try_emplace(node.id);
  }
  const absl::Status attached =
      sessions_->Attach(shared_from_this(), OwnNodes(*sessions_->ledger()->Newest(), *hello));
  if (!attached.ok()) return End(attached);
  sessions_->liveness().Hear(key_, incarnation_, std::nullopt, placement::BootNow(), absl::Now());
  // This state contains every change that was dispatched before Attach, and later changes are
  // dispatched to this stream. So the first push and the dispatched changes together contain every
  // change.
  const placement::StatePtr state = sessions_->ledger()->Newest();
  pb::SessionResponse response;
  SetRevision(state->position().revision, response.mutable_revision());
  FillWelcome(*state, decision, response.mutable_welcome());
  for (const HelloNode& node : hello->nodes) {
    FillNodeWelcome(*state, node, response.mutable_welcome()->add_nodes());
  }
  RetireNodes(*state, *hello);
  Send(std::move(response));
  BeginPushes(*state, *hello);
  FlushPushes();
  ReadNext();
}

// Returns the nodes of the Hello that this tracker may report. A node whose other host is down is
// among them: this tracker takes it over, so it must get the order for the node's snapshot.
std::vector<ProviderId> ReportSession::OwnNodes(const State& state, const HelloFacts& hello) const {
  std::vector<ProviderId> own;
  for (const HelloNode& node : hello.nodes) {
    const NodePtr* record = state.nodes().Find(node.id);
    if (record == nullptr || !IsHeldElsewhere(state, **record, key_.first)) own.push_back(node.id);
  }
  return own;
}

void ReportSession::FillWelcome(const State& state, const Decision& decision,
                                pb::Welcome* to) const {
  const auto* service = state.services().Find(key_);
  if (service != nullptr) FillService(**service, nullptr, to->mutable_service());
  to->set_service_created(decision.result.created);
  const absl::Duration interval = sessions_->heartbeat_interval();
  to->mutable_heartbeat_interval()->set_seconds(absl::ToInt64Seconds(interval));
  to->mutable_heartbeat_interval()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(interval % absl::Seconds(1))));
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
    if (IsHeldElsewhere(state, record, key_.first)) {
      return to->set_standing(pb::NODE_STANDING_STANDBY);
    }
  }
  to->set_standing(sessions_->AskForSnapshot(node.id) ? pb::NODE_STANDING_SEND_ALL
                                                      : pb::NODE_STANDING_WAIT);
}

// Retires the nodes that the tracker's configuration no longer names (T-40).
void ReportSession::RetireNodes(const State& state, const HelloFacts& hello) {
  for (const ProviderId id : hello.retired) {
    const NodePtr* node = state.nodes().Find(id);
    if (node == nullptr || (*node)->host != key_.first || (*node)->retired) continue;
    Submit(placement::RetireNode{id, true}, [](const Decision&) {});
  }
}

void ReportSession::HandleReport(const absl::Status& form) {
  if (!form.ok()) return RefuseReport(form);
  const absl::Status uuids = MakeUuidsCanonical("report", incoming_.mutable_report());
  if (!uuids.ok()) return RefuseReport(uuids);
  const placement::StatePtr state = sessions_->ledger()->Newest();
  const HelloPtr said = hello();
  absl::StatusOr<placement::ApplyReport> report = ApplyReportOf(*state, *said, incoming_.report());
  if (!report.ok()) return RefuseReport(report.status());
  const ProviderId node = report->node;
  if (!Names(*said, node)) {
    return RefuseReport(
        InvalidField("report.node_uuid", "is not a node that this session announced in its hello"));
  }
  Submit(*std::move(report),
         [this, node](const Decision& decision) { SettleReport(node, decision); });
}

// Answers a report that the ledger does not get.
void ReportSession::RefuseReport(const absl::Status& why) {
  pb::SessionResponse response;
  SetRevision(sessions_->ledger()->Newest()->position().revision, response.mutable_revision());
  pb::Reject* const reject = response.mutable_reject();
  reject->set_node_uuid(EchoOf(incoming_.report().node_uuid()));
  reject->set_sequence(incoming_.report().sequence());
  *reject->mutable_status() = PlacementError(why);
  Send(std::move(response));
  ReadNext();
}

void ReportSession::SettleReport(ProviderId node, const Decision& decision) {
  const pb::Report& report = incoming_.report();
  const placement::StatePtr state = sessions_->ledger()->Newest();
  const absl::Status ending = EndingOf(decision.status);
  if (!ending.ok()) return End(ending);
  const bool has_gap = HasReason(decision.status, "REPORT_GAP");
  // After a Reject the tracker would use the number of the snapshot again, which was used before.
  if (has_gap && report.kind() == pb::REPORT_KIND_SNAPSHOT) return End(decision.status);
  pb::SessionResponse response;
  SetRevision(decision.status.ok() ? decision.revision : state->position().revision,
              response.mutable_revision());
  if (decision.status.ok()) {
    FillAck(*state, node, report, decision, response.mutable_ack());
    if (report.kind() == pb::REPORT_KIND_SNAPSHOT) sessions_->SnapshotTaken(node);
    sessions_->Own(shared_from_this(), node);  // the node may come from another host
  } else if (has_gap) {
    response.mutable_snapshot_order()->set_node_uuid(node.ToString());
  } else {
    FillReject(*state, node, report, decision.status, response.mutable_reject());
  }
  // In two cases a new push must send everything. If the node's tree has just been created, no push
  // has contained the allocations in it. If a push for the node is being sent, its first slices may
  // have values from before the report, but the tracker will use them after the Ack.
  const bool push_all = decision.status.ok() && (decision.result.created || IsPushing(node));
  Send(std::move(response));
  if (push_all) {
    MutexLock lock(&mutex_);
    scopes_[node].complete = true;
  }
  FlushPushes();
  ReadNext();
}

// Returns the status with which the stream must end after a command of the tracker has ended with
// `status`. OK: the stream does not end, and a message answers the command.
absl::Status ReportSession::EndingOf(const absl::Status& status) const {
  // After a Reject the tracker uses the number of the report again. That would be wrong if the
  // outcome is unknown. So the stream ends, and the Welcome of the next stream tells the tracker
  // which number is free.
  if (absl::IsDeadlineExceeded(status) && !placement::RefusalOf(status)) {
    return placement::Refuse(absl::StatusCode::kDeadlineExceeded, "OUTCOME_UNKNOWN",
                             "it is not known whether the report was applied: send hello again");
  }
  // Another process of the host said hello to another placement process, which wrote it.
  if (HasReason(status, "TRACKER_FENCED")) return status;
  if (!HasReason(status, "SERVICE_NOT_REGISTERED")) return absl::OkStatus();
  const placement::StatePtr state = sessions_->ledger()->Newest();
  if (state->services().Find(key_) == nullptr) return status;
  return placement::Refuse(absl::StatusCode::kAborted, "TRACKER_FENCED",
                           "a newer tracker process of this host has taken over",
                           {{{"host", key_.first}, {"incarnation", incarnation_.ToString()}}});
}

// A readiness has no answer. One that cannot be recorded only gets into the log.
void ReportSession::HandleReadiness(const absl::Status& form) {
  if (!form.ok()) {
    TellUnrecorded(form);
    return ReadNext();
  }
  {
    MutexLock lock(&mutex_);
    readiness_ = incoming_.readiness();
  }
  RecordReadiness();
  ReadNext();
}

// Records the readiness that the tracker sent, if it is not recorded already. If an operator has
// set another value, that value stays: the rule of UpdateService decides so (T-297).
void ReportSession::RecordReadiness() {
  const placement::StatePtr state = sessions_->ledger()->Newest();
  const auto* service = state->services().Find(key_);
  pb::Readiness readiness;
  {
    MutexLock lock(&mutex_);
    if (!readiness_ || recording_readiness_ || ending_ || finished_) return;
    readiness = *std::exchange(readiness_, std::nullopt);
    if (service == nullptr || (*service)->disabled != readiness.ready()) return;
    recording_readiness_ = true;
  }
  placement::UpdateService command;
  command.host = key_.first;
  command.binary = key_.second;
  command.disabled = !readiness.ready();
  command.automatic = true;
  if (!readiness.ready()) command.disabled_reason = kAutomaticReason + readiness.reason();
  Submit(std::move(command), [this, readiness](const Decision& decision) {
    SettleReadiness(readiness, decision.status);
  });
}

// A tracker does not repeat its readiness. So if the ledger may not have written it, the session
// tries again, unless a newer message has replaced it.
void ReportSession::SettleReadiness(const pb::Readiness& readiness, const absl::Status& status) {
  bool again = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
               HasReason(status, "RECOVERY_REQUIRED");
  {
    MutexLock lock(&mutex_);
    recording_readiness_ = false;
    if (again && !readiness_) readiness_ = readiness;
    again = readiness_.has_value();
  }
  if (again) return sessions_->TickLater(shared_from_this());
  if (!status.ok()) TellUnrecorded(status);
}

// A tracker decides how often this happens. So a host gets at most one line in a second.
void ReportSession::TellUnrecorded(const absl::Status& status) const {
  static auto& pace = *new LinePace(absl::Seconds(1));
  int64_t omitted = 0;
  if (!pace.Lets(key_.first, placement::BootNow(), &omitted)) return;
  Log(LogLevel::kWarning, "a tracker's readiness could not be recorded",
      {{"host", key_.first}, {"detail", status.ToString()}, {"omitted", omitted}});
}

void ReportSession::Tick() {
  RecordReadiness();
  FlushPushes();
}

void ReportSession::Submit(placement::CommandBody body, std::function<void(const Decision&)> done) {
  placement::Command command;
  command.actor = Actor();
  static const auto* const method = new std::shared_ptr<const std::string>(
      std::make_shared<const std::string>("/berth.placement.v1.ReportService/Session"));
  command.method = *method;
  command.body = std::move(body);
  sessions_->ledger()->Submit(std::move(command), placement::BootNow() + sessions_->settle_within(),
                              std::make_shared<std::atomic<bool>>(false),
                              [self = shared_from_this(), done = std::move(done)](
                                  const Decision& decision) { done(decision); });
}

int64_t ReportSession::Touch(const placement::FeedCommand& command) {
  const bool is_own = command.actor == Actor();
  int64_t visits = 0;
  {
    MutexLock lock(&mutex_);
    visits = AddNews(command, key_.first, is_own, &scopes_);
  }
  FlushPushes();
  return visits;
}

void ReportSession::TouchAll() {
  {
    MutexLock lock(&mutex_);
    for (auto& [node, scope] : scopes_) scope.complete = true;
  }
  FlushPushes();
}

}  // namespace berth::services
