#include "tracker/audit/audit.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tracker/account/migration_status.h"
#include "tracker/audit/audit_keys.h"
#include "tracker/audit/children.h"
#include "tracker/audit/cpu_misfits.h"
#include "tracker/audit/device_children.h"
#include "tracker/audit/inventory.h"
#include "tracker/audit/reserve.h"
#include "tracker/audit/reshape.h"
#include "tracker/audit/traits.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

// The provider as placement has it; null: it has none.
const KnownProvider* PlacedProvider(const Records* records, const Uuid& uuid) {
  if (records == nullptr) return nullptr;
  for (const KnownProvider& provider : records->tree) {
    if (provider.uuid == uuid) return &provider;
  }
  return nullptr;
}

const Inventories& PlacedInventories(const Records* records, const Uuid& uuid) {
  static const Inventories* const none = new Inventories();
  const KnownProvider* const provider = PlacedProvider(records, uuid);
  return provider == nullptr ? *none : provider->inventories;
}

const Audit& Before(const AuditInput& input) {
  static const Audit* const none = new Audit();
  return input.before != nullptr ? *input.before : *none;
}

OrphanJudgement JudgeWith(const AuditInput& input, const std::vector<Guest>& guests,
                          const OrphanMemory& memory) {
  static const std::vector<KnownAllocation>* const none = new std::vector<KnownAllocation>();
  return JudgeOrphans(guests, input.records != nullptr ? input.records->allocations : *none,
                      input.configuration.orphans, memory, input.now, input.wall_now,
                      input.orphan_confirmation);
}

// The providers that the report asks for, root first.
struct Description {
  std::vector<WantedProvider> providers;
  std::map<std::string, RatioChoice> ratios;  // of the root, by resource class
  std::vector<std::string> clamped;  // one text per setting that asks for more than the node has
  std::vector<std::string> unfit;    // one text per setting about devices that the node lacks
  Additions additions;
  DeviceProviderTree devices;
  std::vector<WantedHolding> holdings;
  bool moves_resources = false;
};

void AddDeviceProviders(const AuditInput& input, Description* description) {
  DeviceChildren devices =
      DescribeDeviceChildren(input.configuration, input.node_uuid, input.node_name, *input.account,
                             input.facts->devices_known, input.records);
  for (WantedProvider& child : devices.children.providers) {
    description->providers.push_back(std::move(child));
  }
  for (std::string& problem : devices.children.problems) {
    description->unfit.push_back(std::move(problem));
  }
  description->devices = std::move(devices.tree);
}

// Resources that move come first: devices are healed in a later report.
void Reshape(const AuditInput& input, Description* description) {
  description->holdings = MoveResources(*input.records, *input.account, input.starting,
                                        &description->providers, &description->unfit);
  description->moves_resources = !description->holdings.empty();
  if (description->moves_resources) return;
  description->holdings =
      HealDevices(description->devices, *input.records, *input.account, description->providers);
}

Description Describe(const AuditInput& input, const std::vector<Orphan>& orphans) {
  static const AddedTraits* const none = new AddedTraits();
  RootInventory root = DescribeRootInventory(*input.facts, input.configuration,
                                             PlacedInventories(input.records, input.node_uuid),
                                             SumWithheld(orphans));
  const std::optional<bool> disabled =
      input.records == nullptr ? std::nullopt : input.records->service_disabled;
  Description description;
  description.ratios = std::move(root.ratios);
  description.clamped = std::move(root.problems);
  description.providers.push_back(
      {input.node_uuid, input.node_name, Uuid(), std::move(root.inventories),
       DescribeRootTraits(*input.facts, input.configuration, disabled)});
  ChildProviders children = DescribeChildren(*input.facts, input.configuration, input.node_uuid,
                                             input.node_name, input.records);
  for (WantedProvider& child : children.providers) {
    description.providers.push_back(std::move(child));
  }
  description.unfit = std::move(children.problems);
  if (input.account != nullptr) AddDeviceProviders(input, &description);
  // Whether a resource moves follows from all that the providers will have. A class that a file
  // gives to the root stays on the root, even if children offer the same class.
  description.additions = AddConfigured(input.configuration.provider_entries,
                                        input.added_traits != nullptr ? *input.added_traits : *none,
                                        &description.providers);
  if (input.account != nullptr && input.records != nullptr) Reshape(input, &description);
  return description;
}

