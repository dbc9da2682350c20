#include "tracker/uplink/session.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <utility>

#include "tracker/ground/message_text.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/messages.h"
#include "tracker/uplink/record_form.h"
#include "tracker/uplink/record_messages.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using google::protobuf::util::TimeUtil;

// At most this many writes of records are sent and not answered. With many more, tracker and
// placement could both wait until the other one reads.
constexpr int kWritesUnansweredMax = 16;
// How long Work() sleeps if only a report of gRPC or of another thread can give it work.
constexpr std::chrono::hours kLong{1};

bool NotReady(const Node& node) {
  return node.view().last.result == PassOutcome::Result::kNotReady;
}

void AddDigest(const Node::View& view, v1::Hello* hello) {
  v1::NodeDigest* const digest = hello->add_nodes();
  digest->set_node_uuid(view.uuid.ToString());
  digest->set_node_name(view.name);
  digest->set_digest(view.acknowledged_digest);
  if (!view.told_up_to) return;
  digest->mutable_pushed_revision()->set_epoch(view.told_up_to->epoch);
  digest->mutable_pushed_revision()->set_number(view.told_up_to->number);
  digest->mutable_pushed_revision()->set_batch(view.told_up_to->batch);
}

}  // namespace

UplinkSession::UplinkSession(const UplinkOptions& options, const std::vector<Node*>& nodes,
                             const UplinkCallbacks& callbacks, UplinkCounts* counts,
                             std::function<void(const UplinkEnd&)> ended)
    : options_(options),
      nodes_(nodes),
      callbacks_(callbacks),
      counts_(counts),
      first_(counts->sessions == 0),
      begun_(Clock::now()),
      on_end_(std::move(ended)),
      stub_(v1::ReportService::NewStub(options.channel)),
      next_beat_(begun_ + options.heartbeat),
      heartbeat_(options.heartbeat),
      patience_(begun_ + options.connect_patience) {}

void UplinkSession::Start() {
  stub_->async()->Session(&context_, this);
  AddHold();
  StartRead(&response_);
  StartCall();
  MutexLock lock(&mutex_);
  alarm_.Set(Clock::duration::zero(), [this] { Work(); });
}

void UplinkSession::Stop() {
  MutexLock lock(&mutex_);
  stopping_ = true;
  context_.TryCancel();
}

void UplinkSession::Notify() {
  MutexLock lock(&mutex_);
  WakeLocked();
}

void UplinkSession::Tick() {
  MutexLock lock(&mutex_);
  alarm_.HurryIfLate();
}

void UplinkSession::Greet() {
  MutexLock lock(&mutex_);
  greet_again_ = true;
  WakeLocked();
}

void UplinkSession::AuditDone(const std::string& order_id) {
  MutexLock lock(&mutex_);
  audits_done_.push_back(order_id);
  WakeLocked();
}

void UplinkSession::OnReadDone(bool ok) {
  MutexLock lock(&mutex_);
  (ok ? heard_ : ended_) = true;
  WakeLocked();
}

// After a write that failed nothing more can be sent, so writing_ stays true. gRPC soon reports
// the end of the stream to OnReadDone().
void UplinkSession::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  writing_ = !ok;
  if (!welcomed()) patience_ = Clock::now() + options_.connect_patience;  // the Hello is sent
  WakeLocked();
}

void UplinkSession::OnDone(const grpc::Status& status) {
  // The function destroys this session, so the session must not own the function any more.
  const auto on_end = std::move(on_end_);
  on_end(Conclude(status));
}

void UplinkSession::WakeLocked() {
  if (!std::exchange(woken_, true)) alarm_.Hurry();
}

