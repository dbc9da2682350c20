// The methods of Node that take placement's records, and report to placement.
#include <algorithm>
#include <utility>

#include "tracker/audit/device_children.h"
#include "tracker/audit/traits.h"
#include "tracker/node/node.h"

namespace berth::tracker {
namespace {

KnownProvider* FindProvider(Records* records, const Uuid& uuid) {
  for (KnownProvider& provider : records->tree) {
    if (provider.uuid == uuid) return &provider;
  }
  return nullptr;
}

bool NamesTrait(const Report& report, const std::string& trait) {
  return std::any_of(
      report.providers.begin(), report.providers.end(),
      [&](const WantedProvider& provider) { return provider.traits.contains(trait); });
}

}  // namespace

void Node::ChangeRecords(const std::function<bool(Records*, NodeAccount*)>& change,
                         MonotonicTime now) {
  Replies replies;
  FairLock lock(&mutex_);
  const bool first = !records_.has_value();
  if (first) records_.emplace();
  const bool changed = change(&*records_, &*account_);
  if (first && account_) {
    for (const auto& [uuid, instance] : account_->instances()) {
      first_generations_[uuid] = instance.generation;
    }
  }
  if (facts_ && first) {
    AuditLocked(now, Cause::kRecords).status().IgnoreError();
  } else if (facts_ && changed) {
    changes_wait_ = true;
    if (now >= audit_changes_at_) AuditChangesLocked(now);
  }
  AnswerWaitersLocked(absl::OkStatus(), &replies);
}

void Node::AuditChangesLocked(MonotonicTime now) {
  AuditLocked(now, Cause::kPush).status().IgnoreError();
  audit_changes_at_ = now + kAuditPause;
}

bool Node::AuditChanges(MonotonicTime now) {
  FairLock lock(&mutex_);
  const bool audits = changes_wait_ && now >= audit_changes_at_;
  if (audits) AuditChangesLocked(now);
  if (account_due_ && now >= *account_due_) OfferLocked(/*pass=*/false, /*repair=*/false, now);
  return audits;
}

std::optional<MonotonicTime> Node::changes_due() const {
  FairLock lock(&mutex_);
  std::optional<MonotonicTime> due = account_due_;
  if (changes_wait_) due = std::min(due.value_or(audit_changes_at_), audit_changes_at_);
  return due;
}

std::optional<Outbox::Outgoing> Node::NextReport(MonotonicTime now,
                                                 std::optional<Records>* records) {
  FairLock lock(&mutex_);
  // The first report waits for the records, because without records the audit finds no orphans.
  if (!records_) return std::nullopt;
  if (changes_wait_ && outbox_.HasReport()) AuditChangesLocked(now);
  if (account_due_ && outbox_.HasReport()) OfferLocked(/*pass=*/false, /*repair=*/false, now);
  std::optional<Outbox::Outgoing> report = outbox_.Next();
  if (report) *records = records_;
  return report;
}

void Node::Acknowledge(int64_t sequence, const std::map<Uuid, int64_t>& generations,
                       const std::vector<std::string>& unknown_traits, MonotonicTime now) {
  FairLock lock(&mutex_);
  const std::optional<Outbox::Outgoing> flight = outbox_.in_flight();
  if (!outbox_.Acknowledge(sequence)) return;
  for (const std::string& trait : unknown_traits) {
    if (NamesTrait(flight->audit->report, trait)) unknown_traits_.insert(trait);
  }
  if (!records_) records_.emplace();
  for (const WantedProvider& wanted : flight->audit->report.providers) {
    KnownProvider* known = FindProvider(&*records_, wanted.uuid);
    if (known == nullptr) known = &records_->tree.emplace_back();
    known->uuid = wanted.uuid;
    known->name = wanted.name;
    known->parent_uuid = wanted.parent_uuid;
    known->inventories = wanted.inventories;
    known->traits = EffectiveTraits(known->traits, wanted.traits);
    for (const std::string& trait : unknown_traits_) known->traits.erase(trait);
    for (const auto& [trait, present] : wanted.traits) {
      if (!present) added_traits_.Forget(wanted.uuid, trait);
    }
  }
  for (const auto& [uuid, generation] : generations) {
    KnownProvider* const known = FindProvider(&*records_, uuid);
    if (known != nullptr) known->generation = generation;
  }
  account_->SetDeviceProviders(DeviceProvidersOf(name_, *records_));  // T-263
  NoteSettledLocked(now);
}

bool Node::Reject(int64_t sequence, bool again, std::optional<std::vector<KnownProvider>> tree,
                  MonotonicTime now) {
  FairLock lock(&mutex_);
  const std::optional<Outbox::Outgoing> flight = outbox_.in_flight();
  if (!outbox_.Reject(sequence, again)) return true;
  const Report& refused = flight->audit->report;
  // Placement does not say which one of several consumers it refused.
  if (!again && refused.holdings.size() > 1) heals_singly_ = true;
  if (!again && refused.holdings.size() == 1) {
    const WantedHolding& holding = refused.holdings[0];
    refused_holdings_.emplace(holding.consumer_uuid, holding.generation);
  }
  if (tree) {
    if (!records_) records_.emplace();
    records_->tree = *std::move(tree);
    if (facts_) AuditLocked(now, Cause::kRecords).status().IgnoreError();
  }
  return again || !refused.moves_resources;
}

std::string Node::acknowledged_digest() const {
  FairLock lock(&mutex_);
  return outbox_.acknowledged_digest();
}

std::optional<LedgerRevision> Node::told_up_to() const {
  FairLock lock(&mutex_);
  return records_ ? records_->told_up_to : std::nullopt;
}

void Node::WantAllRecords() {
  FairLock lock(&mutex_);
  if (records_) records_->told_up_to.reset();
}

}  // namespace berth::tracker
