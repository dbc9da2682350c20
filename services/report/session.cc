#include "services/report/session.h"

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "placement/commands/fleet_node.h"
#include "placement/ground/boot_clock.h"
#include "services/access/policy.h"
#include "services/log/refusal_log.h"
#include "services/process/error.h"
#include "services/report/push_news.h"
#include "services/report/push_slice.h"
#include "services/wire/form.h"
#include "services/wire/record_write.h"

namespace berth::services {

using placement::ApplyReport;
using placement::Decision;
using placement::MutexLock;
using placement::ProviderId;
using placement::StatePtr;
using placement::WriteRecords;

namespace {

// The command for a report, or why placement refuses the report. `form`: as in HandleReport.
absl::StatusOr<ApplyReport> CommandOf(const placement::State& state, const HelloFacts& hello,
                                      const absl::Status& form, pb::Report* report) {
  BERTH_RETURN_IF_ERROR(form);
  BERTH_RETURN_IF_ERROR(MakeUuidsCanonical("report", report));
  BERTH_ASSIGN_OR_RETURN(ApplyReport command, ApplyReportOf(state, hello, *report));
  if (Announces(hello, command.node)) return command;
  return InvalidField("report.node_uuid", "is not a node that this session announced in its hello");
}

absl::Status TooManyConnect() {
  return placement::Refuse(absl::StatusCode::kUnavailable, "OVERLOADED",
                           "too many trackers connect at once: connect again later", {},
                           absl::Seconds(1));
}

// Returns `status`, which the tracker is told. If it refuses the tracker (RefusesCaller), the log has
// it, too.
const absl::Status& Logged(const TrackerIdentity& identity, const absl::Status& status) {
  static auto& refusals = *new RefusalLog("a call was refused");
  if (RefusesCaller(status)) {
    refusals.Tell(identity.Caller(), "berth.placement.v1.ReportService/Session", status);
  }
  return status;
}

}  // namespace

void ReportSession::Open() {
  sessions_->Opened(shared_from_this());
  traffic_.ReadNext();
}

void ReportSession::HandleRead(bool ok) {
  if (!ok) return End(absl::OkStatus());
  const absl::Status valid = identity_.CheckCertificate(absl::Now());
  if (!valid.ok()) return End(Logged(identity_, valid));
  const pb::SessionRequest& message = traffic_.incoming();
  const absl::Status form = CheckText(message);
  if (message.has_hello()) return form.ok() ? HandleHello() : End(form);
  if (hello_ == nullptr) {
    return End(
        InvalidField("message", "must be hello, because it is the first message of the session"));
  }
  std::optional<Beat> beat;
  if (message.has_heartbeat()) beat = BeatOf(message.heartbeat());
  sessions_->liveness().Hear(key(), incarnation(), beat, placement::BootNow(), absl::Now());
  switch (message.message_case()) {
    case pb::SessionRequest::kRecordWrite:
      return HandleRecordWrite(form);
    case pb::SessionRequest::kReport:
      return HandleReport(form);
    case pb::SessionRequest::kReadiness:
      return HandleReadiness(form);
    case pb::SessionRequest::kAuditDone:
      sessions_->AuditDone(message.audit_done());
      return traffic_.ReadNext();
    default:  // a heartbeat, or a message that only newer releases know
      return traffic_.ReadNext();
  }
}

void ReportSession::HandleHello() {
  absl::StatusOr<HelloFacts> facts = HelloOf(traffic_.incoming().hello());
  if (!facts.ok()) return End(facts.status());
  const absl::Status same = identity_.Hear(facts->service);
  if (!same.ok()) return End(Logged(identity_, same));
  facts->service.starts_disabled = !sessions_->settings().enable_new_services;
  facts->identified = identity_.identified();
  day_.Begin(identity_, &facts->service);
  const auto hello = std::make_shared<const HelloFacts>(*std::move(facts));
  Submit(hello->service, [this, hello](const Decision& decision) {
    const absl::Status status = day_.Settle(identity_, decision);
    if (!status.ok()) return End(Logged(identity_, status));
    // A worker looks up the nodes: with ten thousand trackers this would take too long on the
    // ledger's answering thread.
    const auto welcome = [self = shared_from_this(), hello, decision] {
      self->Welcome(hello, decision);
    };
    const auto refuse = [self = shared_from_this()] {
      self->End(Logged(self->identity_, TooManyConnect()));
    };
    const bool taken = sessions_->workers()->Submit(
        {identity_.Owner(), placement::Priority::kSessions}, welcome, refuse);
    if (!taken) refuse();
  });
}

// Runs on a worker. The stream may have ended meanwhile; then Attach refuses it.
void ReportSession::Welcome(const HelloPtr& hello, const Decision& decision) {
  hello_ = hello;
  const std::string& host = identity_.host();
  {
    MutexLock lock(&mutex_);
    pushes_.Prepare(hello);
  }
  const absl::Status attached =
      sessions_->Attach(shared_from_this(), OwnNodes(*sessions_->ledger()->Newest(), *hello));
  if (!attached.ok()) return End(attached);
  sessions_->liveness().Hear(key(), incarnation(), std::nullopt, placement::BootNow(), absl::Now());
  // This state contains every change that was dispatched before Attach, and later changes are
  // dispatched to this stream. So the first push and the dispatched changes together contain every
  // change.
  const StatePtr state = sessions_->ledger()->Newest();
  pb::SessionResponse response;
  SetRevision(state->position().revision, response.mutable_revision());
  FillWelcome(
      *state, *hello, decision, sessions_->heartbeat_interval(),
      [&](ProviderId node) { return sessions_->AskForSnapshot(host, node); },
      response.mutable_welcome());
  const auto limits = identity_.LimitsBy(sessions_->settings().policy);
  for (const ProviderId node : NodesToRetire(*state, *hello)) {
    if (!Logged(identity_, CheckRetired(*state, limits.get(), node)).ok()) continue;
    Submit(placement::RetireNode{node, true}, [](const Decision&) {});
  }
  traffic_.Send(std::move(response));
  // The changes are found before the lock is taken, since all other trackers wait while Touch waits
  // for the lock.
  MissedChanges missed = FindMissed(sessions_->ledger()->feed(), state->position().revision, host,
                                    ToldOf(*state, *hello));
  {
    MutexLock lock(&mutex_);
    pushes_.Begin(hello->nodes, std::move(missed.scopes));
  }
  FlushPushes();
  traffic_.ReadNext();
}

void ReportSession::HandleReport(const absl::Status& form) {
  pb::Report* const message = traffic_.incoming().mutable_report();
  const StatePtr state = sessions_->ledger()->Newest();
  absl::StatusOr<ApplyReport> report = CommandOf(*state, *hello_, form, message);
  absl::Status refusal = report.status();
  if (report.ok()) refusal = day_.Begin(identity_, *state, *hello_, *message, &*report);
  if (!refusal.ok()) {
    pb::SessionResponse response;
    SetRevision(state->position().revision, response.mutable_revision());
    FillReject(*message, refusal, response.mutable_reject());
    traffic_.Send(std::move(response));
    return traffic_.ReadNext();
  }
  report->limits = identity_.LimitsBy(sessions_->settings().policy);
  const ProviderId node = report->node;
  Submit(*std::move(report),
         [this, node](const Decision& decision) { SettleReport(node, decision); });
}

void ReportSession::SettleReport(ProviderId node, const Decision& decision) {
  const pb::Report& report = traffic_.incoming().report();
  const absl::Status told = day_.Settle(identity_, decision);
  const StatePtr state = sessions_->ledger()->Newest();
  const absl::Status ending = identity_.EndingOf(*state, decision.status);
  if (!ending.ok()) return End(ending);
  const bool has_gap = HasReason(decision.status, "REPORT_GAP");
  // After a Reject the tracker would use the number of the snapshot again, which was used before.
  if (has_gap && report.kind() == pb::REPORT_KIND_SNAPSHOT) return End(decision.status);
  pb::SessionResponse response;
  SetRevision(decision.status.ok() ? decision.revision : state->position().revision,
              response.mutable_revision());
  bool push_all = false;
  if (decision.status.ok()) {
    FillAck(*state, node, report, decision, response.mutable_ack());
    if (report.kind() == pb::REPORT_KIND_SNAPSHOT) sessions_->SnapshotTaken(node);
    sessions_->Own(shared_from_this(), node);  // the node may come from another host
    // In two cases a new push must send everything. If the node's tree has just been created, no
    // push has contained the allocations in it. If a push for the node is open, its first slices may
    // have values from before the report, but the tracker will use them after the Ack.
    MutexLock lock(&mutex_);
    push_all = decision.result.created || pushes_.IsOpen(node);
  } else if (has_gap) {
    response.mutable_snapshot_order()->set_node_uuid(node.ToString());
  } else {
    FillReject(*state, node, report, Logged(identity_, told), response.mutable_reject());
  }
  traffic_.Send(std::move(response));
  if (push_all) {
    MutexLock lock(&mutex_);
    pushes_.NoteAll(node);
  }
  FlushPushes();
  traffic_.ReadNext();
}

void ReportSession::HandleRecordWrite(const absl::Status& form) {
  const pb::RecordWrite& message = traffic_.incoming().record_write();
  RecordAnswer answer = AnswerTo(message, *hello_);
  if (!form.ok()) return SettleRecordWrite(std::move(answer), form);
  absl::StatusOr<WriteRecords> write = WriteRecordsOf(message, identity_.process());
  if (!write.ok()) return SettleRecordWrite(std::move(answer), write.status());
  if (!answer.node) {
    return SettleRecordWrite(
        std::move(answer), InvalidField("record_write.node_uuid",
                                        "is not a node that this session announced in its hello"));
  }
  Submit(*std::move(write),
         [this, answer](const Decision& decision) { SettleRecordWrite(answer, decision.status); });
}

// Ends the session if the outcome is unknown, or if this process may write nothing any more.
void ReportSession::SettleRecordWrite(RecordAnswer answer, const absl::Status& status) {
  const absl::Status ending = identity_.EndingOf(*sessions_->ledger()->Newest(), status);
  if (!ending.ok()) return End(ending);
  *answer.message.mutable_status() = PlacementError(Logged(identity_, status));
  {
    MutexLock lock(&mutex_);
    pushes_.Hold(std::move(answer));
    traffic_.Promise();
    SendRecordAnswers();
  }
  traffic_.ReadNext();
}

void ReportSession::SendRecordAnswers() {
  for (pb::SessionResponse& answer : pushes_.TakeAnswers(*sessions_->ledger()->Newest())) {
    traffic_.SendPromised(std::move(answer));
  }
}

// A readiness has no answer. One that cannot be recorded only gets into the log.
void ReportSession::HandleReadiness(const absl::Status& form) {
  if (form.ok()) {
    {
      MutexLock lock(&mutex_);
      readiness_.Hear(traffic_.incoming().readiness());
    }
    RecordReadiness();
  } else {
    LogUnrecorded(identity_.host(), form);
  }
  traffic_.ReadNext();
}

void ReportSession::RecordReadiness() {
  const StatePtr state = sessions_->ledger()->Newest();
  const auto* service = state->services().Find(key());
  std::optional<placement::UpdateService> command;
  {
    MutexLock lock(&mutex_);
    if (traffic_.ended()) return;
    command = readiness_.Next(service == nullptr ? nullptr : service->get());
  }
  if (!command) return;
  Submit(*std::move(command), [this](const Decision& decision) {
    bool again = false;
    {
      MutexLock lock(&mutex_);
      again = readiness_.Settle(decision.status);
    }
    if (again) return sessions_->TickLater(shared_from_this());
    if (!decision.status.ok()) LogUnrecorded(identity_.host(), decision.status);
  });
}

void ReportSession::Submit(placement::CommandBody body, std::function<void(const Decision&)> done) {
  placement::Command command;
  command.actor = identity_.Actor();
  command.session_owner = identity_.Owner();
  static const auto* const method = new std::shared_ptr<const std::string>(
      std::make_shared<const std::string>("/berth.placement.v1.ReportService/Session"));
  command.method = *method;
  command.body = std::move(body);
  sessions_->ledger()->Submit(
      std::move(command), placement::BootNow() + sessions_->settings().settle_within,
      std::make_shared<std::atomic<bool>>(false),
      [self = shared_from_this(), done = std::move(done)](const Decision& decision) {
        done(decision);
      });
}

int64_t ReportSession::Touch(const placement::FeedCommand& command) {
  const bool is_own = command.actor == identity_.Actor();
  int64_t visits = 0;
  {
    MutexLock lock(&mutex_);
    visits = pushes_.Note(command, is_own);
  }
  FlushPushes();
  return visits;
}

void ReportSession::TouchAll() {
  {
    MutexLock lock(&mutex_);
    pushes_.NoteAll();
  }
  FlushPushes();
}

void ReportSession::Tick() {
  RecordReadiness();
  FlushPushes();
}

void ReportSession::FlushPushes() {
  {
    MutexLock lock(&mutex_);
    if (!traffic_.is_free() || !pushes_.GetJob()) return;
  }
  const auto refuse = [self = shared_from_this()] {
    {
      MutexLock lock(&self->mutex_);
      self->pushes_.Leave();
    }
    self->sessions_->TickLater(self);
  };
  const bool taken = sessions_->workers()->Submit(
      {identity_.Owner(), placement::Priority::kSessions},
      [self = shared_from_this()] { self->TellPushes(); }, refuse);
  if (!taken) refuse();
}

// Sends one slice of a push. The slice is filled without the lock, since all other trackers wait
// while Touch waits for the lock.
void ReportSession::TellPushes() {
  StatePtr state;
  std::optional<OpenPush> push;
  {
    MutexLock lock(&mutex_);
    const placement::Revision dispatched = sessions_->dispatched();
    state = sessions_->ledger()->Newest();
    if (traffic_.is_free()) push = pushes_.Take(*state, dispatched);
    if (!push) return pushes_.Leave();
  }
  if (sessions_->settings().before_fill) sessions_->settings().before_fill();
  const std::string& host = identity_.host();
  if (push->names_all) NameAll(*state, host, push->node, &push->rest);
  push->names_all = false;
  pb::SessionResponse message;
  SetRevision(push->revision, message.mutable_revision());
  FillSlice(*state, host, push->node, &push->rest, message.mutable_push());
  MutexLock lock(&mutex_);
  pushes_.Return(*std::move(push), message.push().more());
  traffic_.Send(std::move(message));
  SendRecordAnswers();
}

void ReportSession::OrderSnapshot(ProviderId node) {
  pb::SessionResponse message;
  SetRevision(sessions_->ledger()->Newest()->position().revision, message.mutable_revision());
  message.mutable_snapshot_order()->set_node_uuid(node.ToString());
  traffic_.Send(std::move(message));
}

void ReportSession::OrderAudit(const std::string& order_id, ProviderId node) {
  pb::SessionResponse message;
  SetRevision(sessions_->ledger()->Newest()->position().revision, message.mutable_revision());
  message.mutable_audit_order()->set_order_id(order_id);
  message.mutable_audit_order()->set_node_uuid(node.ToString());
  traffic_.Send(std::move(message));
}

void ReportSession::HandleSent(bool ok) {
  traffic_.HandleSent(ok);
  FlushPushes();
}

void ReportSession::Closed() {
  traffic_.CheckClosed();
  sessions_->Closed(shared_from_this());
}

}  // namespace berth::services
