#include "tracker/uplink/messages.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "tracker/audit/report.h"
#include "tracker/ground/message_text.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/record_form.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;

constexpr char kPlacementDomain[] = "berth.placement";

v1::GuestState WireState(GuestState state) {
  switch (state) {
    case GuestState::kNone:
      return v1::GUEST_STATE_UNSPECIFIED;
    case GuestState::kRunning:
      return v1::GUEST_STATE_RUNNING;
    case GuestState::kBlocked:
      return v1::GUEST_STATE_BLOCKED;
    case GuestState::kPaused:
      return v1::GUEST_STATE_PAUSED;
    case GuestState::kShuttingDown:
      return v1::GUEST_STATE_SHUTTING_DOWN;
    case GuestState::kShutOff:
      return v1::GUEST_STATE_OFF;
    case GuestState::kCrashed:
      return v1::GUEST_STATE_CRASHED;
    case GuestState::kSuspended:
      return v1::GUEST_STATE_SUSPENDED;
  }
  return v1::GUEST_STATE_UNSPECIFIED;
}

v1::WantedProvider WireProvider(const WantedProvider& provider, const KnownProvider* known) {
  v1::WantedProvider wire;
  wire.set_uuid(provider.uuid.ToString());
  wire.set_name(provider.name);
  wire.set_parent_uuid(TextOrEmpty(provider.parent_uuid));
  if (known != nullptr) wire.set_base_generation(known->generation);
  for (const auto& [name, inventory] : provider.inventories) {
    v1::Inventory& item = (*wire.mutable_inventories())[name];
    item.set_total(inventory.total);
    item.set_reserved(inventory.reserved);
    item.set_min_unit(inventory.min_unit);
    item.set_max_unit(inventory.max_unit);
    item.set_step_size(inventory.step_size);
    item.set_allocation_ratio(inventory.allocation_ratio);
  }
  for (const auto& [trait, present] : provider.traits) {
    if (present) {
      wire.add_traits_present(trait);
    } else {
      wire.add_traits_absent(trait);
    }
  }
  return wire;
}

v1::HeldAllocations WireHolding(const WantedHolding& holding) {
  v1::HeldAllocations wire;
  wire.set_consumer_uuid(holding.consumer_uuid.ToString());
  wire.set_generation(holding.generation);
  for (const auto& [provider, amounts] : holding.amounts) {
    v1::ProviderAllocation* const item = wire.add_allocations();
    item->set_provider_uuid(provider.ToString());
    item->mutable_resources()->insert(amounts.begin(), amounts.end());
  }
  return wire;
}

const KnownProvider* FindKnown(const std::optional<Records>& records, const Uuid& uuid) {
  if (!records) return nullptr;
  for (const KnownProvider& provider : records->tree) {
    if (provider.uuid == uuid) return &provider;
  }
  return nullptr;
}

bool SameProvider(const WantedProvider& a, const WantedProvider& b) {
  return a.uuid == b.uuid && a.name == b.name && a.parent_uuid == b.parent_uuid &&
         a.inventories == b.inventories && a.traits == b.traits;
}

// Whether a delta must contain this provider.
bool Changed(const WantedProvider& provider, const Outbox::Outgoing& report,
             const std::optional<Records>& records) {
  if (report.base == nullptr) return true;
  for (const WantedProvider& before : report.base->report.providers) {
    if (SameProvider(before, provider)) return !records || Differs({provider}, records->tree);
  }
  return true;
}

// Adds the providers that `before` has and `now` has not, children before parents.
void AddRemoved(const std::vector<WantedProvider>& before, const std::vector<WantedProvider>& now,
                v1::Report* wire) {
  for (auto gone = before.rbegin(); gone != before.rend(); ++gone) {
    const bool stays = std::any_of(now.begin(), now.end(), [&](const WantedProvider& provider) {
      return provider.uuid == gone->uuid;
    });
    if (!stays) wire->add_removed_provider_uuids(gone->uuid.ToString());
  }
}

// Removes elements from the end of `list` until `bytes`, the size of the messages to which the list
// belongs, is small enough. Reduces `bytes` accordingly. Returns how many elements were removed.
template <typename List>
int Trim(List* list, size_t* bytes) {
  int left_out = 0;
  for (; list->size() > 0 && *bytes > kAccountBytesMax; ++left_out) {
    *bytes -= std::min(*bytes, list->Get(list->size() - 1).ByteSizeLong());
    list->RemoveLast();
  }
  return left_out;
}

// Removes counters likewise, first those of projects. The names of projects, tasks and states come
// from records that others write. The other counters stay: schedulers weigh hosts by them.
int TrimCounters(v1::NodeAccount* account, size_t* bytes) {
  std::set<std::string> names;
  for (const auto& [name, count] : account->counters()) {
    const bool stays = name == "num_instances" || name == "io_workload" || name == "failed_builds";
    if (!stays) names.insert(name);
  }
  int left_out = 0;
  for (const std::string& name : names) {
    if (*bytes <= kAccountBytesMax) break;
    *bytes -= std::min(*bytes, name.size());
    account->mutable_counters()->erase(name);
    ++left_out;
  }
  return left_out;
}

