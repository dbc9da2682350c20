#include "tracker/uplink/session.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/uplink/messages.h"
#include "tracker/uplink/record_messages.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using google::protobuf::util::TimeUtil;

// At most this many received messages wait to be processed. If more come, gRPC's flow control slows
// placement down.
constexpr size_t kHeardMax = 1024;
// At most this many writes of records are sent and not answered. With many more, tracker and
// placement could both wait until the other one reads.
constexpr int kWritesUnansweredMax = 16;

bool NotReady(const Node& node) {
  return node.view().last.result == PassOutcome::Result::kNotReady;
}

}  // namespace

UplinkSession::UplinkSession(const UplinkOptions& options, const std::vector<Node*>& nodes,
                             const UplinkCallbacks& callbacks,
                             const std::shared_ptr<grpc::Channel>& channel, bool first)
    : options_(options),
      nodes_(nodes),
      callbacks_(callbacks),
      first_(first),
      stub_(v1::ReportService::NewStub(channel)),
      next_beat_(Clock::now() + options.heartbeat),
      heartbeat_(options.heartbeat) {}

void UplinkSession::Notify() {
  MutexLock lock(&mutex_);
  notified_ = true;
  changed_.NotifyAll();
}

void UplinkSession::Stop() {
  MutexLock lock(&mutex_);
  stopping_ = true;
  context_.TryCancel();
  changed_.NotifyAll();
}

void UplinkSession::AuditDone(const std::string& order_id) {
  MutexLock lock(&mutex_);
  audits_done_.push_back(order_id);
  notified_ = true;
  changed_.NotifyAll();
}

void UplinkSession::Greet() {
  MutexLock lock(&mutex_);
  greet_again_ = true;
  notified_ = true;
  changed_.NotifyAll();
}

Node* UplinkSession::Find(const std::string& node_uuid) const {
  for (Node* const node : nodes_) {
    const std::optional<NodeIdentity> identity = node->identity();
    if (identity && identity->uuid == node_uuid) return node;
  }
  return nullptr;
}

UplinkEnd UplinkSession::Run() {
  stream_ = stub_->Session(&context_);
  std::thread listener([this] { Listen(); });
  const Clock::time_point patience = Clock::now() + options_.connect_patience;
  bool speaking = SayHello();
  while (speaking) {
    Wait();
    std::deque<Response> heard;
    {
      MutexLock lock(&mutex_);
      heard.swap(heard_);
      changed_.NotifyAll();
      if ((ended_ && heard.empty()) || stopping_) break;
      notified_ = false;
      if (std::exchange(greet_again_, false)) greeted_.clear();
    }
    for (const Response& response : heard) Hear(response);
    if (!heard.empty()) callbacks_.records_changed();
    if (!welcomed()) {
      speaking = Clock::now() < patience;
      continue;
    }
    speaking = SayHello() && SayReadiness() && SayRecordWrites() && SayReports() && SayAudits() &&
               SayBeat();
  }
  EndListening();
  listener.join();
  return Conclude(stream_->Finish());
}

UplinkEnd UplinkSession::Conclude(const grpc::Status& status) const {
  UplinkEnd end;
  end.welcomed = welcomed();
  std::string text = status.error_message();
  if (status.error_code() == grpc::StatusCode::CANCELLED) text = "placement did not answer";
  end.status = absl::Status(static_cast<absl::StatusCode>(status.error_code()), text);
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  const std::string reason = ReadReason(details);
  end.fenced = reason == "TRACKER_FENCED";
  end.deleted = reason == "SERVICE_NOT_REGISTERED";
  return end;
}

// Cancels the stream, unless it has ended already: cancelling would then replace its status.
void UplinkSession::EndListening() {
  MutexLock lock(&mutex_);
  if (!ended_) context_.TryCancel();
  stopping_ = true;
  changed_.NotifyAll();
}