// Whether placement has the inventories `wanted`, as far as its access file allows. It may have
// other classes, which operators gave, and less of a class than the host has: then `total` was cut,
// and `reserved` to that. A class of which it has nothing tells nothing.
bool HasAsLimited(const Inventories& wanted, const Inventories& placed) {
  bool has = false;
  for (const auto& [name, inventory] : wanted) {
    const auto found = placed.find(name);
    if (found == placed.end()) continue;
    Inventory stored = inventory;
    if (found->second.total < stored.total) {
      stored.total = found->second.total;
      stored.reserved = std::min(stored.reserved, stored.total);
    }
    if (stored != found->second) return false;
    has = true;
  }
  return has;
}

// If placement's inventory withholds exactly the usage of all present orphans, then an earlier
// process of this tracker had confirmed them, and they count as confirmed here. Without this,
// placement would give their capacity away until this process has confirmed them. Where placement
// has less than the host, because of its access file, what is left of the inventory tells it.
void AdoptWithheld(const AuditInput& input, OrphanJudgement* judgement) {
  if (judgement->orphans.empty()) return;
  OrphanMemory assumed = judgement->memory;
  for (auto& [uuid, seen] : assumed.guests) seen.confirmed = true;
  OrphanJudgement adopted = JudgeWith(input, input.facts->guests, assumed);
  if (HasAsLimited(Describe(input, adopted.orphans).providers[0].inventories,
                   PlacedInventories(input.records, input.node_uuid))) {
    *judgement = std::move(adopted);
  }
}

// Finds the orphans. If there are no records yet, only the orphans of the last pass can be orphans
// now.
OrphanJudgement Judge(const AuditInput& input) {
  const OrphanMemory& memory = Before(input).memory;
  if (input.records == nullptr) {
    std::vector<Guest> known;
    for (const Guest& guest : input.facts->guests) {
      if (memory.guests.count(guest.uuid) != 0) known.push_back(guest);
    }
    OrphanJudgement judgement = JudgeWith(input, known, memory);
    judgement.memory.judged = memory.judged;
    return judgement;
  }
  OrphanJudgement judgement = JudgeWith(input, input.facts->guests, memory);
  if (!memory.judged) AdoptWithheld(input, &judgement);
  judgement.memory.judged = true;
  return judgement;
}

std::string OrphanText(const Orphan& orphan) {
  return absl::StrCat("guest ", orphan.name, " (", orphan.uuid.ToString(),
                      ") has no consumer and uses ", orphan.usage.vcpus, " VCPU, ",
                      orphan.usage.memory_mib, " MB, ", orphan.disk_gib, " GB",
                      orphan.withheld ? "; withheld" : "");
}

// Adds a finding. If the last audit did not have it, also adds the warning (T-61).
void Add(const AuditInput& input, Finding finding, const std::string& warning, Audit* audit) {
  finding.first_seen_at = input.wall_now;
  if (!Before(input).finding_memory.contains({finding.kind, finding.subject, finding.text})) {
    audit->warnings.push_back(warning);
  }
  audit->findings.push_back(std::move(finding));
}

void AddSettings(const AuditInput& input, const std::vector<std::string>& problems, Audit* audit) {
  for (const std::string& problem : problems) {
    Add(input, {Finding::Kind::kSetting, "", problem, {}}, problem, audit);
  }
}

void AddFaults(const AuditInput& input, Audit* audit) {
  for (const AccountFault& fault : input.account->faults()) {
    Add(input, {Finding::Kind::kRecord, TextOrEmpty(fault.instance_uuid), fault.text, {}},
        absl::StrCat("the record of instance ", fault.instance_uuid.ToString(), ": ", fault.text),
        audit);
  }
}

// A migration with an unknown status may hold resources until somebody changes the status.
void AddUnknownStatuses(const AuditInput& input, Audit* audit) {
  for (const auto& [uuid, migration] : input.account->migrations()) {
    if (IsKnownStatus(migration.status)) continue;
    const std::string text =
        absl::StrCat("migration ", uuid.ToString(), " has the status `", migration.status,
                     "`, which this release does not know; it is taken as in progress");
    Add(input, {Finding::Kind::kRecord, TextOrEmpty(migration.instance_uuid), text, {}}, text,
        audit);
  }
}

