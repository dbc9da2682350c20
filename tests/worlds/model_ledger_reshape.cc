// What the model does with commands that change many things at once.
#include <cstdlib>
#include <utility>

#include "tests/worlds/model_ledger.h"

namespace berth::placement {
namespace {

std::string FormOf(const Reshape& command) {
  std::set<ProviderId> ids;
  std::string reason = command.providers.empty() ? "INVALID_FIELD" : "";
  for (const ReshapedProvider& provider : command.providers) {
    if (reason.empty() &&
        !(provider.expected_generation && provider.expected_allocation_generation)) {
      reason = "GENERATION_REQUIRED";
    }
    if (reason.empty()) reason = FormOf(provider.inventories);
    ids.insert(provider.provider);
  }
  if (reason.empty() && ids.size() != command.providers.size()) reason = "DUPLICATE_PARAMETER";
  if (reason.empty()) reason = FormOf(command.consumers);
  for (const ReshapedProvider& provider : command.providers) {
    for (const auto& [name, row] : provider.inventories) {
      if (reason.empty() && !Sound(row)) reason = "INVALID_INVENTORY";
    }
  }
  return reason;
}

std::string FormOf(const AdjustAllocations& command) {
  std::set<ProviderId> ids;
  for (const ProviderAmounts& adjustment : command.adjustments) {
    std::set<std::string> names;
    for (const NamedAmount& amount : adjustment.amounts) {
      names.insert(amount.resource_class);
      if (amount.amount == 0 || std::abs(amount.amount) > 2147483647) return "INVALID_FIELD";
    }
    if (adjustment.amounts.empty()) return "INVALID_FIELD";
    if (names.size() != adjustment.amounts.size()) return "DUPLICATE_PARAMETER";
    ids.insert(adjustment.provider);
  }
  if (command.adjustments.empty()) return "INVALID_FIELD";
  return ids.size() == command.adjustments.size() ? "" : "DUPLICATE_PARAMETER";
}

}  // namespace

// Puts the inventories into a copy and asks there what the rows meet.
std::string ModelLedger::Settle(const Reshape& command, Generation fresh) {
  std::string reason = FormOf(command);
  for (const ReshapedProvider& wanted : command.providers) {
    if (reason.empty() && !providers.contains(wanted.provider)) reason = "PROVIDER_NOT_FOUND";
  }
  if (!reason.empty()) return reason;
  for (const ReshapedProvider& wanted : command.providers) {
    const Provider& provider = providers.at(wanted.provider);
    if (provider.generation != *wanted.expected_generation ||
        provider.allocation_generation != *wanted.expected_allocation_generation) {
      return "PROVIDER_GENERATION_CONFLICT";
    }
  }
  reason = NameRefusal(command.consumers);
  if (!reason.empty()) return reason;
  ModelLedger after = *this;
  bool in_use = false;
  for (const ReshapedProvider& wanted : command.providers) {
    Provider& provider = after.providers.at(wanted.provider);
    provider.inventories.clear();
    ++provider.generation.value;
    for (const auto& [name, row] : wanted.inventories) {
      if (!classes.contains(name)) return "RESOURCE_CLASS_NOT_FOUND";
      provider.inventories[name] = row;
    }
    for (const auto& [name, row] : providers.at(wanted.provider).inventories) {
      if (provider.inventories.contains(name)) continue;
      in_use |= HeldByOthers(wanted.provider, name, command.consumers) > 0;
    }
  }
  if (in_use) return "INVENTORY_IN_USE";
  return Become(std::move(after), command.consumers, command.validate_only, fresh);
}

std::string ModelLedger::Become(ModelLedger after, const std::vector<ConsumerAllocations>& wanted,
                                bool validate_only, Generation fresh) {
  std::string reason = after.RowRefusal(wanted);
  if (!reason.empty()) return reason;
  if (validate_only) return "OK";
  after.Replace(wanted, fresh);
  *this = std::move(after);
  return "OK";
}

std::string ModelLedger::Settle(const AdjustAllocations& command, Generation) {
  const std::string form = FormOf(command);
  if (!form.empty()) return form;
  if (!consumers.contains(command.consumer)) return "CONSUMER_NOT_FOUND";
  Consumer wanted = consumers.at(command.consumer);
  if (command.expected_generation && *command.expected_generation != wanted.generation) {
    return "CONSUMER_GENERATION_CONFLICT";
  }
  bool no_provider = false, no_class = false, negative = false, no_inventory = false;
  bool bad_unit = false, no_room = false;
  for (const ProviderAmounts& adjustment : command.adjustments) {
    const auto provider = providers.find(adjustment.provider);
    no_provider |= provider == providers.end();
    for (const auto& [name, change] : adjustment.amounts) {
      no_class |= !classes.contains(name);
      const Amount amount = wanted.rows[{adjustment.provider, name}] += change;
      negative |= amount < 0;
      if (amount == 0) wanted.rows.erase({adjustment.provider, name});
      if (amount <= 0 || provider == providers.end()) continue;
      const auto row = provider->second.inventories.find(name);
      no_inventory |= row == provider->second.inventories.end();
      if (row == provider->second.inventories.end()) continue;
      const Inventory& inventory = row->second;
      bad_unit |= amount < inventory.min_unit || amount > inventory.max_unit ||
                  amount % inventory.step_size != 0;
      const Amount used = Used(adjustment.provider, name) + change;
      no_room |= change > 0 && static_cast<double>(used) > RoomOf(inventory);
    }
  }
  if (no_provider) return "PROVIDER_NOT_FOUND";
  if (no_class) return "RESOURCE_CLASS_NOT_FOUND";
  if (negative) return "NEGATIVE_ALLOCATION";
  std::set<ProviderId> held;
  for (const auto& [key, amount] : wanted.rows) held.insert(key.first);
  if (held.size() > 256) return "INVALID_FIELD";
  if (no_inventory) return "NO_INVENTORY";
  if (bad_unit) return "UNIT_CONSTRAINT_VIOLATED";
  if (no_room) return "CAPACITY_EXCEEDED";
  for (const ProviderAmounts& adjustment : command.adjustments) {
    ++providers.at(adjustment.provider).allocation_generation.value;
  }
  ++wanted.generation.value;
  consumers[command.consumer] = wanted;
  if (wanted.rows.empty()) consumers.erase(command.consumer);
  return "OK";
}

std::string ModelLedger::Settle(const ReleaseConsumers& command, Generation) {
  std::set<ConsumerId> ids;
  for (const DeleteAllocations& release : command.consumers) ids.insert(release.consumer);
  if (command.consumers.empty()) return "INVALID_FIELD";
  if (ids.size() != command.consumers.size()) return "DUPLICATE_PARAMETER";
  std::set<ProviderId> touched;
  for (const DeleteAllocations& release : command.consumers) {
    const auto found = consumers.find(release.consumer);
    if (found == consumers.end()) continue;
    if (release.expected_generation && *release.expected_generation != found->second.generation) {
      return "CONSUMER_GENERATION_CONFLICT";
    }
    for (const auto& [key, amount] : found->second.rows) touched.insert(key.first);
  }
  for (const ConsumerId id : ids) consumers.erase(id);
  for (const ProviderId id : touched) ++providers.at(id).allocation_generation.value;
  return "OK";
}

std::string ModelLedger::Settle(const SetLease& command, Generation) {
  if (command.lease && (*command.lease < absl::Seconds(1) || *command.lease > absl::Hours(24))) {
    return "INVALID_FIELD";
  }
  const auto found = consumers.find(command.consumer);
  if (found == consumers.end()) return "CONSUMER_NOT_FOUND";
  if (command.expected_generation && *command.expected_generation != found->second.generation) {
    return "CONSUMER_GENERATION_CONFLICT";
  }
  ++found->second.generation.value;
  found->second.lease_end.reset();
  if (command.lease) found->second.lease_end = now + *command.lease;
  return "OK";
}

std::string ModelLedger::Settle(const ExpireLeases&, Generation fresh) {
  ReleaseConsumers release;
  for (const auto& [id, consumer] : consumers) {
    if (consumer.lease_end && *consumer.lease_end <= now) release.consumers.push_back({id, {}});
  }
  return release.consumers.empty() ? "OK" : Settle(release, fresh);
}

}  // namespace berth::placement
