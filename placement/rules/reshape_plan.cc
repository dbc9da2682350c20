#include "placement/rules/reshape_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/commands/inventory_write.h"
#include "placement/state/lookup.h"

namespace berth::placement {

std::vector<InventoryRow> KnownRows(const State& state, const std::string& field,
                                    const std::vector<NamedInventory>& inventories,
                                    std::vector<FaultItem>* unknown) {
  std::vector<InventoryRow> rows;
  rows.reserve(inventories.size());
  for (const NamedInventory& named : inventories) {
    if (const std::optional<ClassId> id = state.catalog().classes.Find(named.resource_class)) {
      rows.push_back(MakeRow(*id, named.inventory));
    } else {
      unknown->push_back({{"resource_class", named.resource_class}, {"field", field}});
    }
  }
  std::sort(rows.begin(), rows.end(), ByClass);
  return rows;
}

void CompareGenerations(const ProviderPlace& place, const std::string& field,
                        std::optional<Generation> expected,
                        std::optional<Generation> expected_allocation_generation,
                        std::vector<FaultItem>& items, std::string& message) {
  const auto compare = [&](const char* name, std::optional<Generation> wanted, Generation actual) {
    if (!wanted || *wanted == actual) return;
    if (items.empty()) {
      message = absl::StrCat(Describe(place.config()), " is at ", name, " ", actual.value,
                             ", but the request expected ", wanted->value,
                             ": read the provider again and decide again");
    }
    items.push_back({{"provider", place.config().id.ToString()},
                     {"field", absl::StrCat(field, ".expected_", name)},
                     {"expected_generation", absl::StrCat(wanted->value)},
                     {"actual_generation", absl::StrCat(actual.value)}});
  };
  compare("generation", expected, place.config().generation);
  compare("allocation_generation", expected_allocation_generation, place.allocation_generation());
}

ReshapePlan::ReshapePlan(const State& state, std::vector<ReshapedConfig> configs,
                         const std::vector<ConsumerAllocations>& consumers, bool keeps_leases)
    : state_(state), configs_(std::move(configs)) {
  for (const ReshapedConfig& config : configs_) finals_.emplace(config.id, config.after);
  std::vector<Holder> holders;
  holders.reserve(consumers.size());
  for (const ConsumerAllocations& consumer : consumers) {
    const ConsumerPtr before = state.FindConsumer(consumer.consumer);
    if (before) {
      for (const Allocation& row : before->allocations) {
        released_[{row.provider, row.resource_class}] += row.amount;
      }
    }
    holders.push_back({consumer.consumer, before, &consumer, keeps_leases});
  }
  claims_.emplace(state_, std::move(holders), &finals_);
}

// How much of inventory `row` is held by consumers that the command does not list.
Amount ReshapePlan::Remaining(const ReshapedConfig& config, int row) const {
  const ClassId resource_class = config.before->config().inventories[row].resource_class;
  const auto released = released_.find({config.id, resource_class});
  return config.before->used(row) - (released == released_.end() ? 0 : released->second);
}

absl::Status ReshapePlan::CheckRemovals() const {
  std::vector<FaultItem> items;
  std::string message;
  for (const ReshapedConfig& config : configs_) {
    if (config.after != nullptr) continue;
    const int rows = static_cast<int>(config.before->config().inventories.size());
    Amount remaining = 0;
    for (int row = 0; row < rows; ++row) remaining += Remaining(config, row);
    if (remaining == 0) continue;
    if (items.empty()) {
      message = absl::StrCat(
          Describe(config.before->config()),
          " cannot be deleted: it has allocations of consumers that the request does not list");
    }
    items.push_back({{"provider", config.id.ToString()}});
  }
  return RefuseAll(absl::StatusCode::kFailedPrecondition, "PROVIDER_IN_USE", std::move(message),
                   items);
}

absl::Status ReshapePlan::CheckNoneInUseGoes() const {
  std::vector<FaultItem> items;
  std::string message;
  for (const ReshapedConfig& config : configs_) {
    if (!config.before || config.after == nullptr) continue;
    const std::vector<InventoryRow>& rows = config.before->config().inventories;
    for (int row = 0; row < static_cast<int>(rows.size()); ++row) {
      if (config.after->FindInventory(rows[row].resource_class) >= 0) continue;
      const Amount remaining = Remaining(config, row);
      if (remaining == 0) continue;
      const std::string& name = state_.catalog().classes.NameOf(rows[row].resource_class);
      if (items.empty()) {
        message = absl::StrCat(
            Describe(config.before->config()), " has allocations of ", name,
            " of consumers that the request does not list: the inventory cannot be deleted");
      }
      items.push_back({{"provider", config.id.ToString()},
                       {"resource_class", name},
                       {"used", absl::StrCat(remaining)}});
    }
  }
  return RefuseAll(absl::StatusCode::kFailedPrecondition, "INVENTORY_IN_USE", std::move(message),
                   items);
}

absl::Status ReshapePlan::CheckConsumers(std::vector<FaultItem> unknown_classes,
                                         bool keep_unchanged) {
  BERTH_RETURN_IF_ERROR(claims_->CheckConsumers());
  BERTH_RETURN_IF_ERROR(claims_->FindProviders());
  BERTH_RETURN_IF_ERROR(claims_->FindClasses(std::move(unknown_classes)));
  BERTH_RETURN_IF_ERROR(CheckNoneInUseGoes());
  BERTH_RETURN_IF_ERROR(claims_->FindInventories());
  BERTH_RETURN_IF_ERROR(claims_->CheckUnits(keep_unchanged));
  return claims_->CheckRoom();
}

// Adds to the answer: the provider as it is after the command, and its inventories whose use exceeds
// their capacity (P-227). The state knows the class of such an inventory: a class that the command
// creates has no use yet, and its capacity is not negative.
void ReshapePlan::Tell(const ReshapedConfig& config, Result& result) const {
  result.providers.push_back({config.after, config.root});
  const std::vector<InventoryRow>& rows = config.after->inventories;
  for (int row = 0; row < static_cast<int>(rows.size()); ++row) {
    Amount used = 0;
    if (const std::optional<Amount> moved = claims_->UsedAfter(config.id, row)) {
      used = *moved;
    } else if (config.before) {
      const int at = config.before->config().FindInventory(rows[row].resource_class);
      if (at >= 0) used = config.before->used(at);
    }
    if (used <= rows[row].capacity) continue;
    result.over_capacity.push_back({config.id,
                                    state_.catalog().classes.NameOf(rows[row].resource_class), used,
                                    rows[row].capacity});
  }
}

std::vector<std::string> ReshapePlan::Warnings() const {
  std::vector<std::string> warnings;
  for (const ReshapedConfig& config : configs_) {
    if (config.after == nullptr) continue;
    for (const std::string& warning : UnallocatableOf(state_, config.after->inventories)) {
      warnings.push_back(absl::StrCat(Describe(*config.after), ": ", warning));
    }
  }
  return warnings;
}

Outcome ReshapePlan::MakeOutcome(const RuleContext& context, Changes names) const {
  Outcome outcome;
  outcome.changes = std::move(names);
  std::vector<const ReshapedConfig*> in_order;
  for (const ReshapedConfig& config : configs_) {
    if (config.after != nullptr) Tell(config, outcome.result);
    in_order.push_back(&config);
  }
  std::stable_sort(
      in_order.begin(), in_order.end(),
      [](const ReshapedConfig* a, const ReshapedConfig* b) { return a->order < b->order; });
  for (const ReshapedConfig* config : in_order) {
    const bool stays = config->before && &config->before->config() == config->after.get();
    if (config->after != nullptr && !stays) outcome.changes.push_back(ProviderPut{config->after});
  }
  claims_->AppendTo(outcome, context, false);
  for (const ReshapedConfig* config : in_order) {
    if (config->after == nullptr) outcome.changes.push_back(ProviderRemoved{config->id});
  }
  std::vector<ProviderId> released;
  for (const auto& [row, _] : released_) released.push_back(row.first);
  EndRetiredNodes(state_, released, outcome.changes);
  return outcome;
}

}  // namespace berth::placement
