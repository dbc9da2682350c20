#include "tracker/node/node.h"

#include <utility>

#include "absl/time/clock.h"
#include "tracker/audit/audit_keys.h"
#include "tracker/audit/children.h"
#include "tracker/audit/device_children.h"
#include "tracker/audit/report.h"
#include "tracker/audit/resources.h"
#include "tracker/audit/traits.h"
#include "tracker/ground/check.h"

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
      name_(options_.configuration.name),
      wanted_configuration_(std::make_shared<const NodeConfiguration>(options_.configuration)),
      configuration_(wanted_configuration_) {}

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
  name_ = name;
  account_.emplace(HostAndNode{options_.host, identity.uuid}, NodeResources());
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
    const NodeAccount account(account_->self(), std::move(resources));
    const Records* const records = records_ ? &*records_ : nullptr;
    providers = DescribeChildren(facts, configuration, facts.uuid, name_, records).providers;
    const DeviceChildren devices = DescribeDeviceChildren(configuration, facts.uuid, name_, account,
                                                          facts.devices_known, records);
    providers.insert(providers.end(), devices.children.providers.begin(),
                     devices.children.providers.end());
    providers.push_back({facts.uuid, name_, Uuid(), {}, {}});
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
    const std::shared_ptr<const Audit> before = audit_;
    std::shared_ptr<const Facts> facts = std::make_shared<const Facts>(*std::move(observed));
    std::swap(facts_, facts);
    std::swap(configuration_, configuration);
    absl::StatusOr<std::shared_ptr<const Audit>> audit = AuditLocked(now, Cause::kPass);
    error = audit.status();
    if (audit.ok()) {
      outcome->audit = *audit;
      outcome->repairs = RepairLocked();
      audited_at_ = now;
      outcome->changed = before == nullptr || before->digest.whole != (*audit)->digest.whole;
      const bool degraded = facts_->degraded || !account_->faults().empty();
      outcome->result = degraded ? PassOutcome::Result::kDegraded : PassOutcome::Result::kComplete;
    } else {
      std::swap(facts_, facts);  // the last good facts stay (T-68)
      std::swap(configuration_, configuration);
    }
  }
  if (!error.ok()) {
    outcome->result = ResultOf(error);
    outcome->error = error;
  }
  outcome->ended_at = absl::Now();
  last_ = *outcome;
}

