#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "placement/claims/allocation_form.h"
#include "placement/commands/inventory_write.h"
#include "placement/rules/report_plan.h"
#include "placement/rules/rules.h"
#include "placement/values/faults.h"

namespace berth::placement {

namespace {

constexpr size_t kProvidersMax = 2000;  // of each list of a report: providers, removed

using Ids = absl::flat_hash_set<ProviderId>;

// Checks the parent of one reported provider. In a snapshot the parent must be reported before the
// provider. In a delta the parent may also be a provider that the ledger has already. `before`
// contains the providers that were reported before this one.
void ParentField(Faults& faults, const std::string& field, const ApplyReport& report,
                 const ReportedProvider& provider, const Ids& before) {
  if (provider.id == report.node) {
    if (provider.parent) faults.Add(kInvalidField, field, "must be empty for the node's root");
  } else if (!provider.parent || *provider.parent == provider.id) {
    faults.Add(kInvalidField, field, "must name a parent other than the provider itself");
  } else if (report.complete && !before.contains(*provider.parent)) {
    faults.Add(kInvalidField, field, "must name a provider that comes earlier in the report");
  }
}

void TraitFields(Faults& faults, const std::string& field, const std::vector<std::string>& traits) {
  if (!AtMostField(faults, field, traits.size(), kTraitsMax)) return;
  for (const std::string& trait : traits) faults.UpperName(field, trait);
}

void ProviderFields(Faults& faults, size_t at, const ApplyReport& report, const Ids& before) {
  const ReportedProvider& provider = report.providers[at];
  const std::string field = absl::StrCat("providers[", at, "]");
  faults.Length(absl::StrCat(field, ".name"), provider.name, 1, kProviderNameMax);
  if (provider.id == report.node && provider.name != report.node_name) {
    faults.Add(kInvalidField, absl::StrCat(field, ".name"), "must be the node's name");
  }
  if (before.contains(provider.id)) {
    faults.Add(kDuplicateParameter, absl::StrCat(field, ".uuid"),
               absl::StrCat("names ", provider.id.ToString(), " again"),
               {{"provider", provider.id.ToString()}});
  }
  ParentField(faults, absl::StrCat(field, ".parent"), report, provider, before);
  InventoryListFields(faults, absl::StrCat(field, ".inventories"), provider.inventories);
  TraitFields(faults, absl::StrCat(field, ".traits_present"), provider.traits_present);
  TraitFields(faults, absl::StrCat(field, ".traits_absent"), provider.traits_absent);
  if (!provider.aggregates) return;
  const std::string aggregates = absl::StrCat(field, ".aggregates");
  if (AtMostField(faults, aggregates, provider.aggregates->size(), kAggregatesMax)) {
    EachOnce<AggregateId>(faults, "aggregate", aggregates, *provider.aggregates,
                          [](AggregateId id) { return id; });
  }
}

// Checks the list of removed providers. Only a delta may list removed providers, because a snapshot
// removes every provider that it does not name. A provider may not be both reported and removed.
void RemovedFields(Faults& faults, const ApplyReport& report, const Ids& reported) {
  if (report.complete && !report.removed.empty()) {
    faults.Add(kInvalidField, "removed", "must be empty in a snapshot");
  }
  Ids before;
  for (const ProviderId id : report.removed) {
    if (id == report.node || reported.contains(id)) {
      faults.Add(kInvalidField, "removed",
                 absl::StrCat("must not name ", id.ToString(), ", which the report keeps"),
                 {{"provider", id.ToString()}});
    } else if (!before.insert(id).second) {
      faults.Add(kDuplicateParameter, "removed", absl::StrCat("names ", id.ToString(), " twice"),
                 {{"provider", id.ToString()}});
    }
  }
}

bool IsAllocated(Amount amount) { return amount >= 1 && amount <= kAmountMax; }

void HoldingFields(Faults& faults, const std::vector<ReportedHolding>& holdings) {
  if (!AtMostField(faults, "allocations", holdings.size(), kConsumersMax)) return;
  EachOnce<ConsumerId>(faults, "consumer", "allocations", holdings,
                       [](const ReportedHolding& holding) { return holding.consumer; });
  for (size_t i = 0; i < holdings.size(); ++i) {
    const std::string field = absl::StrCat("allocations[", i, "].allocations");
    CountField(faults, field, holdings[i].allocations.size(), kConsumerProvidersMax);
    EachOnce<ProviderId>(faults, "provider", field, holdings[i].allocations,
                         [](const ProviderAmounts& amounts) { return amounts.provider; });
    for (const ProviderAmounts& amounts : holdings[i].allocations) {
      AmountFields(faults, field, amounts, IsAllocated, absl::StrCat("1 to ", kAmountMax));
    }
  }
}

void NamesOnce(Faults& faults, const std::vector<ReportedProvider>& providers) {
  absl::flat_hash_set<absl::string_view> names;
  for (size_t i = 0; i < providers.size(); ++i) {
    if (names.insert(providers[i].name).second) continue;
    faults.Add(
        kDuplicateParameter, absl::StrCat("providers[", i, "].name"),
        absl::StrCat("must be unique in the report, but ", providers[i].name, " is there twice"));
  }
}

}  // namespace

absl::Status CheckForm(const ApplyReport& report) {
  Faults faults;
  AtMostField(faults, "providers", report.providers.size(), kProvidersMax);
  AtMostField(faults, "removed", report.removed.size(), kProvidersMax);
  BERTH_RETURN_IF_ERROR(faults.status());
  faults.Length("host", report.host, 1, kTextMax);
  faults.Length("node_name", report.node_name, 1, kProviderNameMax);
  faults.Line("host", report.host);
  faults.Line("node_name", report.node_name);
  AtMostBytes(faults, "digest", report.digest, kTextMax);
  faults.Length("facts.storage_id", report.sums.storage_id, 0, kTextMax);
  // The next report has the next number.
  constexpr int64_t kSequenceMax = std::numeric_limits<int64_t>::max() - 1;
  if (report.sequence < 1 || report.sequence > kSequenceMax) {
    faults.Add(kInvalidField, "sequence", absl::StrCat("must be 1 to ", kSequenceMax));
  }
  if (report.facts) AtMostBytes(faults, "facts", *report.facts, kFactsBytesMax);
  AtMostBytes(faults, "account", report.account, kAccountBytesMax);
  if (report.complete && (report.providers.empty() || report.providers.front().id != report.node)) {
    faults.Add(kInvalidField, "providers", "must begin with the node's root");
  }
  Ids before;
  for (size_t i = 0; i < report.providers.size(); ++i) {
    ProviderFields(faults, i, report, before);
    before.insert(report.providers[i].id);
  }
  NamesOnce(faults, report.providers);
  RemovedFields(faults, report, before);
  HoldingFields(faults, report.holdings);
  return faults.status();
}
// Refuses, in this order: a malformed report; SERVICE_NOT_REGISTERED; TRACKER_FENCED; POLICY_DENIED
// for a node that the tracker may not take over (CheckOwner); REPORT_GAP; PARENT_NOT_FOUND;
// POLICY_DENIED for providers that do not belong to the node; DUPLICATE_PROVIDER;
// PROVIDER_GENERATION_CONFLICT, which names every provider that differs; PROVIDER_LOOP; then,
// provider by provider, INVALID_INVENTORY, RESOURCE_CLASS_NOT_FOUND, INVALID_FIELD for too many
// inventories, INVENTORY_IN_USE, and INVALID_FIELD for too many traits or new names; then
// DAILY_LIMIT_REACHED. With holdings, POLICY_DENIED is also for consumers and providers that are not
// on the node, and INVENTORY_IN_USE comes among the refusals of a Reshape, which begin with
// CONSUMER_GENERATION_CONFLICT and come last.
// An identified tracker is told nothing of other nodes, so it gets POLICY_DENIED for a parent that
// does not exist, and CONSUMER_GENERATION_CONFLICT, before DUPLICATE_PROVIDER, for a consumer that
// holds nothing on the node. A process numbers its reports of a node.
// REPORT_GAP: a delta does not directly follow the last report, or a report has the last number but
// other content. The last report again, or an earlier number, succeeds without effect (T-398).
absl::StatusOr<Outcome> Decide(const State& state, const ApplyReport& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  return ReportPlan(state, command).Decide(context);
}

}  // namespace berth::placement
