#include "placement/commands/report_limits.h"

#include <algorithm>

#include "placement/commands/fleet_node.h"
#include "placement/commands/node_providers.h"

namespace berth::placement {
namespace {

const NamedInventory* FindNamed(const std::vector<NamedInventory>& inventories,
                                absl::string_view resource_class) {
  for (const NamedInventory& named : inventories) {
    if (named.resource_class == resource_class) return &named;
  }
  return nullptr;
}

}  // namespace

bool HasWithheld(const State& state, const TrackerLimits* limits, const ProviderConfig& provider) {
  if (limits == nullptr || limits->withheld == nullptr) return false;
  const WithheldNames& withheld = *limits->withheld;
  const auto has_trait = [&](const std::string& name) {
    const std::optional<TraitId> id = state.catalog().traits.Find(name);
    return id && provider.HasTrait(*id);
  };
  const auto has_row = [&](const std::string& name) {
    const std::optional<ClassId> id = state.catalog().classes.Find(name);
    return id && provider.FindInventory(*id) >= 0;
  };
  return std::any_of(withheld.traits.begin(), withheld.traits.end(), has_trait) ||
         std::any_of(withheld.resource_classes.begin(), withheld.resource_classes.end(), has_row);
}

bool HasWithheld(const State& state, const TrackerLimits* limits, ProviderId node) {
  bool has = false;
  NodeProviders(state, node).ForEach([&](const ProviderPlace& place) {
    has = has || HasWithheld(state, limits, place.config());
  });
  return has;
}

bool ReportLimits::Withholds(absl::string_view resource_class) const {
  const WithheldNames* const withheld = report_.limits->withheld.get();
  return withheld != nullptr && withheld->resource_classes.contains(resource_class);
}

std::vector<NamedInventory> ReportLimits::InventoriesOf(const ReportedProvider& provider,
                                                        const std::optional<ProviderPlace>& place) {
  std::vector<NamedInventory> inventories;
  KeepWithheld(provider, place, &inventories);
  const size_t kept = inventories.size();
  for (const NamedInventory& asked : provider.inventories) {
    const std::string& name = asked.resource_class;
    if (!Withholds(name)) {
      if (std::optional<NamedInventory> cut = Cut(provider, place, asked)) {
        inventories.push_back(*std::move(cut));
      }
      continue;
    }
    const bool stands =
        std::any_of(inventories.begin(), inventories.begin() + static_cast<int64_t>(kept),
                    [&name](const NamedInventory& row) { return row.resource_class == name; });
    if (!stands) limited_.push_back({provider.id, "", name, true, asked.inventory.total, 0});
  }
  return inventories;
}

void ReportLimits::KeepWithheld(const ReportedProvider& provider,
                                const std::optional<ProviderPlace>& place,
                                std::vector<NamedInventory>* kept) {
  if (!place || report_.limits->withheld == nullptr) return;
  for (const InventoryRow& row : place->config().inventories) {
    const std::string& name = state_.catalog().classes.NameOf(row.resource_class);
    if (!Withholds(name)) continue;
    kept->push_back({name, row.inventory});
    const NamedInventory* const asked = FindNamed(provider.inventories, name);
    if (asked != nullptr && asked->inventory == row.inventory) continue;
    const Amount total = asked == nullptr ? 0 : asked->inventory.total;
    limited_.push_back({provider.id, "", name, true, total, row.inventory.total});
  }
}

std::optional<NamedInventory> ReportLimits::Cut(const ReportedProvider& provider,
                                                const std::optional<ProviderPlace>& place,
                                                const NamedInventory& asked) {
  Ceiling* const ceiling = CeilingOf(asked.resource_class);
  if (ceiling == nullptr) return asked;
  NamedInventory cut = asked;
  Inventory& inventory = cut.inventory;
  const Amount least = IsHeld(place, asked.resource_class) ? 1 : 0;
  ceiling->left += least;  // what KeepHeld has kept for this provider
  inventory.total = std::min(inventory.total, std::max(ceiling->left, least));
  inventory.reserved = std::min(inventory.reserved, inventory.total);
  ceiling->left -= inventory.total;
  const Amount wanted = asked.inventory.total;
  if (inventory.total < wanted) {
    limited_.push_back({provider.id, "", asked.resource_class, false, wanted, inventory.total});
  }
  if (inventory.total == 0) return std::nullopt;
  return cut;
}

ReportLimits::Ceiling* ReportLimits::CeilingOf(absl::string_view resource_class) {
  if (!report_.limits->ceilings.contains(resource_class)) return nullptr;
  if (!ceilings_) CountOthers();
  const auto at = std::lower_bound(ceilings_->begin(), ceilings_->end(), resource_class,
                                   [](const Ceiling& ceiling, absl::string_view name) {
                                     return absl::string_view(ceiling.resource_class) < name;
                                   });
  return &*at;
}

void ReportLimits::CountOthers() {
  ceilings_.emplace();
  for (const auto& [name, most] : report_.limits->ceilings) ceilings_->push_back({name, most});
  std::vector<std::pair<ClassId, Ceiling*>> counted;
  for (Ceiling& ceiling : *ceilings_) {
    const std::optional<ClassId> id = state_.catalog().classes.Find(ceiling.resource_class);
    if (id) counted.emplace_back(*id, &ceiling);
  }
  if (counted.empty()) return;  // nobody has, or holds, any
  absl::flat_hash_set<ProviderId> changed = going_;
  for (const ReportedProvider& provider : report_.providers) changed.insert(provider.id);
  const auto count = [&](const ProviderPlace& place) {
    const ProviderConfig& config = place.config();
    if (changed.contains(config.id)) return;
    for (const auto& [id, ceiling] : counted) {
      const int at = config.FindInventory(id);
      if (at >= 0) ceiling->left -= config.inventories[at].inventory.total;
    }
  };
  for (const NodeRecordPtr& node : state_.NodesOf(report_.host)) {
    NodeProviders(state_, node->id).ForEach(count);
  }
  // The node becomes the host's by this report.
  const NodeRecordPtr node = FindNode(state_, report_.node);
  if (node == nullptr || node->host != report_.host) {
    NodeProviders(state_, report_.node).ForEach(count);
  }
  KeepHeld();
}

void ReportLimits::KeepHeld() {
  for (const ReportedProvider& provider : report_.providers) {
    const std::optional<ProviderPlace> place = state_.FindProvider(provider.id);
    if (!place) continue;
    for (Ceiling& ceiling : *ceilings_) {
      const bool asked = FindNamed(provider.inventories, ceiling.resource_class) != nullptr;
      if (asked && IsHeld(place, ceiling.resource_class)) --ceiling.left;
    }
  }
}

bool ReportLimits::IsHeld(const std::optional<ProviderPlace>& place,
                          absl::string_view resource_class) const {
  const std::optional<ClassId> id = state_.catalog().classes.Find(resource_class);
  const int at = place && id ? place->config().FindInventory(*id) : -1;
  return at >= 0 && place->used(at) > 0;
}

bool ReportLimits::KeepsTrait(const ReportedProvider& provider,
                              const std::optional<ProviderPlace>& place, const std::string& trait,
                              bool asked) {
  if (none()) return false;
  const WithheldNames* const withheld = report_.limits->withheld.get();
  if (withheld == nullptr || !withheld->traits.contains(trait)) return false;
  const std::optional<TraitId> id = state_.catalog().traits.Find(trait);
  const bool has = place && id && place->config().HasTrait(*id);
  if (has != asked && told_traits_.emplace(provider.id, trait).second) {
    limited_.push_back({provider.id, trait, "", false, 0, 0});
  }
  return true;
}

}  // namespace berth::placement
