#include "services/tracker/host.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "absl/time/clock.h"
#include "services/log/log.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"

namespace berth::services {
namespace {

using tracker::HypervisorEvent;
using tracker::Node;
using tracker::PassCause;
using tracker::PassOutcome;
using Clock = tracker::BootClock;

constexpr std::chrono::milliseconds kStartPause{500};  // between two looks at the first passes

std::optional<std::chrono::milliseconds> IntervalOf(const tracker::Configuration& configuration) {
  const std::optional<absl::Duration> interval = PassInterval(configuration);
  if (!interval) return std::nullopt;
  return absl::ToChronoMilliseconds(*interval);
}

// When this machine was started.
absl::Time BootTime() { return absl::Now() - absl::FromChrono(Clock::now().time_since_epoch()); }

Node::Options NodeOptions(const tracker::Configuration& configuration, size_t index) {
  Node::Options options;
  options.configuration = configuration.nodes[index];
  options.surroundings.state_path = configuration.state_path;
  options.surroundings.host_address = configuration.my_address;
  options.surroundings.timeout = configuration.driver_timeout;
  options.surroundings.pass_interval =
      PassInterval(configuration).value_or(options.surroundings.pass_interval);
  options.surroundings.storage.command_timeout = configuration.driver_timeout;
  options.configuration_directories = configuration.configuration_directories;
  options.host = configuration.host;
  options.several_nodes = configuration.nodes.size() > 1;
  options.orphan_confirmation = configuration.orphan_confirmation;
  options.pass_interval = IntervalOf(configuration);
  options.booted_at = BootTime();
  return options;
}

tracker::PassSchedule::Options ScheduleOptions(const tracker::Configuration& configuration) {
  tracker::PassSchedule::Options options;
  options.interval = IntervalOf(configuration);
  options.first_delay_max = std::chrono::seconds(configuration.periodic_fuzzy_delay_seconds);
  options.seed = std::random_device()();
  return options;
}

PassCause CauseOf(HypervisorEvent::Kind kind) {
  return kind == HypervisorEvent::Kind::kClosed ? PassCause::kReconnect : PassCause::kEvent;
}

// Whether the process may start, as far as one node's first passes decide about it.
enum class Started { kYes, kWaiting, kRefused };

Started Judge(const PassOutcome& outcome) {
  if (outcome.audit != nullptr) return Started::kYes;
  const bool refused = absl::IsFailedPrecondition(outcome.error) ||
                       absl::IsInvalidArgument(outcome.error) ||
                       absl::IsAlreadyExists(outcome.error);
  return refused ? Started::kRefused : Started::kWaiting;
}

void SamplePhase(const char* name, absl::Duration duration, Samples::Labels labels,
                 Samples* samples) {
  labels["phase"] = name;
  samples->Gauge("audit_phase_seconds", "How long each phase of the last pass took",
                 absl::ToDoubleSeconds(duration), labels);
}

}  // namespace

TrackerHost::TrackerHost(tracker::Configuration configuration)
    : configuration_(std::move(configuration)), running_(configuration_.nodes) {
  for (size_t i = 0; i < configuration_.nodes.size(); ++i) {
    tracker::DeadlinePool& calls = libvirt_calls_.emplace_back(tracker::DeadlinePool::Options());
    nodes_.push_back(std::make_unique<Node>(NodeOptions(configuration_, i), &calls,
                                            [this, i, gate = gate_](const HypervisorEvent& event) {
                                              tracker::MutexLock lock(&gate->mutex);
                                              if (!gate->open) return;
                                              // The first pass opens the connection. Events
                                              // therefore come after the runners are constructed.
                                              runners_[i]->Request(CauseOf(event.kind));
                                            }));
  }
  for (const std::unique_ptr<Node>& node : nodes_) {
    runners_.push_back(std::make_unique<NodeRunner>(
        node.get(), ScheduleOptions(configuration_),
        [this, node = node.get()](const PassOutcome& outcome) { Passed(node, outcome); }));
  }
}

TrackerHost::~TrackerHost() {
  Stop();
  tracker::MutexLock lock(&gate_->mutex);
  gate_->open = false;
}

absl::Status TrackerHost::Start(const std::function<bool()>& stop) {
  RequestAll(PassCause::kStart);
  const Clock::time_point deadline =
      Clock::now() + absl::ToChronoNanoseconds(configuration_.startup_driver_timeout);
  tracker::Mutex pause_mutex;
  tracker::CondVar pause;
  while (true) {
    bool all_tried = true;
    bool any_started = false;
    absl::Status waiting_for = absl::UnavailableError("stopped");
    for (const std::unique_ptr<NodeRunner>& runner : runners_) {
      all_tried = all_tried && runner->passes() > 0;
      if (runner->passes() == 0) continue;
      const PassOutcome outcome = runner->node()->view().last;
      const Started started = Judge(outcome);
      any_started = any_started || started == Started::kYes;
      if (started == Started::kRefused) return outcome.error;
      if (started == Started::kWaiting)
        waiting_for = absl::UnavailableError(outcome.error.message());
    }
    // One good pass is enough to start, because the loops go on trying the other nodes.
    if (all_tried && any_started) return absl::OkStatus();
    if (stop() || Clock::now() >= deadline) return waiting_for;
    tracker::MutexLock lock(&pause_mutex);
    pause.WaitUntil(&pause_mutex, Clock::now() + (all_tried ? kStartPause : kStartPause / 50));
  }
}

void TrackerHost::Connect(tracker::Uplink::Options options,
                          std::function<void(absl::Status)> refused) {
  tracker::Uplink::Callbacks callbacks;
  callbacks.log = [](const absl::Status& status, absl::string_view text) {
    if (status.ok()) {
      Log(LogLevel::kInfo, text);
    } else {
      Log(LogLevel::kWarning, text, {{"error", status.ToString()}});
    }
  };
  callbacks.gave_up = [](const absl::Status& status, absl::string_view text) {
    Log(LogLevel::kError, text, {{"error", status.ToString()}});
  };
  callbacks.reshape_failed = [refused](const std::string& node, const absl::Status& status) {
    Log(LogLevel::kError, "placement refuses to move resources to other providers",
        {{"node", node}, {"error", status.ToString()}});
    refused(status);
  };
  callbacks.refused = [refused = std::move(refused)](const std::string& node,
                                                     const absl::Status& status, bool first) {
    Log(LogLevel::kError,
        "the node's identity contradicts placement's records: nothing is reported",
        {{"node", node}, {"error", status.ToString()}});
    if (first) refused(status);
  };
  callbacks.records_changed = [this] {
    for (const std::unique_ptr<NodeRunner>& runner : runners_) runner->RecordsChanged();
  };
  callbacks.audit_ordered = [this](const std::string& order_id, const tracker::Uuid& node_uuid) {
    AuditOrdered(order_id, node_uuid);
  };
  std::vector<Node*> nodes;
  for (const std::unique_ptr<Node>& node : nodes_) nodes.push_back(node.get());
  tracker::MutexLock lock(&mutex_);
  uplink_ =
      std::make_unique<tracker::Uplink>(std::move(options), std::move(nodes), std::move(callbacks));
}

void TrackerHost::Stop() {
  for (const std::unique_ptr<NodeRunner>& runner : runners_) runner->Stop();
  std::unique_ptr<tracker::Uplink> uplink;
  {
    tracker::MutexLock lock(&mutex_);
    uplink = std::move(uplink_);
  }
  uplink.reset();  // outside the lock: a callback of the uplink may be waiting for the lock
}

absl::StatusOr<std::vector<std::string>> TrackerHost::Reconfigure(
    const tracker::Configuration& read) {
  tracker::MutexLock lock(&mutex_);
  tracker::Configuration merged = configuration_;
  merged.nodes = running_;
  bool same_nodes = read.nodes.size() == merged.nodes.size();
  std::set<std::string> waiting;
  for (tracker::NodeConfiguration& node : merged.nodes) {
    const auto found = std::find_if(read.nodes.begin(), read.nodes.end(), [&](const auto& other) {
      return other.uri == node.uri && other.name == node.name;
    });
    same_nodes = same_nodes && found != read.nodes.end();
    if (found == read.nodes.end()) continue;
    for (std::string& name : TakeReloadable(*found, &node)) waiting.insert(std::move(name));
  }
  if (!same_nodes) waiting.insert("hypervisor");
  BERTH_RETURN_IF_ERROR(Validate(merged, nullptr));
  running_ = merged.nodes;
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->Configure(running_[i]);
  return std::vector<std::string>(waiting.begin(), waiting.end());
}

void TrackerHost::RequestRecords() {
  for (const std::unique_ptr<Node>& node : nodes_) node->WantAllRecords();
  tracker::MutexLock lock(&mutex_);
  if (uplink_ != nullptr) uplink_->Greet();
}

void TrackerHost::RequestAll(PassCause cause) {
  for (const std::unique_ptr<NodeRunner>& runner : runners_) runner->Request(cause);
}

void TrackerHost::NotifyUplink() {
  tracker::MutexLock lock(&mutex_);
  if (uplink_ != nullptr) uplink_->Notify();
}

void TrackerHost::TickUplink() {
  tracker::MutexLock lock(&mutex_);
  if (uplink_ != nullptr) uplink_->Tick();
}

void TrackerHost::RenewUplink(std::shared_ptr<grpc::ChannelCredentials> credentials,
                              absl::Duration within) {
  tracker::MutexLock lock(&mutex_);
  if (uplink_ == nullptr) return;
  uplink_->Renew(std::move(credentials), absl::ToChronoNanoseconds(within));
}

bool TrackerHost::SetDisabled(bool disabled) {
  tracker::MutexLock lock(&mutex_);
  if (uplink_ != nullptr) uplink_->SetDisabled(disabled);
  return uplink_ != nullptr;
}

void TrackerHost::Passed(Node* node, const PassOutcome& outcome) {
  tracker::MutexLock lock(&mutex_);
  if (outcome.audit != nullptr) {
    for (const std::string& warning :
         absent_providers_.Update(node, outcome.audit->absent_providers, nodes_.size())) {
      Log(LogLevel::kWarning, warning);
    }
  }
  if (uplink_ != nullptr) uplink_->Notify();
}

void TrackerHost::AuditOrdered(const std::string& order_id, const tracker::Uuid& node_uuid) {
  // Every pass that must end before the order is answered holds a copy of `all`. When the last copy
  // is destroyed, its deleter answers the order.
  const std::shared_ptr<void> all(nullptr, [this, order_id](void*) {
    tracker::MutexLock lock(&mutex_);
    if (uplink_ != nullptr) uplink_->AuditDone(order_id);
  });
  for (const std::unique_ptr<NodeRunner>& runner : runners_) {
    const std::optional<tracker::NodeIdentity> identity = runner->node()->identity();
    if (!IsNil(node_uuid) && (!identity || identity->uuid != node_uuid)) continue;
    runner->Request(PassCause::kRequest, [all] {});
  }
}

tracker::Uplink::Status TrackerHost::uplink_status() const {
  tracker::MutexLock lock(&mutex_);
  return uplink_ == nullptr ? tracker::Uplink::Status() : uplink_->status();
}

void TrackerHost::AddMetrics(Metrics* metrics) {
  metrics->AddSource([this](Samples* samples) { Sample(samples); });
}

void TrackerHost::Sample(Samples* samples) const {
  const tracker::Uplink::Status uplink = uplink_status();
  samples->Gauge("placement_connected", "1 while a session with placement lasts, else 0",
                 uplink.state == tracker::Uplink::State::kConnected ? 1 : 0);
  samples->Counter("stream_sessions_total", "Sessions that placement welcomed",
                   static_cast<double>(uplink.sessions));
  samples->Counter("heartbeats_total", "Heartbeats sent", static_cast<double>(uplink.heartbeats));
  samples->Counter("conflicts_total", "Reports refused because a provider had changed",
                   static_cast<double>(uplink.conflicts));
  int hung = 0;
  for (const tracker::DeadlinePool& calls : libvirt_calls_) hung += calls.hung();
  samples->Gauge("hung_libvirt_calls", "Libvirt calls that do not answer, each with a thread",
                 hung);
  for (const std::unique_ptr<NodeRunner>& runner : runners_) SampleNode(*runner, samples);
}

void TrackerHost::SampleNode(const NodeRunner& runner, Samples* samples) const {
  const Node::View view = runner.node()->view();
  const Samples::Labels node = {{"node", view.name.empty() ? view.uri : view.name}};
  const auto with = [&node](const char* key, const std::string& value) {
    Samples::Labels labels = node;
    labels[key] = value;
    return labels;
  };
  for (const auto& [result, count] : runner.results()) {
    samples->Counter("audit_results_total", "Passes by result", static_cast<double>(count),
                     with("result", result));
  }
  samples->Gauge("audit_duration_seconds", "How long the last pass took",
                 absl::ToDoubleSeconds(runner.last_duration()), node);
  SamplePhase("observe", view.last.observed_at - view.last.started_at, node, samples);
  SamplePhase("account", view.last.ended_at - view.last.observed_at, node, samples);
  samples->Counter("reports_sent_total", "Reports sent", static_cast<double>(view.reports_sent),
                   node);
  samples->Counter("reports_coalesced_total",
                   "Reports replaced by a newer one before they were sent",
                   static_cast<double>(view.reports_coalesced), node);
  samples->Counter("reports_rejected_total", "Reports that placement refused",
                   static_cast<double>(view.reports_rejected), node);
  samples->Gauge("hung_storage_reads", "Reads of storage that do not answer, each with a thread",
                 runner.node()->hung_storage_reads(), node);
  for (const auto& [call, count] : runner.node()->libvirt_calls()) {
    samples->Counter("libvirt_calls_total", "Calls of libvirt", static_cast<double>(count),
                     with("call", call));
  }
  const tracker::LockTimes times = runner.node()->lock_times();
  const auto histogram = [&](const char* name, const char* help,
                             const tracker::TimeCounts& counts) {
    samples->Histogram(name, help, counts.kBoundsSeconds, counts.counts, counts.sum_seconds, node);
  };
  histogram("lock_wait_seconds", "How long threads waited for the lock of the node", times.waits);
  histogram("lock_hold_seconds", "How long threads held the lock of the node", times.holds);
  if (view.audit != nullptr) SampleAudit(*view.audit, node, samples);
}

void TrackerHost::SampleAudit(const tracker::Audit& audit, const Samples::Labels& node,
                              Samples* samples) {
  const tracker::Accounting& account = audit.report.accounting;
  samples->Gauge("orphans", "Guests without a consumer in placement",
                 static_cast<double>(audit.report.orphans.size()), node);
  const auto with = [&node](const char* resource_class) {
    Samples::Labels labels = node;
    labels["class"] = resource_class;
    return labels;
  };
  const auto amounts = [&](const char* name, const char* help, const tracker::Amounts& amounts) {
    samples->Gauge(name, help, static_cast<double>(amounts.vcpus), with("VCPU"));
    samples->Gauge(name, help, static_cast<double>(amounts.memory_mib), with("MEMORY_MB"));
    samples->Gauge(name, help, static_cast<double>(amounts.disk_mib) / 1024, with("DISK_GB"));
  };
  std::map<std::string, int64_t> drifts;
  for (const tracker::Drift& drift : audit.drifts) {
    drifts[drift.resource_class] = drift.accounted - drift.allocated;
  }
  for (const char* const name : {"DISK_GB", "MEMORY_MB", "PCPU", "VCPU"}) {
    samples->Gauge("drift", "What the account counts for instances, less their allocations",
                   static_cast<double>(drifts[name]), with(name));
  }
  amounts("total", "What the node has", account.total);
  amounts("used", "What is used of it by reserves, records, claims, other allocations and orphans",
          account.used());
  amounts("free", "Total less used; may be negative", account.free());
}

}  // namespace berth::services
