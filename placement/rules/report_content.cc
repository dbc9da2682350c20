// The methods of ReportPlan that look up the names of the report, and apply its limits.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/commands/daily_left.h"
#include "placement/commands/inventory_write.h"
#include "placement/commands/report_limits.h"
#include "placement/rules/report_plan.h"
#include "placement/state/lookup.h"

namespace berth::placement {
namespace {

constexpr size_t kNewNamesMax = 256;  // of one report: limited, since new names stay in the catalog

// The id of a custom name that the catalog does not have. If the name occurred earlier in the
// report, `ids` has its id. Else the name gets a new id, counted from `next`, and is added to `ids`
// and `puts`.
template <typename Id, typename Put>
Id Added(const std::string& name, uint32_t next, absl::flat_hash_map<std::string, Id>& ids,
         std::vector<Put>& puts) {
  const auto fresh = static_cast<Id>(next + static_cast<uint32_t>(puts.size()));
  const auto [at, is_new] = ids.try_emplace(name, fresh);
  if (is_new) puts.push_back({at->second, name});
  return at->second;
}

// INVALID_FIELD if a report would leave its provider `at` with more inventories than one may have: those
// of withheld classes stay beside those that the report names.
absl::Status CheckRowsLeft(size_t at, size_t count, size_t before) {
  if (count <= std::max(kInventoriesMax, before)) return absl::OkStatus();
  const std::string field = absl::StrCat("providers[", at, "].inventories");
  return Refuse(absl::StatusCode::kInvalidArgument, "INVALID_FIELD",
                absl::StrCat(field, " must not leave the provider with more than ", kInventoriesMax,
                             " inventories"),
                {{{"field", field}}});
}

}  // namespace

absl::StatusOr<std::vector<InventoryRow>> ReportPlan::ResolveRows(size_t at, ReportLimits& limits,
                                                                  Content& content) const {
  const ReportedProvider& provider = report_.providers[at];
  const FaultItem metadata = {{"provider", provider.id.ToString()}};
  BERTH_RETURN_IF_ERROR(CheckInventories(provider.inventories, metadata));
  std::vector<NamedInventory> limited;
  if (!limits.none()) limited = limits.InventoriesOf(provider, places_[at]);
  std::vector<InventoryRow> rows;
  for (const NamedInventory& named : limits.none() ? provider.inventories : limited) {
    std::optional<ClassId> id = state_.catalog().classes.Find(named.resource_class);
    if (!id && IsCustomName(named.resource_class)) {
      const auto next = static_cast<uint32_t>(state_.catalog().classes.NextId());
      id = Added(named.resource_class, next, content.class_ids, content.new_classes);
    }
    if (!id) return RequireClass(state_, named.resource_class).status();
    rows.push_back(MakeRow(*id, named.inventory));
  }
  std::sort(rows.begin(), rows.end(), ByClass);
  const size_t rows_before = places_[at] ? places_[at]->config().inventories.size() : 0;
  BERTH_RETURN_IF_ERROR(CheckRowsLeft(at, rows.size(), rows_before));
  if (places_[at] && report_.holdings.empty()) {
    BERTH_RETURN_IF_ERROR(CheckNoneInUseGoes(state_, *places_[at], rows));
  }
  return rows;
}

// The traits of the provider after the report: its present traits, without the traits that the
// report lists as absent, and with those that it lists as present (T-211). A custom trait that is
// listed as present is created if it is unknown. Other unknown names are ignored (T-213). Withheld
// traits stay as they are.
std::vector<TraitId> ReportPlan::ResolveTraits(size_t at, ReportLimits& limits,
                                               Content& content) const {
  const ReportedProvider& provider = report_.providers[at];
  std::vector<TraitId> traits;
  if (places_[at]) traits = places_[at]->config().traits;
  for (const std::string& name : provider.traits_absent) {
    if (limits.KeepsTrait(provider, places_[at], name, false)) continue;
    if (const std::optional<TraitId> id = state_.catalog().traits.Find(name)) {
      traits.erase(std::remove(traits.begin(), traits.end(), *id), traits.end());
    }
  }
  for (const std::string& name : provider.traits_present) {
    if (limits.KeepsTrait(provider, places_[at], name, true)) continue;
    std::optional<TraitId> id = state_.catalog().traits.Find(name);
    if (!id && IsCustomName(name)) {
      const auto next = static_cast<uint32_t>(state_.catalog().traits.NextId());
      id = Added(name, next, content.trait_ids, content.new_traits);
    }
    if (id) {
      traits.push_back(*id);
    } else if (content.unknown.insert(name).second) {
      content.unknown_traits.push_back(name);
    }
  }
  std::sort(traits.begin(), traits.end());
  traits.erase(std::unique(traits.begin(), traits.end()), traits.end());
  if (provider.id == report_.node) FollowService(state_, service_->disabled, traits);
  return traits;
}

// A report adds to the traits that a provider has, so that many short reports could give it any
// number. A provider that has more already, from a restored backup, may keep them.
absl::Status ReportPlan::CheckTraitsLeft(size_t at, const std::vector<TraitId>& traits) const {
  const size_t before = places_[at] ? places_[at]->config().traits.size() : 0;
  if (traits.size() <= std::max(kTraitsMax, before)) return absl::OkStatus();
  const std::string field = absl::StrCat("providers[", at, "].traits_present");
  return Refuse(
      absl::StatusCode::kInvalidArgument, "INVALID_FIELD",
      absl::StrCat(field, " must not leave the provider with more than ", kTraitsMax, " traits"),
      {{{"field", field}}});
}

absl::StatusOr<ReportPlan::Content> ReportPlan::ResolveContent(const Removals& removals) const {
  Content content;
  ReportLimits limits(state_, report_, removals.ids);
  for (size_t i = 0; i < report_.providers.size(); ++i) {
    BERTH_ASSIGN_OR_RETURN(std::vector<InventoryRow> rows, ResolveRows(i, limits, content));
    content.rows.push_back(std::move(rows));
    content.traits.push_back(ResolveTraits(i, limits, content));
    BERTH_RETURN_IF_ERROR(CheckTraitsLeft(i, content.traits.back()));
    if (content.new_classes.size() + content.new_traits.size() <= kNewNamesMax) continue;
    return Refuse(absl::StatusCode::kInvalidArgument, "INVALID_FIELD",
                  absl::StrCat("providers must not name more than ", kNewNamesMax,
                               " resource classes and traits that do not exist yet"),
                  {{{"field", "providers"}}});
  }
  content.limited = limits.TakeLimited();
  const auto names = static_cast<int64_t>(content.new_classes.size() + content.new_traits.size());
  const int64_t providers = std::count(places_.begin(), places_.end(), std::nullopt);
  const DailyLeft& left = report_.left;
  BERTH_RETURN_IF_ERROR(CheckDaily({{"names", "providers", names, left.names},
                                    {"providers", "providers", providers, left.providers},
                                    {"nodes", "node_uuid", node_ == nullptr ? 1 : 0, left.nodes}}));
  return content;
}

}  // namespace berth::placement
