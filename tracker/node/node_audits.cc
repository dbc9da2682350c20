#include "tracker/node/node_audits.h"

#include <algorithm>
#include <utility>

#include "tracker/audit/audit_keys.h"
#include "tracker/audit/device_children.h"
#include "tracker/audit/resources.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {

absl::Status NodeAudits::TakeFacts(std::shared_ptr<const Facts> facts,
                                   std::shared_ptr<const NodeConfiguration> configuration,
                                   MonotonicTime now) {
  std::swap(state_->facts, facts);
  std::swap(configuration_, configuration);
  const absl::Status audited = AuditFor(now, Cause::kPass);
  if (!audited.ok()) {
    std::swap(state_->facts, facts);  // the last good facts stay (T-68)
    std::swap(configuration_, configuration);
  }
  return audited;
}

absl::Status NodeAudits::TakeResources() {
  NodeResources resources = ResourcesOf(*state_->facts, *configuration_);
  AddUnits(*state_->facts, *configuration_, state_->account->self().node_uuid, &resources);
  BERTH_RETURN_IF_ERROR(AddDevices(*state_->facts, *configuration_, &resources));
  BERTH_ASSIGN_OR_RETURN(state_->claim_settings, ClaimSettingsOf(*configuration_));
  state_->account->SetResources(std::move(resources));
  return absl::OkStatus();
}

absl::Status NodeAudits::AuditFor(MonotonicTime now, Cause cause) {
  // After these checks nothing can fail, so the account gets only facts that stay.
  BERTH_RETURN_IF_ERROR(VerifyFacts(*state_->facts));
  if (cause == Cause::kPass) BERTH_RETURN_IF_ERROR(TakeResources());
  if (state_->records)
    state_->account->SetDeviceProviders(DeviceProvidersOf(state_->name, *state_->records));
  const AddedTraits added_traits = added_traits_->traits();
  BERTH_ASSIGN_OR_RETURN(
      Audit audit, RunAudit({.facts = state_->facts,
                             .records = records(),
                             .configuration = *configuration_,
                             .node_uuid = state_->account->self().node_uuid,
                             .node_name = state_->name,
                             .before = state_->audit.get(),
                             .now = now,
                             .wall_now = wall_clock_(),
                             .orphan_confirmation = absl::ToChronoNanoseconds(orphan_confirmation_),
                             .added_traits = &added_traits,
                             .account = &*state_->account,
                             .starting = reports_->may_move()}));
  reports_->LeaveOutRefused(&audit.report);
  warnings_.insert(warnings_.end(), audit.warnings.begin(), audit.warnings.end());
  state_->account->SetOrphans(audit.report.accounting.orphans);
  const std::shared_ptr<const Audit> before =
      std::exchange(state_->audit, std::make_shared<const Audit>(std::move(audit)));
  state_->changes_wait = false;
  reports_->Take(before.get(), cause, now);
  return absl::OkStatus();
}

void NodeAudits::AuditAtOnce(MonotonicTime now) {
  if (state_->facts) AuditFor(now, Cause::kRecords).IgnoreError();
}

void NodeAudits::NoteChange(MonotonicTime now) {
  if (!state_->facts) return;
  state_->changes_wait = true;
  if (now >= audit_changes_at_) AuditNow(now);
}

void NodeAudits::AuditNow(MonotonicTime now) {
  AuditFor(now, Cause::kPush).IgnoreError();
  audit_changes_at_ = now + kAuditPause;
}

bool NodeAudits::AuditChanges(MonotonicTime now) {
  const bool audits = state_->changes_wait && now >= audit_changes_at_;
  if (audits) AuditNow(now);
  reports_->OfferDue(now);
  return audits;
}

std::optional<MonotonicTime> NodeAudits::due() const {
  std::optional<MonotonicTime> due = reports_->due();
  if (state_->changes_wait) due = std::min(due.value_or(audit_changes_at_), audit_changes_at_);
  return due;
}

std::optional<Outbox::Outgoing> NodeAudits::NextReport(MonotonicTime now,
                                                       std::optional<Records>* records) {
  // The first report waits for the records, because without records the audit finds no orphans.
  if (!state_->records) return std::nullopt;
  if (state_->changes_wait && reports_->outbox().HasReport()) AuditNow(now);
  std::optional<Outbox::Outgoing> report = reports_->Next(now);
  if (report) *records = state_->records;
  return report;
}

void NodeAudits::Acknowledge(int64_t sequence, const std::map<Uuid, int64_t>& generations,
                             const std::vector<std::string>& unknown_traits, MonotonicTime now,
                             const LimitsByProvider& limits) {
  const LimitsByProvider before = state_->records ? state_->records->limits : LimitsByProvider();
  reports_->Acknowledge(sequence, generations, unknown_traits, now, limits);
  if (state_->records && state_->records->limits != before) NoteChange(now);
}

bool NodeAudits::Reject(int64_t sequence, ReportRefusal how,
                        std::optional<std::vector<KnownProvider>> tree, MonotonicTime now) {
  const std::optional<bool> may_go_on = reports_->Reject(sequence, how);
  if (may_go_on && tree) {
    if (!state_->records) state_->records.emplace();
    state_->records->tree = *std::move(tree);
    AuditAtOnce(now);
  }
  return may_go_on.value_or(true);
}

bool NodeAudits::PutOffMoves(int64_t sequence, MonotonicTime now) {
  const bool put_off = reports_->PutOffMoves(sequence);
  if (put_off) AuditAtOnce(now);
  return put_off;
}

std::vector<std::string> NodeAudits::TakeWarnings() { return std::exchange(warnings_, {}); }

std::optional<Accounting> NodeAudits::accounting() const {
  if (state_->audit == nullptr) return std::nullopt;
  return Account(*state_->facts, *configuration_, records(), state_->audit->report.orphans,
                 &*state_->account);
}

}  // namespace berth::tracker
