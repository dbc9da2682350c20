#include "tracker/node/node_reports.h"

#include <algorithm>

#include "tracker/audit/device_children.h"
#include "tracker/audit/traits.h"

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

void NodeReports::LeaveOutRefused(Report* report) const {
  if (report->moves_resources) return;
  std::vector<WantedHolding> left;
  for (WantedHolding& holding : report->holdings) {
    if (refused_holdings_.contains({holding.consumer_uuid, holding.generation})) continue;
    left.push_back(std::move(holding));
    if (heals_singly_) break;
  }
  report->holdings = std::move(left);
}

void NodeReports::Take(const Audit* before, Cause cause, MonotonicTime now) {
  const ReportDigest& digest = state_->audit->digest;
  const bool drifted = Drifted();
  // A claim changes only the node's accounting, and placement made the claim itself. So the report
  // can wait: a report for each claim would double the number of placement's writes.
  const bool can_wait = cause == Cause::kPush && before != nullptr && !drifted &&
                        before->digest.but_accounting == digest.but_accounting;
  if (!can_wait) {
    Offer(cause == Cause::kPass, drifted, now);
  } else if (!account_due_ && before->digest.whole != digest.whole) {
    account_due_ = now + kAccountPause;
  }
}

void NodeReports::OfferDue(MonotonicTime now) {
  if (account_due_ && now >= *account_due_) Offer(/*pass=*/false, /*repair=*/false, now);
}

std::optional<Outbox::Outgoing> NodeReports::Next(MonotonicTime now) {
  if (account_due_ && outbox_.HasReport()) Offer(/*pass=*/false, /*repair=*/false, now);
  return outbox_.Next();
}

void NodeReports::Offer(bool pass, bool repair, MonotonicTime now) {
  outbox_.Offer(state_->audit, pass, repair);
  account_due_.reset();
  NoteSettled(now);
}

// Whether placement's providers differ from the acknowledged report, or allocations are missing. If
// so, somebody else has changed values that the tracker decides about.
bool NodeReports::Drifted() const {
  if (!state_->records || outbox_.acknowledged_digest().empty()) return false;
  const Report& report = state_->audit->report;
  if (!report.holdings.empty()) return true;
  std::vector<WantedProvider> wanted = report.providers;
  for (WantedProvider& provider : wanted) {
    for (const std::string& trait : unknown_traits_) provider.traits.erase(trait);
  }
  return DiffersBeyondLimits(wanted, *state_->records);
}

void NodeReports::NoteSettled(MonotonicTime now) {
  if (outbox_.settled()) {
    unsettled_since_.reset();
  } else if (!unsettled_since_) {
    unsettled_since_ = now;
  }
}

void NodeReports::Welcome(Standing standing, int64_t last_sequence) {
  refused_holdings_.clear();
  heals_singly_ = false;
  outbox_.Welcome(standing, last_sequence);
}

void NodeReports::TakeLimits(const Report& report, const std::map<Uuid, int64_t>& generations,
                             const LimitsByProvider& limits) {
  LimitsByProvider* const recorded = &state_->records->limits;
  for (const auto& [uuid, generation] : generations) recorded->erase(uuid);
  for (const auto& [uuid, told] : limits) (*recorded)[uuid] = told;
  std::set<Uuid> reported;
  for (const WantedProvider& provider : report.providers) reported.insert(provider.uuid);
  std::erase_if(*recorded, [&](const auto& entry) { return !reported.contains(entry.first); });
}

void NodeReports::Acknowledge(int64_t sequence, const std::map<Uuid, int64_t>& generations,
                              const std::vector<std::string>& unknown_traits, MonotonicTime now,
                              const LimitsByProvider& limits) {
  const std::optional<Outbox::Outgoing> flight = outbox_.in_flight();
  if (!outbox_.Acknowledge(sequence)) return;
  for (const std::string& trait : unknown_traits) {
    if (NamesTrait(flight->audit->report, trait)) unknown_traits_.insert(trait);
  }
  if (!state_->records) state_->records.emplace();
  Records* const records = &*state_->records;
  TakeLimits(flight->audit->report, generations, limits);
  for (const WantedProvider& provider : flight->audit->report.providers) {
    KnownProvider* known = FindProvider(records, provider.uuid);
    const auto limited = records->limits.find(provider.uuid);
    const bool is_limited = limited != records->limits.end();
    // A provider that the report did not name is as it was before: an operator may have changed it.
    if (is_limited && !generations.contains(provider.uuid)) continue;
    const WantedProvider wanted =
        is_limited ? AsStored(provider, limited->second, known) : provider;
    if (known == nullptr) known = &records->tree.emplace_back();
    known->uuid = wanted.uuid;
    known->name = wanted.name;
    known->parent_uuid = wanted.parent_uuid;
    known->inventories = wanted.inventories;
    known->traits = EffectiveTraits(known->traits, wanted.traits);
    for (const std::string& trait : unknown_traits_) known->traits.erase(trait);
    for (const auto& [trait, present] : provider.traits) {
      if (!present) added_traits_->Forget(wanted.uuid, trait);
    }
  }
  for (const auto& [uuid, generation] : generations) {
    KnownProvider* const known = FindProvider(records, uuid);
    if (known != nullptr) known->generation = generation;
  }
  state_->account->SetDeviceProviders(DeviceProvidersOf(state_->name, *records));  // T-263
  NoteSettled(now);
}

std::optional<bool> NodeReports::Reject(int64_t sequence, ReportRefusal how) {
  const std::optional<Outbox::Outgoing> flight = outbox_.in_flight();
  if (!outbox_.Reject(sequence, how)) return std::nullopt;
  if (how != ReportRefusal::kForGood) return true;
  const Report& refused = flight->audit->report;
  // Placement does not say which one of several consumers it refused.
  if (refused.holdings.size() > 1) heals_singly_ = true;
  if (refused.holdings.size() == 1) {
    const WantedHolding& holding = refused.holdings[0];
    refused_holdings_.emplace(holding.consumer_uuid, holding.generation);
  }
  return !refused.moves_resources;
}

bool NodeReports::PutOffMoves(int64_t sequence) {
  const std::optional<Outbox::Outgoing> flight = outbox_.in_flight();
  if (!flight || !flight->audit->report.moves_resources) return false;
  if (!outbox_.Reject(sequence, ReportRefusal::kAgain)) return false;
  moves_are_off_ = true;
  return true;
}

}  // namespace berth::tracker
