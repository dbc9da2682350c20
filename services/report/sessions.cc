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
                               const ReportOptions& options)
    : ledger_(ledger),
      workers_(workers),
      heartbeat_interval_(std::min(options.service_down_time / kBeatsInDownTime, kHeartbeatMax)),
      settle_within_(options.settle_within),
      heartbeats_(options.database_url, placement::Uuid::Random().ToString()),
      liveness_(options.service_down_time),
      slots_(kSnapshotsMax, kSnapshotWithin) {
  {
    MutexLock lock(&follow_mutex_);
    followed_ = ledger->Newest()->position().revision;
    NoteDispatched(followed_);
  }
  feed_handle_ = ledger->feed().Subscribe(std::nullopt, [this] { Wake(); });
}

ReportSessions::~ReportSessions() { ledger_->feed().Unsubscribe(feed_handle_); }

void ReportSessions::Opened(const TrackerStreamPtr& stream) {
  {
    MutexLock lock(&mutex_);
    connections_.Open(stream);
    if (!ended_) return;
  }
  stream->End(ComeBack());
}

void ReportSessions::Closed(const TrackerStreamPtr& stream) {
  MutexLock lock(&mutex_);
  for (const ProviderId node : connections_.Close(stream)) slots_.Release(node);
}

absl::Status ReportSessions::Attach(const TrackerStreamPtr& stream,
                                    const std::vector<ProviderId>& nodes) {
  const std::string& host = stream->key().first;
  Connections::Attached attached;
  {
    MutexLock lock(&mutex_);
    if (ended_) return ComeBack();
    // A newer process of the same host may have registered after this stream's Hello.
    const placement::StatePtr state = ledger_->Newest();
    const auto* service = state->services().Find(stream->key());
    if (service != nullptr && (*service)->incarnation != stream->incarnation()) return Fenced(host);
    attached = connections_.Attach(stream, nodes);
    for (const ProviderId node : attached.released) slots_.Release(node);
  }
  if (attached.replaced != nullptr) attached.replaced->End(Fenced(host));
  return attached.is_owner ? absl::OkStatus() : Fenced(host);
}

void ReportSessions::Own(const TrackerStreamPtr& stream, ProviderId node) {
  MutexLock lock(&mutex_);
  connections_.Own(stream, node);
}

void ReportSessions::TickLater(const TrackerStreamPtr& stream) {
  MutexLock lock(&tick_mutex_);
  tick_later_.insert(stream);
}

bool ReportSessions::AskForSnapshot(ProviderId node) {
  MutexLock lock(&mutex_);
  return slots_.Ask(node, absl::Now());
}

void ReportSessions::SnapshotTaken(ProviderId node) {
  MutexLock lock(&mutex_);
  slots_.Release(node);
  OrderSnapshots(absl::Now());
}

void ReportSessions::OrderSnapshots(absl::Time now) {
  for (const ProviderId due : slots_.Due(now)) {
    const TrackerStreamPtr owner = connections_.OwnerOf(due);
    if (owner != nullptr) owner->OrderSnapshot(due);
  }
}

void ReportSessions::Audit(ProviderId node, absl::Time deadline, const AuditAnswer& answer) {
  TrackerStreamPtr owner;
  bool is_full = false;
  const std::string order_id = placement::Uuid::Random().ToString();
  {
    MutexLock lock(&mutex_);
    owner = ended_ ? nullptr : connections_.OwnerOf(node);
    if (owner != nullptr) {
      const auto open = std::count_if(orders_.begin(), orders_.end(), [node](const auto& order) {
        return order.second.node == node;
      });
      is_full = open >= kOrdersMax;
      if (!is_full) orders_[order_id] = Order{node, deadline, answer};
    }
  }
  if (is_full) {
    return answer(placement::Refuse(
        absl::StatusCode::kUnavailable, "OVERLOADED",
        "the node's tracker has not answered the earlier audit orders yet: try again later",
        {{{"node", node.ToString()}}}, kOrdersRetry));
  }
  if (owner != nullptr) return owner->OrderAudit(order_id, node);
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
  ledger_->Submit(std::move(command), absl::Now() + settle_within_,
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
  std::set<TrackerStreamPtr> streams;
  {
    MutexLock lock(&mutex_);
    OrderSnapshots(now);
    for (auto at = orders_.begin(); at != orders_.end();) {
      const bool is_late = at->second.deadline <= now;
      if (is_late) late.push_back(std::move(at->second.answer));
      at = is_late ? orders_.erase(at) : std::next(at);
    }
  }
  {
    MutexLock lock(&tick_mutex_);
    streams.swap(tick_later_);
  }
  for (const TrackerStreamPtr& stream : streams) stream->Tick();
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
  std::vector<TrackerStreamPtr> open;
  std::map<std::string, Order> orders;
  {
    MutexLock lock(&mutex_);
    ended_ = true;
    open = connections_.open();
    orders.swap(orders_);
  }
  for (const auto& stream : open) stream->End(ComeBack());
  for (const auto& [id, order] : orders) order.answer(ComeBack());
}

void ReportSessions::RemoveHeartbeat() { heartbeats_.RemoveOwn().IgnoreError(); }

void ReportSessions::Measure(Samples* samples) const {
  MutexLock lock(&mutex_);
  samples->Gauge("report_streams", "Trackers that are connected to this process.",
                 static_cast<double>(connections_.owners().size()));
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
    for (const auto& [key, stream] : connections_.owners()) stream->TouchAll();
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
    for (const ProviderId root : command.roots) {
      const TrackerStreamPtr owner = connections_.OwnerOf(root);
      if (owner != nullptr) owner->Touch(root, command);
    }
    for (const placement::Change& change : *command.changes) {
      const auto* put = std::get_if<placement::ServicePut>(&change);
      if (put != nullptr) DispatchService(*put->service);
    }
  }
}

void ReportSessions::DispatchService(const placement::ServiceRecord& service) {
  const TrackerStreamPtr owner = connections_.OwnerOf(Liveness::Key(service.host, service.binary));
  if (owner == nullptr) return;
  if (service.incarnation != owner->incarnation()) {
    owner->End(Fenced(service.host));
  } else {
    owner->TouchService();
  }
}

}  // namespace berth::services