// Removes the devices that are not free if the account has no room for all of them: a device that
// is not among them would look free. Returns how many there were.
int CutDevices(v1::NodeAccount* account, size_t* bytes) {
  const int count = account->pci_devices_size();
  if (count == 0 || *bytes <= kAccountBytesMax) return 0;
  for (const v1::PciDevice& device : account->pci_devices()) {
    *bytes -= std::min(*bytes, device.ByteSizeLong());
  }
  account->clear_pci_devices();
  account->set_pci_devices_cut(true);
  return count;
}

// Makes the report small enough. Adds findings that say what was left out, among them
// `devices_left_out` PCI devices.
void FitNodeBytes(int devices_left_out, v1::Report* report) {
  size_t account = report->account().ByteSizeLong() + report->observation().ByteSizeLong() +
                   report->orphans().ByteSizeLong() + report->findings().ByteSizeLong();
  auto* const findings = report->mutable_findings()->mutable_findings();
  const std::pair<const char*, int> left_out[] = {
      {"PCI devices", devices_left_out},
      {"PCI devices in use", CutDevices(report->mutable_account(), &account)},
      {"counters", TrimCounters(report->mutable_account(), &account)},
      {"pools of PCI devices", Trim(report->mutable_account()->mutable_pci_pools(), &account)},
      {"findings", Trim(findings, &account)},
      {"orphans", Trim(report->mutable_orphans()->mutable_orphans(), &account)}};
  for (const auto& [what, count] : left_out) {
    if (count == 0) continue;
    v1::Finding* const finding = findings->Add();
    finding->set_kind(v1::FINDING_KIND_UNREADABLE);
    finding->set_message(absl::StrCat(count, " ", what, " are left out of the report"));
  }
}

// A number that placement refuses in an inventory becomes one that it takes, so that the audit can
// add and divide.
Inventory ReadInventory(const v1::Inventory& wire) {
  constexpr double kRatioMax = 3.40282e38;
  const auto amount = [](int64_t value) { return std::clamp<int64_t>(value, 0, kRecordAmountMax); };
  const bool has_ratio = wire.allocation_ratio() > 0 && wire.allocation_ratio() <= kRatioMax;
  return {amount(wire.total()),
          amount(wire.reserved()),
          wire.has_min_unit() ? amount(wire.min_unit()) : 1,
          wire.has_max_unit() ? amount(wire.max_unit()) : kRecordAmountMax,
          wire.has_step_size() ? amount(wire.step_size()) : 1,
          has_ratio ? wire.allocation_ratio() : 1.0};
}

KnownProvider ReadProvider(const v1::Provider& wire) {
  KnownProvider provider;
  provider.uuid = UuidOrNil(wire.uuid());
  provider.name = wire.name();
  provider.parent_uuid = UuidOrNil(wire.parent_uuid());
  provider.generation = wire.generation();
  for (const auto& [name, item] : wire.inventories()) {
    provider.inventories[name] = ReadInventory(item);
  }
  provider.traits.insert(wire.traits().begin(), wire.traits().end());
  return provider;
}

// Unspecified: the finding is no finding of the report.
v1::FindingKind WireKind(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kSkipped:
    case Finding::Kind::kRecord:
      return v1::FINDING_KIND_UNREADABLE;
    case Finding::Kind::kClamped:
    case Finding::Kind::kSetting:
      return v1::FINDING_KIND_CONFIGURATION;
    case Finding::Kind::kDevice:
      return v1::FINDING_KIND_DEVICE_CONFLICT;
    case Finding::Kind::kDrift:
      return v1::FINDING_KIND_DRIFT;
    case Finding::Kind::kLimited:
      return v1::FINDING_KIND_LIMITED;
    case Finding::Kind::kLeft:
      return v1::FINDING_KIND_LEAK_CANDIDATE;
    default:
      return v1::FINDING_KIND_UNSPECIFIED;
  }
}

// Whether an ErrorInfo of placement's domain in `status` has the key.
bool HasKey(const google::rpc::Status& status, const char* key) {
  google::rpc::ErrorInfo info;
  return std::any_of(status.details().begin(), status.details().end(),
                     [&](const google::protobuf::Any& detail) {
                       return detail.UnpackTo(&info) && info.domain() == kPlacementDomain &&
                              info.metadata().contains(key);
                     });
}

}  // namespace