void UplinkSession::Work() {
  bool hears = false;
  bool stops = false;
  bool silent = false;
  bool ended = false;
  {
    MutexLock lock(&mutex_);
    woken_ = false;
    hears = std::exchange(heard_, false);
    stops = stopping_;
    silent = stops || writing_;
    ended = ended_;
    if (std::exchange(greet_again_, false)) greeted_.clear();
  }
  if (ended) {
    RemoveHold();  // gRPC may destroy this session from now on
    return;
  }
  if (hears && !stops) Hear(response_);
  bool audited = false;
  for (Node* const node : nodes_) {
    audited |= node->Audits([](NodeAudits* audits) { return audits->AuditChanges(Clock::now()); });
  }
  if ((hears && !stops) || audited) callbacks_.records_changed();
  const bool says = !silent && MakeRequest();
  MutexLock lock(&mutex_);
  if (says) patience_ = Clock::now() + options_.hello_patience;
  if (!welcomed() && Clock::now() >= patience_) {
    context_.TryCancel();
    patience_ = Clock::now() + kLong;
  }
  if (hears) StartRead(&response_);
  if (says && !ended_) {
    writing_ = true;
    StartWrite(&request_);
  }
  const Clock::time_point due = woken_ ? Clock::now() : NextDue(silent || says);
  alarm_.Set(due - Clock::now(), [this] { Work(); });
}

UplinkSession::Clock::time_point UplinkSession::NextDue(bool silent) const {
  if (!welcomed()) return patience_;
  if (silent) return Clock::now() + kLong;  // something that is due has to wait, too
  Clock::time_point due = next_beat_;
  for (const auto& [node, when] : not_before_) due = std::min(due, when);
  for (Node* const node : nodes_) {
    due = std::min(due,
                   node->Audits([&](NodeAudits* audits) { return audits->due(); }).value_or(due));
  }
  return due;
}

Node* UplinkSession::Find(const std::string& node_uuid) const {
  const std::optional<Uuid> uuid = Uuid::Parse(node_uuid);
  for (Node* const node : nodes_) {
    const std::optional<NodeIdentity> identity = node->identity();
    if (identity && identity->uuid == uuid) return node;
  }
  return nullptr;
}

UplinkEnd UplinkSession::Conclude(const grpc::Status& status) const {
  UplinkEnd end;
  end.welcomed = welcomed();
  end.lasted = Clock::now() - begun_ >= options_.heartbeat;
  std::string text = MessageText(status.error_message());
  if (status.error_code() == grpc::StatusCode::CANCELLED) text = "placement did not answer";
  end.status = absl::Status(static_cast<absl::StatusCode>(status.error_code()), text);
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  const std::string reason = ReadReason(details);
  end.fenced = reason == "TRACKER_FENCED";
  end.deleted = reason == "SERVICE_NOT_REGISTERED";
  return end;
}

bool UplinkSession::MakeRequest() {
  request_.Clear();
  // Until the Welcome, only the first Hello is sent.
  if (!welcomed()) return greeted_.empty() && MakeHello();
  // Heartbeats come before the messages that may follow each other without a pause. Claims come
  // before reports, because callers wait for them. Audits are done when their reports are sent.
  return MakeHello() || MakeBeat() || MakeReadiness() || MakeRecordWrite() || MakeReport() ||
         MakeAuditDone();
}

// Makes the first Hello. Makes another Hello when a further node has found its identity.
bool UplinkSession::MakeHello() {
  std::map<Uuid, const Node*> known;
  for (const Node* const node : nodes_) {
    const std::optional<NodeIdentity> identity = node->identity();
    if (identity) known.emplace(identity->uuid, node);
  }
  if (known.empty() || known == greeted_) return false;
  v1::Hello* const hello = request_.mutable_hello();
  for (const auto& [uuid, node] : known) AddDigest(node->view(), hello);
  greeted_ = std::move(known);
  hello->set_host(options_.host);
  hello->set_binary(options_.binary);
  hello->set_incarnation(options_.incarnation);
  hello->set_machine_id(options_.machine_id);
  hello->set_version(options_.version);
  hello->set_zone(options_.zone);
  hello->set_address(options_.address);
  for (const Uuid& uuid : options_.retired_node_uuids) {
    hello->add_retired_node_uuids(uuid.ToString());
  }
  *hello->mutable_started_at() = WireTime(options_.started_at);
  if (!counts_->registered.service_uuid().empty()) {
    *hello->mutable_registered() = counts_->registered;
  }
  return true;
}