void AddStrayDevices(const AuditInput& input, Audit* audit) {
  for (const std::string& address : input.account->stray_devices()) {
    Finding finding{Finding::Kind::kDevice, address, "", {}};
    for (const Guest& guest : input.facts->guests) {
      const bool has = absl::c_linear_search(guest.devices, address);
      if (has) {
        finding.text =
            absl::StrCat("guest ", guest.name, " (", guest.uuid.ToString(), ") has PCI device ",
                         address, ", which no record gives to it; nobody gets the device");
      }
    }
    const std::string warning = finding.text;
    Add(input, std::move(finding), warning, audit);
  }
}

void AddDrifts(const AuditInput& input, Audit* audit) {
  audit->drifts = FindDrifts(*input.account, *input.records, input.configuration);
  for (const Drift& drift : audit->drifts) {
    MonotonicTime since = input.now;
    const DriftMemory& memory = Before(input).drift_memory;
    const auto known = memory.find(drift.resource_class);
    if (known != memory.end() && known->second.first == drift) since = known->second.second;
    audit->drift_memory[drift.resource_class] = {drift, since};
    if (input.now - since < input.orphan_confirmation) continue;
    const std::string text = DriftText(drift);
    audit->report.findings.push_back(text);
    Add(input, {Finding::Kind::kDrift, drift.resource_class, text, {}},
        absl::StrCat("the account of node ", input.node_name,
                     " differs from the allocations in placement: ", text),
        audit);
  }
}

// What was left behind is a finding once it has been so for `orphan_confirmation`: a scheduler
// deletes an instance and releases its allocations in two steps.
void AddLeftBehind(const AuditInput& input, Audit* audit) {
  const LeftBehindMemory& before = Before(input).left_memory;
  for (const LeftBehind& left :
       FindLeftBehind(*input.account, *input.records, input.facts->guests)) {
    const auto known = before.find({left.uuid, left.text});
    const MonotonicTime since = known == before.end() ? input.now : known->second;
    audit->left_memory[{left.uuid, left.text}] = since;
    const std::chrono::nanoseconds age =
        left.unknown ? kUnknownConsumerAge : input.orphan_confirmation;
    if (input.now - since < age) continue;
    audit->report.findings.push_back(left.text);
    Add(input, {Finding::Kind::kLeft, left.uuid.ToString(), left.text, {}},
        absl::StrCat("node ", input.node_name, ": ", left.text), audit);
  }
}

// What placement has stored less of than `wanted` asks for, because of `limits`, in words.
std::vector<std::string> LimitTexts(const WantedProvider& wanted, const ProviderLimits& limits,
                                    const KnownProvider* known) {
  std::vector<std::string> texts;
  for (const std::string& trait : limits.traits) {
    const auto asked = wanted.traits.find(trait);
    const bool lacks = known == nullptr || !known->traits.contains(trait);
    if (asked == wanted.traits.end() || !asked->second || !lacks) continue;
    texts.push_back(absl::StrCat("provider ", wanted.name, " does not get the trait ", trait,
                                 ": placement's access file withholds it"));
  }
  for (const auto& [name, limit] : limits.classes) {
    const auto asked = wanted.inventories.find(name);
    if (asked == wanted.inventories.end()) continue;
    int64_t stored = 0;
    if (known != nullptr && known->inventories.contains(name)) {
      stored = known->inventories.at(name).total;
    }
    if (stored >= asked->second.total) continue;
    texts.push_back(absl::StrCat("provider ", wanted.name, " has ", stored, " ", name,
                                 " in placement instead of ", asked->second.total,
                                 ": placement's access file ",
                                 limit.withheld ? "withholds the class" : "has a ceiling"));
  }
  return texts;
}

void AddLimits(const AuditInput& input, Audit* audit) {
  for (const WantedProvider& provider : audit->report.providers) {
    const auto limits = input.records->limits.find(provider.uuid);
    if (limits == input.records->limits.end()) continue;
    for (const std::string& text :
         LimitTexts(provider, limits->second, PlacedProvider(input.records, provider.uuid))) {
      audit->report.findings.push_back(text);
      Add(input, {Finding::Kind::kLimited, provider.uuid.ToString(), text, {}}, text, audit);
    }
  }
}