v1::Orphan WireOrphan(const Orphan& orphan) {
  v1::Orphan wire;
  wire.set_uuid(orphan.uuid.ToString());
  wire.set_name(orphan.name);
  wire.set_vcpus(orphan.usage.vcpus);
  wire.set_memory_mib(orphan.usage.memory_mib);
  wire.set_disk_gib(orphan.disk_gib);
  wire.set_state(WireState(orphan.state));
  wire.set_withheld(orphan.withheld);
  *wire.mutable_first_seen_at() = WireTime(orphan.first_seen_at);
  return wire;
}

std::vector<v1::Finding> WireFindings(const std::vector<Finding>& findings) {
  std::vector<v1::Finding> wire;
  for (const Finding& finding : findings) {
    const v1::FindingKind kind = WireKind(finding.kind);
    if (kind == v1::FINDING_KIND_UNSPECIFIED) continue;
    v1::Finding& item = wire.emplace_back();
    item.set_kind(kind);
    item.set_subject(MessageText(finding.subject));
    item.set_message(MessageText(finding.text));
    *item.mutable_first_seen_at() = WireTime(finding.first_seen_at);
  }
  return wire;
}

v1::AuditSummary WireSummary(const PassOutcome& outcome) {
  v1::AuditSummary wire;
  switch (outcome.result) {
    case PassOutcome::Result::kNone:
      return wire;
    case PassOutcome::Result::kComplete:
      wire.set_result(v1::AUDIT_RESULT_COMPLETE);
      break;
    case PassOutcome::Result::kDegraded:
      wire.set_result(v1::AUDIT_RESULT_DEGRADED);
      break;
    case PassOutcome::Result::kNotReady:
      wire.set_result(v1::AUDIT_RESULT_NOT_READY);
      break;
    case PassOutcome::Result::kFailed:
      wire.set_result(v1::AUDIT_RESULT_FAILED);
      break;
  }
  *wire.mutable_started_at() = WireTime(outcome.started_at);
  *wire.mutable_ended_at() = WireTime(outcome.ended_at);
  wire.set_message(MessageText(outcome.error.message()));
  wire.set_changed(outcome.changed);
  return wire;
}

v1::Report WireReport(const Outbox::Outgoing& report, const std::optional<Records>& records,
                      const PassOutcome& outcome) {
  const Report& told = report.audit->report;
  v1::Report wire;
  wire.set_node_uuid(told.node_uuid.ToString());
  wire.set_node_name(told.node_name);
  wire.set_sequence(report.sequence);
  wire.set_kind(report.snapshot ? v1::REPORT_KIND_SNAPSHOT : v1::REPORT_KIND_DELTA);
  wire.set_digest(report.digest);
  *wire.mutable_facts() = WireFacts(told);
  *wire.mutable_account() = WireAccount(told);
  *wire.mutable_observation() = WireObservation(*told.facts, outcome.ended_at);
  for (const Orphan& orphan : told.orphans)
    *wire.mutable_orphans()->add_orphans() = WireOrphan(orphan);
  wire.mutable_orphans();
  wire.mutable_findings();
  for (v1::Finding& finding : WireFindings(report.audit->findings)) {
    *wire.mutable_findings()->add_findings() = std::move(finding);
  }
  FitNodeBytes(static_cast<int>(told.facts->pci_devices.size()) - wire.facts().pci_devices_size(),
               &wire);
  if (report.base != nullptr) {
    const Report& before = report.base->report;
    if (SameWireFacts(before, told)) wire.clear_facts();
    if (WireAccount(before).SerializeAsString() == wire.account().SerializeAsString()) {
      wire.clear_account();
    }
  }
  *wire.mutable_audit() = WireSummary(outcome);
  for (const WantedProvider& provider : told.providers) {
    if (!Changed(provider, report, records)) continue;
    *wire.add_providers() = WireProvider(provider, FindKnown(records, provider.uuid));
  }
  for (const WantedHolding& holding : told.holdings) {
    *wire.add_allocations() = WireHolding(holding);
  }
  if (report.base != nullptr) AddRemoved(report.base->report.providers, told.providers, &wire);
  return wire;
}

std::string ReadReason(const google::rpc::Status& status) {
  google::rpc::ErrorInfo info;
  for (const google::protobuf::Any& detail : status.details()) {
    if (detail.UnpackTo(&info) && info.domain() == kPlacementDomain) return info.reason();
  }
  return "";
}

bool NamesRecord(const google::rpc::Status& status) {
  return HasKey(status, "instance") || HasKey(status, "migration");
}

bool NamesLimits(const google::rpc::Status& status) { return HasKey(status, "limited"); }

std::vector<KnownProvider> ReadProviders(
    const google::protobuf::RepeatedPtrField<v1::Provider>& providers, const Uuid& node_uuid) {
  std::vector<KnownProvider> tree;
  for (const v1::Provider& provider : providers) {
    if (!ParseName(provider.uuid())) continue;
    KnownProvider& known = tree.emplace_back(ReadProvider(provider));
    if (known.uuid == node_uuid) known.parent_uuid = Uuid();
  }
  return tree;
}

}  // namespace berth::tracker