void UplinkSession::Listen() {
  Response response;
  while (stream_->Read(&response)) {
    MutexLock lock(&mutex_);
    while (heard_.size() >= kHeardMax && !stopping_) {
      changed_.WaitUntil(&mutex_, Clock::now() + std::chrono::seconds(1));
    }
    heard_.push_back(std::move(response));
    changed_.NotifyAll();
  }
  MutexLock lock(&mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

void UplinkSession::Wait() {
  Clock::time_point until = next_beat_;
  if (!welcomed()) until = Clock::now() + std::chrono::milliseconds(100);
  for (const auto& [node, when] : not_before_) until = std::min(until, when);
  MutexLock lock(&mutex_);
  while (heard_.empty() && !notified_ && !ended_ && !stopping_ && Clock::now() < until) {
    changed_.WaitUntil(&mutex_, until);
  }
}

bool UplinkSession::Say(const Request& request) { return stream_->Write(request); }

// Sends the first Hello. Sends another Hello when a further node has found its identity.
bool UplinkSession::SayHello() {
  std::set<std::string> known;
  Request request;
  v1::Hello* const hello = request.mutable_hello();
  for (const Node* const node : nodes_) {
    const std::optional<NodeIdentity> identity = node->identity();
    if (!identity) continue;
    known.insert(identity->uuid);
    v1::NodeDigest* const digest = hello->add_nodes();
    digest->set_node_uuid(identity->uuid);
    digest->set_node_name(node->name());
    digest->set_digest(node->acknowledged_digest());
    const std::optional<LedgerRevision> told = node->told_up_to();
    if (!told) continue;
    digest->mutable_pushed_revision()->set_epoch(told->epoch);
    digest->mutable_pushed_revision()->set_number(told->number);
    digest->mutable_pushed_revision()->set_batch(told->batch);
  }
  const bool greeted = stream_ != nullptr && !greeted_.empty() && known == greeted_;
  if (known.empty() || greeted) return true;
  greeted_ = known;
  hello->set_host(options_.host);
  hello->set_binary(options_.binary);
  hello->set_incarnation(options_.incarnation);
  hello->set_machine_id(options_.machine_id);
  hello->set_version(options_.version);
  hello->set_zone(options_.zone);
  hello->set_address(options_.address);
  for (const std::string& uuid : options_.retired_node_uuids) hello->add_retired_node_uuids(uuid);
  *hello->mutable_started_at() = WireTime(options_.started_at);
  return Say(request);
}

// Claims come before reports, because callers wait for them.
bool UplinkSession::SayRecordWrites() {
  for (Node* const node : nodes_) {
    while (writes_unanswered_ < kWritesUnansweredMax) {
      const std::optional<RecordWrites::Outgoing> write = node->NextWrite(Clock::now());
      if (!write) break;
      ++writes_unanswered_;
      Request request;
      *request.mutable_record_write() = WireWrite(*write, node->identity()->uuid);
      if (!Say(request)) return false;
    }
  }
  return true;
}

bool UplinkSession::SayReports() {
  const Clock::time_point now = Clock::now();
  for (Node* const node : nodes_) {
    const std::optional<NodeIdentity> identity = node->identity();
    if (!identity || greeted_.count(identity->uuid) == 0) continue;
    const auto waits = not_before_.find(identity->uuid);
    if (waits != not_before_.end()) {
      if (now < waits->second) continue;
      not_before_.erase(waits);
    }
    std::optional<Records> records;
    const std::optional<Outbox::Outgoing> report = node->NextReport(&records);
    if (!report) continue;
    Request request;
    *request.mutable_report() = WireReport(*report, records, node->view().last);
    if (!Say(request)) return false;
  }
  return true;
}

// Sends the readiness if it changed: ready means that at least one hypervisor answers (T-104).
bool UplinkSession::SayReadiness() {
  const bool ready =
      !std::all_of(nodes_.begin(), nodes_.end(), [](const Node* node) { return NotReady(*node); });
  if (told_ready_ == ready) return true;
  told_ready_ = ready;
  Request request;
  request.mutable_readiness()->set_ready(ready);
  if (!ready) request.mutable_readiness()->set_reason("the hypervisor does not answer");
  return Say(request);
}

bool UplinkSession::SayAudits() {
  std::vector<std::string> done;
  {
    MutexLock lock(&mutex_);
    done.swap(audits_done_);
  }
  for (const std::string& order_id : done) {
    Request request;
    request.mutable_audit_done()->set_order_id(order_id);
    for (const Node* const node : nodes_) {
      const Node::View view = node->view();
      if (view.uuid.empty()) continue;
      (*request.mutable_audit_done()->mutable_audits())[view.uuid] = WireSummary(view.last);
    }
    if (!Say(request)) return false;
  }
  return true;
}

bool UplinkSession::SayBeat() {
  const Clock::time_point now = Clock::now();
  if (now < next_beat_) return true;
  next_beat_ = now + heartbeat_;
  Request request;
  v1::Heartbeat* const beat = request.mutable_heartbeat();
  beat->set_count(++heartbeats_);
  for (const Node* const node : nodes_) {
    const Node::View view = node->view();
    const bool overdue = node->AuditOverdue(now);
    if (view.uuid.empty() && !overdue) continue;
    v1::NodeBeat* const item = beat->add_nodes();
    item->set_node_uuid(view.uuid);
    *item->mutable_audit() = WireSummary(view.last);
    item->set_audit_overdue(overdue);
    if (view.unsettled_since) {
      const auto lag = std::max(Clock::duration::zero(), now - *view.unsettled_since);
      *item->mutable_placement_lag() = TimeUtil::NanosecondsToDuration(
          std::chrono::duration_cast<std::chrono::nanoseconds>(lag).count());
    }
  }
  return Say(request) && AskForStandby();
}

bool UplinkSession::AskForStandby() {
  bool waiting = false;
  for (const Node* const node : nodes_) {
    const Node::View view = node->view();
    if (view.standing != Standing::kStandby) continue;
    waiting = true;
    welcomed_nodes_.erase(view.uuid);
  }
  if (!waiting) return true;
  greeted_.clear();
  return SayHello();
}

}  // namespace berth::tracker
