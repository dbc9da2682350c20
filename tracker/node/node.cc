#include "tracker/node/node.h"

#include <utility>

#include "absl/time/clock.h"
#include "tracker/audit/children.h"
#include "tracker/audit/device_children.h"
#include "tracker/audit/resources.h"
#include "tracker/ground/check.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {
namespace {

// An audit that is older than this number of intervals is reported as overdue.
constexpr int kIntervalsToOverdue = 3;

}  // namespace

Node::Node(Options options, DeadlinePool* pool, HypervisorListener listener)
    : options_(std::move(options)),
      hypervisor_({options_.configuration.uri, options_.surroundings.timeout}, pool,
                  std::move(listener)),
      observer_(options_.configuration, options_.surroundings, &hypervisor_),
      audits_(absl::Now, options_.orphan_confirmation, &state_, &reports_, &added_traits_),
      wanted_configuration_(std::make_shared<const NodeConfiguration>(options_.configuration)) {
  state_.name = options_.configuration.name;
}

void Node::Configure(const NodeConfiguration& configuration) {
  FairLock lock(&mutex_);
  wanted_configuration_ = std::make_shared<const NodeConfiguration>(configuration);
}

absl::Status Node::FindIdentity() {
  if (identity()) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(const std::string told, observer_.NodeName());
  const std::string& configured = options_.configuration.name;
  const std::string name = configured.empty() ? told : configured;
  BERTH_ASSIGN_OR_RETURN(
      const std::vector<std::string> directories,
      IdentityDirectories(options_.configuration_directories, options_.surroundings.state_path,
                          name, options_.several_nodes));
  BERTH_ASSIGN_OR_RETURN(NodeIdentity identity, EnsureIdentity(directories));
  BERTH_RETURN_IF_ERROR(
      added_traits_.Open(NodeDirectory(identity, options_.surroundings.state_path)));
  FairLock lock(&mutex_);
  state_.name = name;
  state_.account.emplace(HostAndNode{options_.host, identity.uuid}, NodeResources());
  MutexLock own(&identity_mutex_);
  identity_ = std::move(identity);
  return absl::OkStatus();
}

absl::StatusOr<Facts> Node::Observe(const NodeConfiguration& configuration, MonotonicTime now,
                                    absl::Time wall_now) {
  observer_.Configure(configuration);
  BERTH_RETURN_IF_ERROR(FindIdentity());
  BERTH_ASSIGN_OR_RETURN(Facts facts, observer_.Observe(now, wall_now));
  facts.uuid = identity()->uuid;
  BERTH_RETURN_IF_ERROR(TagDevices(configuration, &facts));
  std::vector<WantedProvider> providers;
  if (!configuration.provider_entries.empty()) {
    // The account gets the new devices only with the audit.
    NodeResources resources;
    BERTH_RETURN_IF_ERROR(AddDevices(facts, configuration, &resources));
    FairLock lock(&mutex_);
    const NodeAccount account(state_.account->self(), std::move(resources));
    const Records* const records = state_.records ? &*state_.records : nullptr;
    providers = DescribeChildren(facts, configuration, facts.uuid, state_.name, records).providers;
    const DeviceChildren devices = DescribeDeviceChildren(configuration, facts.uuid, state_.name,
                                                          account, facts.devices_known, records);
    providers.insert(providers.end(), devices.children.providers.begin(),
                     devices.children.providers.end());
    providers.push_back({facts.uuid, state_.name, Uuid(), {}, {}});
  }
  const absl::Status remembered =
      added_traits_.Remember(ConfiguredTraits(configuration.provider_entries, providers));
  if (!remembered.ok()) facts.warnings.emplace_back(remembered.message());
  return facts;
}

PassOutcome Node::Pass(MonotonicTime now) {
  PassOutcome outcome;
  outcome.started_at = absl::Now();
  std::shared_ptr<const NodeConfiguration> configuration;
  {
    FairLock lock(&mutex_);
    configuration = wanted_configuration_;
    if (!audited_at_) audited_at_ = now;
  }
  absl::StatusOr<Facts> facts = Observe(*configuration, now, outcome.started_at);
  outcome.observed_at = absl::Now();
  TakeFacts(std::move(facts), std::move(configuration), now, &outcome);
  if (outcome.audit != nullptr) outcome.texts = TextsOf(*outcome.audit);
  return outcome;
}