absl::Status Node::TakeResourcesLocked() {
  NodeResources resources = ResourcesOf(*facts_, *configuration_);
  AddUnits(*facts_, *configuration_, account_->self().node_uuid, &resources);
  BERTH_RETURN_IF_ERROR(AddDevices(*facts_, *configuration_, &resources));
  BERTH_ASSIGN_OR_RETURN(claim_settings_, ClaimSettingsOf(*configuration_));
  account_->SetResources(std::move(resources));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Audit>> Node::AuditLocked(MonotonicTime now, Cause cause) {
  // After these checks nothing can fail, so the account gets only facts that stay.
  BERTH_RETURN_IF_ERROR(VerifyFacts(*facts_));
  if (cause == Cause::kPass) BERTH_RETURN_IF_ERROR(TakeResourcesLocked());
  if (records_) account_->SetDeviceProviders(DeviceProvidersOf(name_, *records_));
  const AddedTraits added_traits = added_traits_.traits();
  BERTH_ASSIGN_OR_RETURN(
      Audit audit,
      RunAudit({.facts = facts_,
                .records = records_ ? &*records_ : nullptr,
                .configuration = *configuration_,
                .node_uuid = account_->self().node_uuid,
                .node_name = name_,
                .before = audit_.get(),
                .now = now,
                .wall_now = absl::Now(),
                .orphan_confirmation = absl::ToChronoNanoseconds(options_.orphan_confirmation),
                .added_traits = &added_traits,
                .account = &*account_,
                .starting = outbox_.acknowledged_sequence() == 0}));
  LeaveOutRefusedLocked(&audit.report);
  warnings_.insert(warnings_.end(), audit.warnings.begin(), audit.warnings.end());
  account_->SetOrphans(audit.report.accounting.orphans);
  const std::shared_ptr<const Audit> before = audit_;
  const bool drifted = DriftedLocked(audit);
  audit_ = std::make_shared<const Audit>(std::move(audit));
  changes_wait_ = false;
  // A claim changes only the node's accounting, and placement made the claim itself. So the report
  // can wait: a report for each claim would double the number of placement's writes.
  const bool can_wait = cause == Cause::kPush && before != nullptr && !drifted &&
                        before->digest.but_accounting == audit_->digest.but_accounting;
  if (!can_wait) {
    OfferLocked(cause == Cause::kPass, drifted, now);
  } else if (!account_due_ && before->digest.whole != audit_->digest.whole) {
    account_due_ = now + kAccountPause;
  }
  return audit_;
}

void Node::OfferLocked(bool pass, bool repair, MonotonicTime now) {
  outbox_.Offer(audit_, pass, repair);
  account_due_.reset();
  NoteSettledLocked(now);
}

void Node::LeaveOutRefusedLocked(Report* report) const {
  if (report->moves_resources) return;
  std::vector<WantedHolding> left;
  for (WantedHolding& holding : report->holdings) {
    if (refused_holdings_.contains({holding.consumer_uuid, holding.generation})) continue;
    left.push_back(std::move(holding));
    if (heals_singly_) break;
  }
  report->holdings = std::move(left);
}

// Whether placement's providers differ from the acknowledged report, or allocations are missing. If
// so, somebody else has changed values that the tracker decides about.
bool Node::DriftedLocked(const Audit& audit) const {
  if (!records_ || outbox_.acknowledged_digest().empty()) return false;
  if (!audit.report.holdings.empty()) return true;
  std::vector<WantedProvider> wanted = audit.report.providers;
  for (WantedProvider& provider : wanted) {
    for (const std::string& trait : unknown_traits_) provider.traits.erase(trait);
  }
  return Differs(wanted, records_->tree);
}

void Node::NoteSettledLocked(MonotonicTime now) {
  if (outbox_.settled()) {
    unsettled_since_.reset();
  } else if (!unsettled_since_) {
    unsettled_since_ = now;
  }
}

bool Node::AuditOverdue(MonotonicTime now) const {
  FairLock lock(&mutex_);
  return options_.pass_interval && audited_at_ &&
         now - *audited_at_ > kIntervalsToOverdue * *options_.pass_interval;
}

std::optional<MonotonicTime> Node::confirm_at() const {
  FairLock lock(&mutex_);
  return audit_ == nullptr ? std::nullopt : audit_->confirm_at;
}

std::vector<std::string> Node::TakeWarnings() {
  FairLock lock(&mutex_);
  return std::exchange(warnings_, {});
}

std::optional<Records> Node::records() const {
  FairLock lock(&mutex_);
  return records_;
}

Node::View Node::view() const {
  View view;
  view.uri = options_.configuration.uri;
  view.connected = hypervisor_.connected();
  FairLock lock(&mutex_);
  if (account_) view.uuid = account_->self().node_uuid;
  view.name = name_;
  view.last = last_;
  view.audit = audit_;
  view.has_records = records_.has_value();
  view.standing = outbox_.standing();
  view.sequence = outbox_.sequence();
  view.acknowledged_sequence = outbox_.acknowledged_sequence();
  view.settled = outbox_.settled();
  view.unsettled_since = unsettled_since_;
  view.reports_sent = outbox_.reports_sent();
  view.reports_coalesced = outbox_.reports_coalesced();
  view.reports_rejected = outbox_.reports_rejected();
  return view;
}

std::optional<Accounting> Node::accounting() const {
  FairLock lock(&mutex_);
  if (audit_ == nullptr) return std::nullopt;
  return Account(*facts_, *configuration_, records_ ? &*records_ : nullptr, audit_->report.orphans,
                 &*account_);
}

std::optional<NodeIdentity> Node::identity() const {
  MutexLock lock(&identity_mutex_);
  return identity_;
}

std::string Node::name() const {
  FairLock lock(&mutex_);
  return name_;
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

void Node::Welcome(Standing standing, int64_t last_sequence) {
  FairLock lock(&mutex_);
  refused_holdings_.clear();
  heals_singly_ = false;
  outbox_.Welcome(standing, last_sequence);
}

void Node::OrderSnapshot() {
  FairLock lock(&mutex_);
  outbox_.OrderSnapshot();
}

}  // namespace berth::tracker