bool UplinkSession::MakeRecordWrite() {
  if (writes_unanswered_ >= kWritesUnansweredMax) return false;
  for (Node* const node : nodes_) {
    const auto next = [](NodeClaims* claims, ClaimReplies* replies) {
      return claims->NextWrite(Clock::now(), replies);
    };
    while (const std::optional<RecordWrites::Outgoing> write = node->Claims(next)) {
      v1::RecordWrite wire = WireWrite(*write, node->identity()->uuid);
      // Each refusal takes the write away from the node.
      if (const absl::Status form = CheckWriteForm(wire); !form.ok()) {
        node->Claims([&](NodeClaims* claims, ClaimReplies* replies) {
          return claims->AnswerWrite(write->id, {form}, Clock::now(), replies);
        });
        continue;
      }
      ++writes_unanswered_;
      *request_.mutable_record_write() = std::move(wire);
      return true;
    }
  }
  return false;
}

bool UplinkSession::MakeReport() {
  const Clock::time_point now = Clock::now();
  std::erase_if(not_before_, [now](const auto& waits) { return waits.second <= now; });
  for (Node* const node : nodes_) {
    const std::optional<NodeIdentity> identity = node->identity();
    if (!identity || greeted_.count(identity->uuid) == 0) continue;
    if (not_before_.count(node) != 0) continue;
    std::optional<Records> records;
    const std::optional<Outbox::Outgoing> report =
        node->Audits([&](NodeAudits* audits) { return audits->NextReport(now, &records); });
    if (!report) continue;
    *request_.mutable_report() = WireReport(*report, records, node->view().last);
    return true;
  }
  return false;
}

// Tells the readiness if it changed: ready means that at least one hypervisor answers (T-104), and
// that no caller of the tracker has disabled it.
bool UplinkSession::MakeReadiness() {
  const bool disabled = counts_->disabled;
  const bool ready = !disabled && !std::all_of(nodes_.begin(), nodes_.end(),
                                               [](const Node* node) { return NotReady(*node); });
  if (told_ready_ == ready) return false;
  told_ready_ = ready;
  request_.mutable_readiness()->set_ready(ready);
  if (!ready) {
    request_.mutable_readiness()->set_reason(disabled ? "the tracker was called to disable it"
                                                      : "the hypervisor does not answer");
  }
  return true;
}

bool UplinkSession::MakeAuditDone() {
  {
    MutexLock lock(&mutex_);
    if (audits_done_.empty()) return false;
    request_.mutable_audit_done()->set_order_id(audits_done_.front());
    audits_done_.pop_front();
  }
  for (const Node* const node : nodes_) {
    const Node::View view = node->view();
    if (IsNil(view.uuid)) continue;
    (*request_.mutable_audit_done()->mutable_audits())[view.uuid.ToString()] =
        WireSummary(view.last);
  }
  return true;
}

bool UplinkSession::MakeBeat() {
  const Clock::time_point now = Clock::now();
  if (now < next_beat_) return false;
  next_beat_ = now + heartbeat_;
  v1::Heartbeat* const beat = request_.mutable_heartbeat();
  beat->set_count(++beats_);
  ++counts_->heartbeats;
  for (const Node* const node : nodes_) {
    const Node::View view = node->view();
    const bool overdue = node->AuditOverdue(now);
    if (IsNil(view.uuid) && !overdue) continue;
    v1::NodeBeat* const item = beat->add_nodes();
    item->set_node_uuid(TextOrEmpty(view.uuid));
    *item->mutable_audit() = WireSummary(view.last);
    item->set_audit_overdue(overdue);
    if (view.unsettled_since) {
      const auto lag = std::max(Clock::duration::zero(), now - *view.unsettled_since);
      *item->mutable_placement_lag() = TimeUtil::NanosecondsToDuration(
          std::chrono::duration_cast<std::chrono::nanoseconds>(lag).count());
    }
  }
  AskForStandby();
  return true;
}

void UplinkSession::AskForStandby() {
  for (const Node* const node : nodes_) {
    const Node::View view = node->view();
    if (view.standing != Standing::kStandby) continue;
    welcomed_nodes_.erase(view.uuid);
    greeted_.clear();
  }
}

}  // namespace berth::tracker