void Node::TakeFacts(absl::StatusOr<Facts> observed,
                     std::shared_ptr<const NodeConfiguration> configuration, MonotonicTime now,
                     PassOutcome* outcome) {
  FairLock lock(&mutex_);
  absl::Status error = observed.status();
  if (observed.ok()) {
    const std::shared_ptr<const Audit> before = state_.audit;
    error = audits_.TakeFacts(std::make_shared<const Facts>(*std::move(observed)),
                              std::move(configuration), now);
    if (error.ok()) {
      outcome->audit = state_.audit;
      outcome->repairs = claims_.RepairRecords(options_.booted_at);
      audited_at_ = now;
      outcome->changed = before == nullptr || before->digest.whole != state_.audit->digest.whole;
      const bool degraded = state_.facts->degraded || !state_.account->faults().empty();
      outcome->result = degraded ? PassOutcome::Result::kDegraded : PassOutcome::Result::kComplete;
    }
  }
  if (!error.ok()) {
    outcome->result = ResultOf(error);
    outcome->error = error;
  }
  outcome->ended_at = absl::Now();
  state_.last = *outcome;
}

bool Node::AuditOverdue(MonotonicTime now) const {
  FairLock lock(&mutex_);
  return options_.pass_interval && audited_at_ &&
         now - *audited_at_ > kIntervalsToOverdue * *options_.pass_interval;
}

std::optional<Records> Node::records() const {
  FairLock lock(&mutex_);
  return state_.records;
}

Node::View Node::view() const {
  View view;
  view.uri = options_.configuration.uri;
  view.connected = hypervisor_.connected();
  FairLock lock(&mutex_);
  if (state_.account) view.uuid = state_.account->self().node_uuid;
  view.name = state_.name;
  view.last = state_.last;
  view.audit = state_.audit;
  view.has_records = state_.records.has_value();
  if (state_.records) view.told_up_to = state_.records->told_up_to;
  const Outbox& outbox = reports_.outbox();
  view.standing = outbox.standing();
  view.sequence = outbox.sequence();
  view.acknowledged_sequence = outbox.acknowledged_sequence();
  view.acknowledged_digest = outbox.acknowledged_digest();
  view.settled = outbox.settled();
  view.unsettled_since = reports_.unsettled_since();
  view.reports_sent = outbox.reports_sent();
  view.reports_coalesced = outbox.reports_coalesced();
  view.reports_rejected = outbox.reports_rejected();
  return view;
}

std::optional<Accounting> Node::accounting() const {
  FairLock lock(&mutex_);
  return audits_.accounting();
}

std::optional<NodeIdentity> Node::identity() const {
  MutexLock lock(&identity_mutex_);
  return identity_;
}

std::string Node::name() const {
  FairLock lock(&mutex_);
  return state_.name;
}

absl::StatusOr<IdentityCheck> Node::CheckRecords(const std::vector<NodeRecord>& records) {
  const std::optional<NodeIdentity> known = identity();
  BERTH_CHECK(known.has_value());  // the uplink finds nodes by their identity
  const std::string called = name();
  absl::StatusOr<IdentityCheck> check =
      CheckIdentity(*known, called, options_.host, options_.several_nodes, records);
  if (!check.ok()) return check;
  // Placement has accepted the identity, so it no longer counts as new.
  {
    MutexLock own(&identity_mutex_);
    identity_->created = false;
  }
  const std::string& state = options_.surroundings.state_path;
  if (options_.several_nodes || NodeDirectory(*known, state) != state) return check;
  const absl::Status written = WriteIdentityOwner(state, called);
  if (!written.ok()) check->warnings.emplace_back(written.message());
  return check;
}

void Node::Disconnect() {
  ClaimReplies replies;
  const FairLock lock(&mutex_);
  reports_.Disconnect();
  claims_.Disconnect(&replies);
}

void Node::ChangeRecords(const std::function<bool(Records*, NodeAccount*)>& change,
                         MonotonicTime now) {
  ClaimReplies replies;
  FairLock lock(&mutex_);
  const bool first = !state_.records.has_value();
  if (first) state_.records.emplace();
  const bool changed = change(&*state_.records, &*state_.account);
  if (first) {
    audits_.AuditAtOnce(now);
  } else if (changed) {
    audits_.NoteChange(now);
  }
  claims_.RecordsCame(first, &replies);
}

void Node::WantAllRecords() {
  FairLock lock(&mutex_);
  if (state_.records) state_.records->told_up_to.reset();
}

}  // namespace berth::tracker
