// What the model does with allocations, and how it shows itself.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/worlds/model_ledger.h"

namespace berth::placement {

// In the order of the request; the model's inputs are short.
std::string FormOf(const std::vector<ConsumerAllocations>& consumers) {
  std::set<ConsumerId> ids;
  std::string reason;
  const auto fault = [&reason](bool is, const char* what) {
    if (is && reason.empty()) reason = what;
  };
  for (const ConsumerAllocations& consumer : consumers) {
    fault(consumer.project.empty() || consumer.user.empty() || consumer.type.empty(),
          "INVALID_FIELD");
    fault(
        consumer.lease && (*consumer.lease < absl::Seconds(1) || *consumer.lease > absl::Hours(24)),
        "INVALID_FIELD");
    std::set<ProviderId> named;
    for (const ProviderAmounts& group : consumer.allocations) {
      fault(group.amounts.empty(), "INVALID_FIELD");
      std::set<std::string> names;
      for (const NamedAmount& amount : group.amounts) {
        fault(amount.amount < 1 || amount.amount > 2147483647, "INVALID_FIELD");
        names.insert(amount.resource_class);
      }
      fault(names.size() != group.amounts.size(), "DUPLICATE_PARAMETER");
      named.insert(group.provider);
    }
    fault(named.size() != consumer.allocations.size(), "DUPLICATE_PARAMETER");
    ids.insert(consumer.consumer);
  }
  fault(ids.size() != consumers.size(), "DUPLICATE_PARAMETER");
  return reason;
}

namespace {

// Calls see(provider, class name, amount) for each new row.
template <typename See>
void EachRow(const std::vector<ConsumerAllocations>& wanted, See see) {
  for (const ConsumerAllocations& consumer : wanted) {
    for (const ProviderAmounts& group : consumer.allocations) {
      for (const NamedAmount& amount : group.amounts) {
        see(group.provider, amount.resource_class, amount.amount);
      }
    }
  }
}

}  // namespace

// Stages 6 to 8 of P-130.
std::string ModelLedger::RowRefusal(const std::vector<ConsumerAllocations>& wanted) const {
  bool no_inventory = false, bad_unit = false, no_room = false;
  std::map<std::pair<ProviderId, std::string>, Amount> asked;
  EachRow(wanted, [&](ProviderId id, const std::string& name, Amount amount) {
    if (!providers.at(id).inventories.contains(name)) {
      no_inventory = true;
      return;
    }
    const Inventory& row = providers.at(id).inventories.at(name);
    if (amount < row.min_unit || amount > row.max_unit || amount % row.step_size != 0) {
      bad_unit = true;
    }
    asked[{id, name}] += amount;
  });
  for (const auto& [key, amount] : asked) {
    const Amount before = Used(key.first, key.second);
    const Amount after = HeldByOthers(key.first, key.second, wanted) + amount;
    const Inventory& row = providers.at(key.first).inventories.at(key.second);
    if (static_cast<double>(after) > RoomOf(row) && after > before) no_room = true;
  }
  if (no_inventory) return "NO_INVENTORY";
  if (bad_unit) return "UNIT_CONSTRAINT_VIOLATED";
  return no_room ? "CAPACITY_EXCEEDED" : "";
}

Amount ModelLedger::HeldByOthers(ProviderId provider, const std::string& resource_class,
                                 const std::vector<ConsumerAllocations>& wanted) const {
  Amount held = Used(provider, resource_class);
  for (const ConsumerAllocations& consumer : wanted) {
    const auto found = consumers.find(consumer.consumer);
    if (found == consumers.end()) continue;
    const auto row = found->second.rows.find({provider, resource_class});
    if (row != found->second.rows.end()) held -= row->second;
  }
  return held;
}

// Stages 3 to 5.
std::string ModelLedger::NameRefusal(const std::vector<ConsumerAllocations>& wanted) const {
  for (const ConsumerAllocations& consumer : wanted) {
    const auto found = consumers.find(consumer.consumer);
    const bool there = found != consumers.end();
    if (there != consumer.expected_generation.has_value() ||
        (there && found->second.generation != *consumer.expected_generation)) {
      return "CONSUMER_GENERATION_CONFLICT";
    }
  }
  bool all_providers = true, all_classes = true;
  EachRow(wanted, [&](ProviderId id, const std::string& name, Amount) {
    all_providers &= providers.contains(id);
    all_classes &= classes.contains(name);
  });
  if (!all_providers) return "PROVIDER_NOT_FOUND";
  return all_classes ? "" : "RESOURCE_CLASS_NOT_FOUND";
}

void ModelLedger::Replace(const std::vector<ConsumerAllocations>& all, Generation fresh) {
  std::set<ProviderId> touched;
  for (const ConsumerAllocations& wanted : all) {
    const bool there = consumers.contains(wanted.consumer);
    Consumer& consumer = consumers[wanted.consumer];
    for (const auto& [key, amount] : consumer.rows) touched.insert(key.first);
    consumer.generation = there ? consumer.generation.Next() : fresh;
    consumer.owner = {wanted.project, wanted.user, wanted.type};
    consumer.lease_end.reset();
    if (wanted.lease) consumer.lease_end = now + *wanted.lease;
    consumer.rows.clear();
    for (const ProviderAmounts& group : wanted.allocations) {
      touched.insert(group.provider);
      for (const NamedAmount& amount : group.amounts) {
        consumer.rows[{group.provider, amount.resource_class}] = amount.amount;
      }
    }
    if (consumer.rows.empty()) consumers.erase(wanted.consumer);
  }
  for (const ProviderId id : touched) {
    const auto found = providers.find(id);
    // The same command may have removed it, or made it.
    if (found == providers.end() || found->second.allocation_generation == fresh) continue;
    ++found->second.allocation_generation.value;
  }
}

std::string ModelLedger::Settle(const SetAllocations& command, Generation fresh) {
  std::string reason = command.consumers.empty() ? "INVALID_FIELD" : FormOf(command.consumers);
  if (reason.empty()) reason = NameRefusal(command.consumers);
  if (reason.empty()) reason = RowRefusal(command.consumers);
  if (!reason.empty()) return reason;
  Replace(command.consumers, fresh);
  return "OK";
}

std::string ModelLedger::Settle(const DeleteAllocations& command, Generation) {
  const auto found = consumers.find(command.consumer);
  if (found == consumers.end()) return "CONSUMER_NOT_FOUND";
  if (command.expected_generation && *command.expected_generation != found->second.generation) {
    return "CONSUMER_GENERATION_CONFLICT";
  }
  std::set<ProviderId> touched;
  for (const auto& [key, amount] : found->second.rows) touched.insert(key.first);
  for (const ProviderId id : touched) ++providers.at(id).allocation_generation.value;
  consumers.erase(found);
  return "OK";
}

std::string ModelLedger::Text() const {
  std::vector<std::string> lines;
  for (const std::string& name : classes) lines.push_back("class " + name);
  for (const std::string& name : traits) lines.push_back("trait " + name);
  for (const auto& [id, provider] : providers) {
    std::vector<std::string> rows, aggregates;
    for (const auto& [name, row] : provider.inventories) {
      rows.push_back(absl::StrCat(name, ":", row.total, " reserved ", row.reserved, " min ",
                                  row.min_unit, " max ", row.max_unit, " step ", row.step_size,
                                  " ratio ", row.allocation_ratio, " used ", Used(id, name)));
    }
    for (const AggregateId aggregate : provider.aggregates) {
      aggregates.push_back(aggregate.ToString());
    }
    std::sort(rows.begin(), rows.end());
    lines.push_back(absl::StrCat("provider ", id.ToString(), " ", provider.name, " below ",
                                 provider.parent ? provider.parent->ToString() : "nothing", " in ",
                                 RootOf(id).ToString(), " [", absl::StrJoin(provider.traits, ","),
                                 "]{", absl::StrJoin(rows, ", "), "}(",
                                 absl::StrJoin(aggregates, ","), ")"));
  }
  for (const auto& [id, consumer] : consumers) {
    std::vector<std::string> rows;
    for (const auto& [key, amount] : consumer.rows) {
      rows.push_back(absl::StrCat(key.first.ToString(), " ", key.second, ":", amount));
    }
    std::sort(rows.begin(), rows.end());
    lines.push_back(absl::StrCat(
        "consumer ", id.ToString(), " of ", consumer.owner.project, "/", consumer.owner.user, "/",
        consumer.owner.type, " ", absl::StrJoin(rows, ", "),
        consumer.lease_end ? absl::StrCat(" until ", absl::ToUnixMicros(*consumer.lease_end))
                           : ""));
  }
  std::sort(lines.begin(), lines.end());
  return absl::StrJoin(lines, "\n");
}

}  // namespace berth::placement
