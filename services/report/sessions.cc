#include "services/report/sessions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "placement/values/refusal.h"
#include "services/process/log.h"

namespace berth::services {

using placement::MutexLock;
using placement::ProviderId;

namespace {

constexpr int kSnapshotsMax = 256;
constexpr absl::Duration kSnapshotWithin = absl::Seconds(30);
constexpr absl::Duration kMarkWithin = absl::Seconds(30);
constexpr int kOrdersMax = 4;  // audits that one node owes an answer to
constexpr absl::Duration kOrdersRetry = absl::Seconds(1);
constexpr int kFeedBatches = 64;
constexpr int kFollowRounds = 16;
constexpr size_t kTurnsMax = 256;  // of one tick
// Another process hears of a beat two intervals late at the most: the tracker's, and that of the row
// that tells it. The rest of the down time is patience.
constexpr int kBeatsInDownTime = 6;
constexpr absl::Duration kHeartbeatMax = absl::Seconds(10);
// A call to the database for heartbeats that lasts longer is made to fail.
constexpr absl::Duration kHeartbeatCallMax = absl::Seconds(5);

absl::Status ComeBack() {
  return placement::Refuse(absl::StatusCode::kUnavailable, "NOT_SERVING",
                           "placement is stopping: connect again");
}

absl::Status Fenced(const std::string& host) {
  return placement::Refuse(absl::StatusCode::kAborted, "TRACKER_FENCED",
                           "another process of this host's tracker has taken over",
                           {{{"host", host}}});
}

}  // namespace

ReportSessions::ReportSessions(placement::Ledger* ledger, Workers* workers,
                               const std::string& database_url, absl::Duration service_down_time)
    : ledger_(ledger),
      workers_(workers),
      heartbeat_interval_(std::min(service_down_time / kBeatsInDownTime, kHeartbeatMax)),
      heartbeats_(database_url, placement::Uuid::Random().ToString()),
      liveness_(service_down_time),
      slots_(kSnapshotsMax, kSnapshotWithin) {
  {
    MutexLock lock(&follow_mutex_);
    followed_ = ledger->Newest()->position().revision;
    NoteDispatched(followed_);
  }
  feed_handle_ = ledger->feed().Subscribe(std::nullopt, [this] { Wake(); });
}

ReportSessions::~ReportSessions() { ledger_->feed().Unsubscribe(feed_handle_); }

void ReportSessions::Opened(const std::shared_ptr<TrackerStream>& stream) {
  {
    MutexLock lock(&mutex_);
    open_.insert(stream);
    if (!ended_) return;
  }
  stream->End(ComeBack());
}

void ReportSessions::Closed(const std::shared_ptr<TrackerStream>& stream) {
  Disown(stream, stream->node_ids());
  MutexLock lock(&mutex_);
  open_.erase(stream);
  const auto service = by_service_.find(stream->key());
  if (service != by_service_.end() && service->second == stream) by_service_.erase(service);
}

void ReportSessions::Attach(const std::shared_ptr<TrackerStream>& session) {
  std::shared_ptr<TrackerStream> older;
  {
    MutexLock lock(&mutex_);
    older = std::exchange(by_service_[session->key()], session);
  }
  if (older != nullptr && older != session) older->End(Fenced(session->key().first));
}

void ReportSessions::Own(const std::shared_ptr<TrackerStream>& session,
                         const std::vector<ProviderId>& nodes) {
  MutexLock lock(&mutex_);
  for (const ProviderId node : nodes) by_node_[node] = session;
}

void ReportSessions::Disown(const std::shared_ptr<TrackerStream>& session,
                            const std::vector<ProviderId>& nodes) {
  MutexLock lock(&mutex_);
  for (const ProviderId node : nodes) {
    const auto at = by_node_.find(node);
    if (at == by_node_.end() || at->second != session) continue;
    by_node_.erase(at);
    slots_.Release(node);
  }
}

bool ReportSessions::AskForSnapshot(ProviderId node) {
  MutexLock lock(&mutex_);
  return slots_.Ask(node, absl::Now());
}

void ReportSessions::SnapshotTaken(ProviderId node) {
  MutexLock lock(&mutex_);
  slots_.Release(node);
  for (const ProviderId due : slots_.Due(absl::Now())) {
    const auto session = by_node_.find(due);
    if (session != by_node_.end()) session->second->OrderSnapshot(due);
  }
}

void ReportSessions::Audit(ProviderId node, absl::Time deadline, const AuditAnswer& answer) {
  std::shared_ptr<TrackerStream> session;
  bool is_full = false;
  const std::string order_id = placement::Uuid::Random().ToString();
  {
    MutexLock lock(&mutex_);
    const auto found = by_node_.find(node);
    if (found != by_node_.end() && !ended_) {
      const auto open = std::count_if(orders_.begin(), orders_.end(), [node](const auto& order) {
        return order.second.node == node;
      });
      is_full = open >= kOrdersMax;
      session = is_full ? nullptr : found->second;
      if (!is_full) orders_[order_id] = Order{node, deadline, answer};
    }
  }
  if (is_full) {
    return answer(placement::Refuse(
        absl::StatusCode::kUnavailable, "OVERLOADED",
        "the node's tracker has not answered the earlier audit orders yet: try again later",
        {{{"node", node.ToString()}}}, kOrdersRetry));
  }
  if (session != nullptr) return session->OrderAudit(order_id, node);
  answer(placement::Refuse(absl::StatusCode::kUnavailable, "NOT_SERVING",
                           "no tracker of this node is connected to this process",
                           {{{"node", node.ToString()}}}));
}

void ReportSessions::AuditDone(const pb::AuditDone& done) {
  Order order;
  {
    MutexLock lock(&mutex_);
    const auto found = orders_.find(done.order_id());
    if (found == orders_.end()) return;
    order = std::move(found->second);
    orders_.erase(found);
  }
  const auto audit = done.audits().find(order.node.ToString());
  order.answer(audit == done.audits().end() ? pb::AuditSummary() : audit->second);
}

// Written into the ledger; told again where that was refused.
void ReportSessions::Mark(placement::MarkService turn) {
  const Liveness::Key key = {turn.host, turn.binary};
  Log(LogLevel::kInfo, turn.up ? "a service turned up" : "a service turned down",
      {{"host", turn.host}, {"binary", turn.binary}});
  placement::Command command;
  command.actor = "placement";
  command.body = std::move(turn);
  ledger_->Submit(std::move(command), absl::Now() + kMarkWithin,
                  std::make_shared<std::atomic<bool>>(false),
                  [this, key](const placement::Decision& decision) {
                    if (!decision.status.ok()) liveness_.Retry(key);
                  });
}

// Only those that no other process hears either.
void ReportSessions::MarkDown(const std::vector<placement::MarkService>& turns) {
  const auto elsewhere = heartbeats_.HeardElsewhere(absl::Now() - liveness_.down_time());
  for (const placement::MarkService& turn : turns) {
    const Liveness::Key key = {turn.host, turn.binary};
    if (!elsewhere.ok()) {
      liveness_.Retry(key);
      continue;
    }
    const auto heard = elsewhere->find(Liveness::NameOf(key));
    if (heard == elsewhere->end()) {
      Mark(turn);
    } else {
      liveness_.HearElsewhere(key, heard->second);
    }
  }
}

void ReportSessions::Tick(absl::Time now) {
  heartbeats_.ShutIfSlow(kHeartbeatCallMax);
  const placement::StatePtr state = ledger_->Newest();
  Liveness::TurnList turns = liveness_.Turns(*state, now, kTurnsMax);
  for (placement::MarkService& turn : turns.up) Mark(std::move(turn));
  if (!turns.down.empty() && !workers_->Submit([this, down = turns.down] { MarkDown(down); })) {
    for (const placement::MarkService& turn : turns.down) liveness_.Retry({turn.host, turn.binary});
  }
  std::vector<AuditAnswer> late;
  {
    MutexLock lock(&mutex_);
    for (const ProviderId due : slots_.Due(now)) {
      const auto session = by_node_.find(due);
      if (session != by_node_.end()) session->second->OrderSnapshot(due);
    }
    for (auto at = orders_.begin(); at != orders_.end();) {
      const bool is_late = at->second.deadline <= now;
      if (is_late) late.push_back(std::move(at->second.answer));
      at = is_late ? orders_.erase(at) : std::next(at);
    }
    for (const auto& [key, session] : by_service_) session->FlushPushes();
  }
  for (const AuditAnswer& answer : late) {
    answer(absl::DeadlineExceededError("the tracker did not answer in time"));
  }
  Wake();
}

void ReportSessions::WriteHeartbeat() {
  const absl::Status written = heartbeats_.Write(liveness_.All());
  if (!written.ok()) {
    Log(LogLevel::kWarning, "the heartbeat could not be written",
        {{"detail", std::string(written.message())}});
  }
}

void ReportSessions::EndAll() {
  std::set<std::shared_ptr<TrackerStream>> open;
  std::map<std::string, Order> orders;
  {
    MutexLock lock(&mutex_);
    ended_ = true;
    open = open_;
    orders.swap(orders_);
  }
  for (const auto& stream : open) stream->End(ComeBack());
  for (const auto& [id, order] : orders) order.answer(ComeBack());
}

void ReportSessions::RemoveHeartbeat() { heartbeats_.RemoveOwn().IgnoreError(); }

void ReportSessions::Measure(Samples* samples) const {
  MutexLock lock(&mutex_);
  samples->Gauge("report_streams", "Trackers that are connected to this process.",
                 static_cast<double>(by_service_.size()));
  samples->Gauge("report_snapshots_waiting", "Nodes that wait for their turn to send a snapshot.",
                 slots_.waiting());
}

// The feed's own thread: only sees to it that a worker looks.
void ReportSessions::Wake() {
  if (following_.exchange(true)) return;
  if (!workers_->Submit([this] { FollowFeed(); })) following_ = false;  // the next tick tries again
}

void ReportSessions::FollowFeed() {
  for (int round = 0; round < kFollowRounds; ++round) {
    if (FollowOnce()) continue;
    following_ = false;
    // What was appended between the look and this line woke nobody.
    if (!FollowOnce() || following_.exchange(true)) return;
  }
  following_ = false;
  Wake();  // the worker first does what waits
}

// Whether there was anything.
bool ReportSessions::FollowOnce() {
  MutexLock lock(&follow_mutex_);
  const auto batches = ledger_->feed().After(followed_, kFeedBatches);
  if (!batches.ok()) {
    // Fell behind, or the state was loaded anew: everybody gets everything.
    followed_ = ledger_->Newest()->position().revision;
    MutexLock sessions_lock(&mutex_);
    for (const auto& [key, session] : by_service_) session->TouchAll();
    NoteDispatched(followed_);
    return false;
  }
  for (const placement::FeedBatchPtr& batch : *batches) Dispatch(*batch);
  if (batches->empty()) return false;
  followed_ = batches->back()->revision;
  NoteDispatched(followed_);
  return true;
}

void ReportSessions::NoteDispatched(placement::Revision revision) {
  MutexLock lock(&dispatched_mutex_);
  dispatched_ = revision;
}

placement::Revision ReportSessions::dispatched() const {
  MutexLock lock(&dispatched_mutex_);
  return dispatched_;
}

void ReportSessions::Dispatch(const placement::FeedBatch& batch) {
  MutexLock lock(&mutex_);
  for (const placement::FeedCommand& command : batch.commands) {
    for (const ProviderId root : command.concerned.roots) {
      const auto session = by_node_.find(root);
      if (session != by_node_.end()) session->second->Touch(root, command);
    }
    for (const std::string& host : command.concerned.hosts) DispatchToHost(host, command);
  }
}

void ReportSessions::DispatchToHost(const std::string& host,
                                    const placement::FeedCommand& command) {
  const auto first = by_service_.lower_bound({host, ""});
  if (first == by_service_.end() || first->first.first != host) return;
  using namespace placement;  // NOLINT: the kinds of changes, all of them
  const EachKind dispatch{
      [&](const ServicePut& put) { DispatchService(*put.service); },
      Ignore<ServiceRemoved>(),        // its stream ends by itself, with its next report
      Ignore<NodePut, NodeRemoved>(),  // a tracker reads its nodes from the Welcome
      Ignore<ProviderPut, ProviderRemoved, ProviderUsed, ConsumerPut, ConsumerRemoved>(),
      Ignore<ClassPut, ClassRemoved, TraitPut, TraitRemoved, FormatRaised>()};
  for (const Change& change : *command.changes) std::visit(dispatch, change);
}

void ReportSessions::DispatchService(const placement::ServiceRecord& service) {
  const auto session = by_service_.find({service.host, service.binary});
  if (session == by_service_.end()) return;
  if (service.incarnation != session->second->incarnation()) {
    session->second->End(Fenced(service.host));
  } else {
    session->second->TouchService();
  }
}

}  // namespace berth::services
