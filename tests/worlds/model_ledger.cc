#include "tests/worlds/model_ledger.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "placement/ground/check.h"

namespace berth::placement {
namespace {

bool Upper(const std::string& name) {
  return !name.empty() && name.size() <= 255 &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
}
bool Custom(const std::string& name) {
  return Upper(name) && name.rfind("CUSTOM_", 0) == 0 && name != "CUSTOM_";
}
bool Standard(const std::string& name) { return name.rfind("CUSTOM_", 0) != 0; }

bool InRange(int64_t value, int64_t min) { return value >= min && value <= 2147483647; }

}  // namespace

std::string FormOf(const std::vector<NamedInventory>& inventories) {
  std::set<std::string> names;
  for (const auto& [name, row] : inventories) {
    if (!Upper(name) || !InRange(row.total, 1) || !InRange(row.reserved, 0) ||
        !InRange(row.min_unit, 1) || !InRange(row.max_unit, 1) || !InRange(row.step_size, 1)) {
      return "INVALID_FIELD";
    }
    names.insert(name);
  }
  return names.size() == inventories.size() ? "" : "DUPLICATE_PARAMETER";
}

bool Sound(const Inventory& row) {
  return row.reserved <= row.total && std::isfinite(row.allocation_ratio) &&
         row.allocation_ratio > 0;
}

double RoomOf(const Inventory& row) {
  return std::trunc(static_cast<double>(row.total - row.reserved) * row.allocation_ratio);
}

std::string ModelLedger::Do(const CommandBody& body, Generation fresh) {
  return std::visit(
      [&](const auto& command) -> std::string {
        if constexpr (requires { Settle(command, fresh); }) {
          return Settle(command, fresh);
        } else {
          BERTH_CHECK(false);
        }
      },
      body);
}

std::string ModelLedger::Addressed(ProviderId id, std::optional<Generation> expected) const {
  const auto found = providers.find(id);
  if (found == providers.end()) return "PROVIDER_NOT_FOUND";
  if (expected && *expected != found->second.generation) return "PROVIDER_GENERATION_CONFLICT";
  return "";
}

bool ModelLedger::NameTaken(const std::string& name, ProviderId by_other_than) const {
  return std::any_of(providers.begin(), providers.end(), [&](const auto& entry) {
    return entry.first != by_other_than && entry.second.name == name;
  });
}

bool ModelLedger::IsBelowOrSelf(ProviderId id, ProviderId top) const {
  std::optional<ProviderId> at = id;
  while (at && *at != top) at = providers.at(*at).parent;
  return at.has_value();
}

ProviderId ModelLedger::RootOf(ProviderId id) const {
  while (providers.at(id).parent) id = *providers.at(id).parent;
  return id;
}

Amount ModelLedger::Used(ProviderId provider, const std::string& resource_class) const {
  Amount used = 0;
  for (const auto& [id, consumer] : consumers) {
    for (const auto& [key, amount] : consumer.rows) {
      if (key.first == provider && key.second == resource_class) used += amount;
    }
  }
  return used;
}

std::string ModelLedger::Settle(const CreateProvider& command, Generation fresh) {
  if (command.name.empty() || command.name.size() > 200) return "INVALID_FIELD";
  if (command.parent == command.id) return "SELF_PARENT";
  if (command.parent && !providers.contains(*command.parent)) return "PARENT_NOT_FOUND";
  if (providers.contains(*command.id) || NameTaken(command.name, *command.id)) {
    return "DUPLICATE_PROVIDER";
  }
  providers[*command.id] = {command.name, command.parent, {}, {}, {}, fresh, fresh};
  return "OK";
}

std::string ModelLedger::Settle(const UpdateProvider& command, Generation) {
  if (command.name && (command.name->empty() || command.name->size() > 200)) return "INVALID_FIELD";
  std::string reason = Addressed(command.id, command.expected_generation);
  if (!reason.empty()) return reason;
  Provider& provider = providers[command.id];
  if (command.parent && *command.parent) {
    if (!providers.contains(**command.parent)) return "PARENT_NOT_FOUND";
    if (IsBelowOrSelf(**command.parent, command.id)) return "PROVIDER_LOOP";
  }
  if (command.name && NameTaken(*command.name, command.id)) return "DUPLICATE_PROVIDER";
  if (command.name) provider.name = *command.name;
  if (command.parent && *command.parent != provider.parent) {
    provider.parent = *command.parent;
    ++provider.generation.value;
  }
  return "OK";
}

std::string ModelLedger::Settle(const DeleteProvider& command, Generation) {
  const std::string reason = Addressed(command.id, std::nullopt);
  if (!reason.empty()) return reason;
  for (const auto& [id, provider] : providers) {
    if (provider.parent == command.id) return "PROVIDER_HAS_CHILDREN";
  }
  for (const auto& [name, row] : providers[command.id].inventories) {
    if (Used(command.id, name) > 0) return "PROVIDER_IN_USE";
  }
  providers.erase(command.id);
  return "OK";
}

std::string ModelLedger::Settle(const SetInventories& command, Generation) {
  if (!command.expected_generation) return "GENERATION_REQUIRED";
  std::string reason = FormOf(command.inventories);
  if (reason.empty()) reason = Addressed(command.provider, command.expected_generation);
  if (!reason.empty()) return reason;
  std::map<std::string, Inventory> rows;
  for (const auto& [name, row] : command.inventories) {
    if (!Sound(row)) return "INVALID_INVENTORY";
    rows[name] = row;
  }
  for (const auto& [name, row] : rows) {
    if (!classes.contains(name)) return "RESOURCE_CLASS_NOT_FOUND";
  }
  Provider& provider = providers[command.provider];
  for (const auto& [name, row] : provider.inventories) {
    if (!rows.contains(name) && Used(command.provider, name) > 0) return "INVENTORY_IN_USE";
  }
  provider.inventories = rows;
  ++provider.generation.value;
  return "OK";
}

std::string ModelLedger::Settle(const CreateInventory& command, Generation) {
  std::string reason = FormOf({command.inventory});
  if (reason.empty()) reason = Addressed(command.provider, command.expected_generation);
  if (!reason.empty()) return reason;
  if (!Sound(command.inventory.inventory)) return "INVALID_INVENTORY";
  const std::string& name = command.inventory.resource_class;
  if (!classes.contains(name)) return "RESOURCE_CLASS_NOT_FOUND";
  Provider& provider = providers[command.provider];
  if (provider.inventories.contains(name)) return "INVENTORY_EXISTS";
  provider.inventories[name] = command.inventory.inventory;
  ++provider.generation.value;
  return "OK";
}

std::string ModelLedger::Settle(const UpdateInventory& command, Generation) {
  if (!command.expected_generation) return "GENERATION_REQUIRED";
  std::string reason = FormOf({command.inventory});
  if (reason.empty()) reason = Addressed(command.provider, command.expected_generation);
  if (!reason.empty()) return reason;
  if (!Sound(command.inventory.inventory)) return "INVALID_INVENTORY";
  Provider& provider = providers[command.provider];
  const auto found = provider.inventories.find(command.inventory.resource_class);
  if (found == provider.inventories.end()) return "INVENTORY_NOT_FOUND";
  found->second = command.inventory.inventory;
  ++provider.generation.value;
  return "OK";
}

std::string ModelLedger::Settle(const DeleteInventory& command, Generation) {
  if (command.resource_class && !Upper(*command.resource_class)) return "INVALID_FIELD";
  const std::string reason = Addressed(command.provider, command.expected_generation);
  if (!reason.empty()) return reason;
  Provider& provider = providers[command.provider];
  if (command.resource_class && !provider.inventories.contains(*command.resource_class)) {
    return "INVENTORY_NOT_FOUND";
  }
  for (const auto& [name, row] : provider.inventories) {
    if (command.resource_class && name != *command.resource_class) continue;
    if (Used(command.provider, name) > 0) return "INVENTORY_IN_USE";
  }
  if (command.resource_class) {
    provider.inventories.erase(*command.resource_class);
  } else {
    provider.inventories.clear();
  }
  ++provider.generation.value;
  return "OK";
}

std::string ModelLedger::Settle(const SetProviderTraits& command, Generation) {
  if (!command.expected_generation) return "GENERATION_REQUIRED";
  if (!std::all_of(command.traits.begin(), command.traits.end(), Upper)) return "INVALID_FIELD";
  const std::string reason = Addressed(command.provider, command.expected_generation);
  if (!reason.empty()) return reason;
  for (const std::string& name : command.traits) {
    if (!traits.contains(name)) return "TRAIT_NOT_FOUND";
  }
  Provider& provider = providers[command.provider];
  const std::set<std::string> wanted(command.traits.begin(), command.traits.end());
  if (wanted != provider.traits) ++provider.generation.value;
  provider.traits = wanted;
  return "OK";
}

std::string ModelLedger::Settle(const ClearProviderTraits& command, Generation) {
  const std::string reason = Addressed(command.provider, command.expected_generation);
  if (!reason.empty()) return reason;
  Provider& provider = providers[command.provider];
  if (!provider.traits.empty()) ++provider.generation.value;
  provider.traits.clear();
  return "OK";
}

std::string ModelLedger::Settle(const SetProviderAggregates& command, Generation) {
  if (!command.expected_generation) return "GENERATION_REQUIRED";
  const std::set<AggregateId> wanted(command.aggregates.begin(), command.aggregates.end());
  if (wanted.size() != command.aggregates.size()) return "DUPLICATE_PARAMETER";
  const std::string reason = Addressed(command.provider, command.expected_generation);
  if (!reason.empty()) return reason;
  providers[command.provider].aggregates = wanted;
  ++providers[command.provider].generation.value;
  return "OK";
}

std::string ModelLedger::Settle(const CreateClass& command, Generation) {
  if (!Custom(command.name)) return "INVALID_NAME";
  if (!classes.insert(command.name).second && !command.if_absent) return "RESOURCE_CLASS_EXISTS";
  return "OK";
}

std::string ModelLedger::Settle(const DeleteClass& command, Generation) {
  if (!Upper(command.name)) return "INVALID_FIELD";
  if (!classes.contains(command.name)) return "RESOURCE_CLASS_NOT_FOUND";
  if (Standard(command.name)) return "STANDARD_IMMUTABLE";
  for (const auto& [id, provider] : providers) {
    if (provider.inventories.contains(command.name)) return "RESOURCE_CLASS_IN_USE";
  }
  classes.erase(command.name);
  return "OK";
}

std::string ModelLedger::Settle(const EnsureTrait& command, Generation) {
  if (!Custom(command.name)) return "INVALID_NAME";
  traits.insert(command.name);
  return "OK";
}

std::string ModelLedger::Settle(const DeleteTrait& command, Generation) {
  if (!Upper(command.name)) return "INVALID_FIELD";
  if (!traits.contains(command.name)) return "TRAIT_NOT_FOUND";
  if (Standard(command.name)) return "STANDARD_IMMUTABLE";
  for (const auto& [id, provider] : providers) {
    if (provider.traits.contains(command.name)) return "TRAIT_IN_USE";
  }
  traits.erase(command.name);
  return "OK";
}

std::string ModelLedger::Settle(const EnsureStandardNames& command, Generation) {
  for (const std::string& name : command.classes) classes.insert(name);
  for (const std::string& name : command.traits) traits.insert(name);
  return "OK";
}

}  // namespace berth::placement