void AddFindings(const AuditInput& input, const Description& description, Audit* audit) {
  for (const Orphan& orphan : audit->report.orphans) {
    audit->findings.push_back(
        {Finding::Kind::kOrphan, orphan.uuid.ToString(), OrphanText(orphan), orphan.first_seen_at});
  }
  for (const std::string& problem : description.clamped) {
    Add(input, {Finding::Kind::kClamped, "", problem, {}}, problem, audit);
  }
  AddSettings(input, ReserveOf(*input.facts, input.configuration).warnings, audit);
  const std::string alarm =
      DiskAlarm(*input.facts, input.configuration, audit->report.accounting.used_disk_gib());
  if (!alarm.empty()) AddSettings(input, {alarm}, audit);
  AddSettings(input, description.unfit, audit);
  AddSettings(input, description.additions.problems, audit);
  for (const std::string& warning : input.facts->warnings) {
    audit->findings.push_back({Finding::Kind::kSkipped, "", warning, input.wall_now});
  }
  if (input.account != nullptr) AddFaults(input, audit);
  if (input.account != nullptr) AddUnknownStatuses(input, audit);
  if (input.account != nullptr) AddStrayDevices(input, audit);
  if (input.account != nullptr && input.facts->devices_known) {
    AddSettings(input, input.account->device_warnings(), audit);
  }
  if (input.account != nullptr) {
    AddSettings(input, FindCpuMisfits(*input.account, input.configuration), audit);
  }
  if (input.account != nullptr && input.records != nullptr) {
    AddDrifts(input, audit);
    AddLeftBehind(input, audit);
  }
  if (input.records != nullptr) AddLimits(input, audit);
  if (input.records == nullptr) {
    audit->findings.push_back(
        {Finding::Kind::kUnverified, "", "placement has sent no records yet", input.wall_now});
  }
}

// Gives each finding that the last pass had as well the time at which it was first found, and keeps
// the times for the next pass. Skips orphans, which have this time already.
void RememberFindings(const FindingMemory& before, Audit* audit) {
  for (Finding& finding : audit->findings) {
    if (finding.kind == Finding::Kind::kOrphan) continue;
    const FindingMemory::key_type key = {finding.kind, finding.subject, finding.text};
    const auto known = before.find(key);
    if (known != before.end()) finding.first_seen_at = known->second;
    audit->finding_memory[key] = finding.first_seen_at;
  }
}

}  // namespace

absl::StatusOr<Audit> RunAudit(const AuditInput& input) {
  BERTH_RETURN_IF_ERROR(VerifyFacts(*input.facts));
  Audit audit;
  OrphanJudgement judgement = Judge(input);
  Description description = Describe(input, judgement.orphans);

  Report& report = audit.report;
  report.node_uuid = input.node_uuid;
  report.node_name = input.node_name;
  report.facts = input.facts;
  const Report& last = Before(input).report;
  report.facts_digest = last.facts == input.facts ? last.facts_digest : FactsDigest(*input.facts);
  report.accounting =
      Account(*input.facts, input.configuration, input.records, judgement.orphans, input.account);
  report.providers = std::move(description.providers);
  report.holdings = std::move(description.holdings);
  report.moves_resources = description.moves_resources;
  report.orphans = std::move(judgement.orphans);

  audit.memory = std::move(judgement.memory);
  audit.confirm_at = judgement.confirm_at;
  audit.ratios = std::move(description.ratios);
  for (const Uuid& uuid : judgement.to_warn) {
    const auto orphan = std::find_if(report.orphans.begin(), report.orphans.end(),
                                     [&](const Orphan& one) { return one.uuid == uuid; });
    audit.warnings.push_back(absl::StrCat("Detected running orphan instance: ", uuid.ToString(),
                                          " (consuming ", orphan->usage.memory_mib, " MB memory)"));
  }
  audit.absent_providers = description.additions.absent;
  AddFindings(input, description, &audit);
  RememberFindings(Before(input).finding_memory, &audit);
  audit.digest = DigestOf(report);
  return audit;
}

}  // namespace berth::tracker
