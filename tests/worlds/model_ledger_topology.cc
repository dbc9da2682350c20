// What the model does with topologies: it makes the providers anew and looks at them.
#include <algorithm>
#include <vector>

#include "tests/worlds/model_ledger.h"

namespace berth::placement {
namespace {

bool LongEnough(const std::string& name) { return !name.empty() && name.size() <= 200; }

template <typename T>
bool EachOnce(const std::vector<T>& values) {
  return std::set<T>(values.begin(), values.end()).size() == values.size();
}

std::string FormOf(const ProviderTopology& wanted) {
  const bool is_new = !wanted.expected_generation;
  if (is_new && !wanted.name) return "INVALID_FIELD";
  if (wanted.name && !LongEnough(*wanted.name)) return "INVALID_FIELD";
  if (!is_new && wanted.inventories && !wanted.expected_allocation_generation) {
    return "GENERATION_REQUIRED";
  }
  const std::string reason = wanted.inventories ? FormOf(*wanted.inventories) : "";
  if (!reason.empty()) return reason;
  return wanted.aggregates && !EachOnce(*wanted.aggregates) ? "DUPLICATE_PARAMETER" : "";
}

std::string FormOf(const ApplyTopology& command) {
  std::vector<ProviderId> ids;
  std::string reason;
  for (const ProviderTopology& wanted : command.providers) {
    if (reason.empty()) reason = FormOf(wanted);
    ids.push_back(wanted.provider);
  }
  for (const ProviderRemoval& removal : command.removed) ids.push_back(removal.provider);
  if (reason.empty() && !EachOnce(ids)) reason = "DUPLICATE_PARAMETER";
  if (reason.empty()) reason = FormOf(command.consumers);
  for (const ProviderTopology& wanted : command.providers) {
    if (!reason.empty() || !wanted.inventories) continue;
    for (const auto& [name, row] : *wanted.inventories) {
      if (!Sound(row)) reason = "INVALID_INVENTORY";
    }
  }
  return reason;
}

}  // namespace

std::map<ProviderId, ModelLedger::Provider> ModelLedger::After(const ApplyTopology& command,
                                                               Generation fresh) const {
  std::map<ProviderId, Provider> after = providers;
  for (const ProviderTopology& wanted : command.providers) {
    const bool is_new = !providers.contains(wanted.provider);
    Provider& provider = after[wanted.provider];
    if (is_new) provider.generation = provider.allocation_generation = fresh;
    const Provider before = provider;
    if (wanted.name) provider.name = *wanted.name;
    if (wanted.parent) provider.parent = *wanted.parent;
    if (wanted.traits) provider.traits = {wanted.traits->begin(), wanted.traits->end()};
    if (wanted.aggregates) {
      provider.aggregates = {wanted.aggregates->begin(), wanted.aggregates->end()};
    }
    if (wanted.inventories) {
      provider.inventories = {};
      for (const auto& [name, row] : *wanted.inventories) provider.inventories[name] = row;
    }
    const bool moves = wanted.inventories || wanted.aggregates ||
                       provider.parent != before.parent || provider.traits != before.traits;
    if (!is_new && moves) ++provider.generation.value;
  }
  for (const ProviderRemoval& removal : command.removed) after.erase(removal.provider);
  return after;
}

std::string ModelLedger::NewRefusal(const ApplyTopology& command) const {
  std::set<ProviderId> known;
  for (const auto& [id, provider] : providers) known.insert(id);
  for (const ProviderTopology& wanted : command.providers) known.insert(wanted.provider);
  const auto after = After(command, {});
  std::string reason;
  const auto worst = [&reason](const char* what, const std::string& order) {
    if (reason.empty() || order.find(what) < order.find(reason)) reason = what;
  };
  const std::string order = "SELF_PARENT PARENT_NOT_FOUND DUPLICATE_PROVIDER";
  for (const ProviderTopology& wanted : command.providers) {
    if (wanted.expected_generation) continue;
    const bool below = wanted.parent && *wanted.parent;
    if (below && **wanted.parent == wanted.provider) worst("SELF_PARENT", order);
    if (below && !known.contains(**wanted.parent)) worst("PARENT_NOT_FOUND", order);
    if (providers.contains(wanted.provider)) worst("DUPLICATE_PROVIDER", order);
    for (const auto& [id, provider] : after) {
      if (id != wanted.provider && provider.name == *wanted.name)
        worst("DUPLICATE_PROVIDER", order);
    }
  }
  return reason;
}

std::string ModelLedger::PresentRefusal(const ApplyTopology& command) const {
  const auto after = After(command, {});
  bool absent = false, stale = false, no_parent = false, loop = false, taken = false;
  for (const ProviderTopology& wanted : command.providers) {
    if (!wanted.expected_generation) continue;
    const auto now_is = providers.find(wanted.provider);
    absent |= now_is == providers.end();
    if (now_is == providers.end()) continue;
    stale |= now_is->second.generation != *wanted.expected_generation ||
             (wanted.expected_allocation_generation &&
              *wanted.expected_allocation_generation != now_is->second.allocation_generation);
    no_parent |= wanted.parent && *wanted.parent && !after.contains(**wanted.parent) &&
                 !providers.contains(**wanted.parent);
    for (const auto& [id, provider] : after) {
      taken |= wanted.name && id != wanted.provider && provider.name == *wanted.name;
    }
  }
  if (absent) return "PROVIDER_NOT_FOUND";
  if (stale) return "PROVIDER_GENERATION_CONFLICT";
  if (no_parent) return "PARENT_NOT_FOUND";
  for (const auto& [id, provider] : after) {
    std::optional<ProviderId> at = provider.parent;
    for (size_t step = 0; at && step <= after.size(); ++step) {
      loop |= step == after.size();
      const auto up = after.find(*at);
      at = up == after.end() ? std::nullopt : up->second.parent;
    }
  }
  if (loop) return "PROVIDER_LOOP";
  return taken ? "DUPLICATE_PROVIDER" : "";
}

std::string ModelLedger::RemovalRefusal(const ApplyTopology& command) const {
  const auto after = After(command, {});
  bool absent = false, stale = false, children = false, in_use = false;
  for (const ProviderRemoval& removal : command.removed) {
    const std::string reason = Addressed(removal.provider, removal.expected_generation);
    absent |= reason == "PROVIDER_NOT_FOUND";
    stale |= reason == "PROVIDER_GENERATION_CONFLICT";
    for (const auto& [id, provider] : after) children |= provider.parent == removal.provider;
    if (!providers.contains(removal.provider)) continue;
    for (const auto& [name, row] : providers.at(removal.provider).inventories) {
      in_use |= HeldByOthers(removal.provider, name, command.consumers) > 0;
    }
  }
  if (absent) return "PROVIDER_NOT_FOUND";
  if (stale) return "PROVIDER_GENERATION_CONFLICT";
  if (children) return "PROVIDER_HAS_CHILDREN";
  return in_use ? "PROVIDER_IN_USE" : "";
}

std::string ModelLedger::Settle(const ApplyTopology& command, Generation fresh) {
  std::string reason = FormOf(command);
  if (reason.empty()) reason = NewRefusal(command);
  if (reason.empty()) reason = PresentRefusal(command);
  for (const ProviderTopology& wanted : command.providers) {
    if (!wanted.traits || !reason.empty()) continue;
    for (const std::string& name : *wanted.traits) {
      if (!traits.contains(name)) reason = "TRAIT_NOT_FOUND";
    }
  }
  if (reason.empty()) reason = RemovalRefusal(command);
  if (!reason.empty()) return reason;
  ModelLedger after = *this;
  after.providers = After(command, fresh);
  reason = after.NameRefusal(command.consumers);
  if (!reason.empty()) return reason;
  bool in_use = false;
  for (const ProviderTopology& wanted : command.providers) {
    if (!wanted.inventories) continue;
    for (const auto& [name, row] : *wanted.inventories) {
      if (!classes.contains(name)) return "RESOURCE_CLASS_NOT_FOUND";
    }
    if (!providers.contains(wanted.provider)) continue;
    for (const auto& [name, row] : providers.at(wanted.provider).inventories) {
      if (after.providers.at(wanted.provider).inventories.contains(name)) continue;
      in_use |= HeldByOthers(wanted.provider, name, command.consumers) > 0;
    }
  }
  if (in_use) return "INVENTORY_IN_USE";
  return Become(std::move(after), command.consumers, command.validate_only, fresh);
}

}  // namespace berth::placement
