#include "services/report/sessions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/ground/boot_clock.h"
#include "placement/values/refusal.h"
#include "services/log/log.h"

namespace berth::services {

using placement::MutexLock;
using placement::ProviderId;

namespace {

constexpr int kSnapshotsMax = 256;
constexpr int kSnapshotsOfHostMax = 8;
constexpr absl::Duration kSnapshotWithin = absl::Seconds(30);
constexpr int kOrdersMax = 4;  // open audit orders of one node
constexpr absl::Duration kOrdersRetry = absl::Seconds(1);
constexpr int kFeedBatches = 64;
constexpr int kFollowRounds = 16;

absl::Status ComeBack() {
  return placement::Refuse(absl::StatusCode::kUnavailable, "NOT_SERVING",
                           "placement is stopping: connect again");
}

absl::Status Fenced(const std::string& host) {
  return placement::Refuse(absl::StatusCode::kAborted, "TRACKER_FENCED",
                           "a newer tracker process of this host has taken over",
                           {{{"host", host}}});
}

absl::Status Deleted(const Liveness::Key& service) {
  return placement::Refuse(absl::StatusCode::kFailedPrecondition, "SERVICE_NOT_REGISTERED",
                           absl::StrCat("the service ", service.second, " of host ", service.first,
                                        " was deleted: restart it to create it again"),
                           {{{"field", "hello.host"}}});
}

}  // namespace

ReportSessions::ReportSessions(placement::Ledger* ledger, Workers* workers,
                               LivenessRecorder* recorder, const SessionSettings& settings)
    : ledger_(ledger),
      workers_(workers),
      recorder_(recorder),
      settings_(settings),
      slots_(kSnapshotsMax, kSnapshotsOfHostMax, kSnapshotWithin) {
  {
    MutexLock lock(&follow_mutex_);
    BeginAnew();
  }
  feed_handle_ = ledger->feed().Subscribe([this] { Wake(); });
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

bool ReportSessions::AskForSnapshot(const std::string& host, ProviderId node) {
  MutexLock lock(&mutex_);
  return slots_.Ask(host, node, placement::BootNow());
}

void ReportSessions::SnapshotTaken(ProviderId node) {
  MutexLock lock(&mutex_);
  slots_.Release(node);
  OrderSnapshots(placement::BootNow());
}

void ReportSessions::OrderSnapshots(placement::BootTime now) {
  for (const ProviderId due : slots_.Due(now)) {
    const TrackerStreamPtr owner = connections_.OwnerOf(due);
    if (owner != nullptr) owner->OrderSnapshot(due);
  }
}

void ReportSessions::Audit(ProviderId node, placement::BootTime deadline,
                           const AuditAnswer& answer) {
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
        "the node's tracker has not yet answered earlier requests for an audit: try again later",
        {{{"node", node.ToString()}}}, kOrdersRetry));
  }
  if (owner != nullptr) return owner->OrderAudit(order_id, node);
  answer(placement::Refuse(absl::StatusCode::kUnavailable, "NOT_SERVING",
                           "no tracker of this node is connected to this placement process",
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
  pb::AuditSummary answer;
  for (const auto& [node, audit] : done.audits()) {
    if (ProviderId::Parse(node) == order.node) answer = audit;
  }
  order.answer(answer);
}

void ReportSessions::Tick(placement::BootTime now) {
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

void ReportSessions::Measure(Samples* samples) const {
  samples->Counter("services_judged_total", "Services that were checked for being up or down.",
                   static_cast<double>(recorder_->judged()));
  samples->Counter("report_changes_visited_total",
                   "How often a change was looked at to find out what to push to trackers.",
                   static_cast<double>(visits_.load()));
  MutexLock lock(&mutex_);
  samples->Gauge("report_streams", "Trackers that are connected to this process.",
                 static_cast<double>(connections_.owners().size()));
  samples->Gauge("report_snapshots_waiting", "Nodes that wait for their turn to send a snapshot.",
                 slots_.waiting());
}

// Makes a worker follow the feed. Called by the thread that appends to the feed, so it does nothing
// else.
void ReportSessions::Wake() {
  if (following_.exchange(true)) return;
  const auto refuse = [this] { following_ = false; };  // Tick retries
  const bool taken = workers_->Submit(
      {}, [this] { FollowFeed(); }, refuse);
  if (!taken) refuse();
}

void ReportSessions::FollowFeed() {
  for (int round = 0; round < kFollowRounds; ++round) {
    if (FollowOnce()) continue;
    following_ = false;
    // Looks at the feed once more: a batch may have been appended after FollowOnce looked and
    // before `following_` was cleared, and woke nobody.
    if (!FollowOnce() || following_.exchange(true)) return;
  }
  following_ = false;
  Wake();  // goes on after work that waits for this worker
}

// Gives the streams the next batches of the feed. Returns whether there were any batches.
bool ReportSessions::FollowOnce() {
  MutexLock lock(&follow_mutex_);
  const auto batches = ledger_->feed().After(followed_, kFeedBatches);
  if (!batches.ok()) {
    BeginAnew();
    return false;
  }
  for (const placement::FeedBatchPtr& batch : *batches) Dispatch(*batch);
  if (batches->empty()) return false;
  followed_ = batches->back()->revision;
  NoteDispatched(followed_);
  return true;
}

// Begins to follow the feed at its newest batch, and makes every stream send its tracker
// everything. Called at the start, and when the feed no longer has the next batch.
void ReportSessions::BeginAnew() {
  const placement::StatePtr state = ledger_->Newest();
  followed_ = state->position().revision;
  recorder_->liveness().NoteAll(*state);
  std::vector<TrackerStreamPtr> owners;
  {
    MutexLock lock(&mutex_);
    for (const auto& [key, stream] : connections_.owners()) owners.push_back(stream);
  }
  for (const TrackerStreamPtr& stream : owners) stream->TouchAll();
  NoteDispatched(followed_);
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
  for (const placement::FeedCommand& command : batch.commands) {
    std::set<TrackerStreamPtr> streams;
    {
      MutexLock lock(&mutex_);
      streams = connections_.OwnersOf(command.concerned);
    }
    // The lock is not held: each stream has one of its own, for which this may have to wait.
    int64_t visits = 0;
    for (const TrackerStreamPtr& stream : streams) visits += stream->Touch(command);
    if (!command.concerned.hosts.empty()) visits += DispatchServices(*command.changes);
    visits_ += visits;
  }
}

int64_t ReportSessions::DispatchServices(const placement::Changes& changes) {
  using namespace placement;  // NOLINT: the kinds of changes, all of them
  const EachKind dispatch{
      [&](const ServicePut& put) {
        DispatchService({put.service->host, put.service->binary});
      },
      [&](const ServiceRemoved& gone) {
        DispatchService({gone.host, gone.binary});
      },
      Ignore<NodePut, NodeRemoved>(),  // the Welcome tells a tracker about its nodes
      Ignore<AggregatePut, AggregateRemoved, ServerGroupPut, ServerGroupRemoved>(),
      Ignore<InstancePut, InstanceRemoved, MigrationPut, MigrationRemoved>(),
      Ignore<ProviderPut, ProviderRemoved, ProviderUsed, ConsumerPut, ConsumerRemoved>(),
      Ignore<ClassPut, ClassRemoved, TraitPut, TraitRemoved, FormatRaised>()};
  for (const Change& change : changes) std::visit(dispatch, change);
  return static_cast<int64_t>(changes.size());
}

void ReportSessions::DispatchService(const Liveness::Key& key) {
  recorder_->liveness().NoteChange(key);
  TrackerStreamPtr owner;
  {
    MutexLock lock(&mutex_);
    owner = connections_.OwnerOf(key);
  }
  if (owner == nullptr) return;
  const placement::StatePtr state = ledger_->Newest();
  const auto* const service = state->services().Find(key);
  if (service == nullptr) {
    owner->End(Deleted(key));
  } else if ((*service)->incarnation != owner->incarnation()) {
    owner->End(Fenced(key.first));
  }
}

}  // namespace berth::services
