#include "tests/oracle/json_input.h"

#include <functional>
#include <utility>

#include "placement/ground/check.h"
#include "placement/values/catalog.h"

namespace berth::oracle {
namespace {

using placement::GroupPolicy;
using placement::RequestGroup;
using placement::Uuid;

Uuid UuidOfName(const std::string& name, uint64_t kind) {
  return Uuid{kind << 48, std::hash<std::string>()(name)};
}

ProviderId ParseProvider(const std::string& uuid) {
  const std::optional<ProviderId> id = ProviderId::Parse(uuid);
  BERTH_CHECK(id.has_value());
  return *id;
}

GroupPolicy PolicyOf(const Json& query) {
  if (!query.contains("group_policy") || query["group_policy"].is_null()) {
    return GroupPolicy::kUnset;
  }
  return query["group_policy"] == "isolate" ? GroupPolicy::kIsolate : GroupPolicy::kNone;
}

RequestGroup GroupOf(const std::string& suffix, const Json& from) {
  RequestGroup group;
  group.suffix = suffix;
  const auto list = [&from](const char* key) { return from.value(key, Json::array()); };
  group.resources = NamedAmountsOf(from.value("resources", Json::object()));
  for (const std::string trait : list("required")) group.required.push_back({trait});
  for (const std::vector<std::string> set : list("any_of")) group.required.push_back(set);
  for (const std::string trait : list("forbidden")) group.forbidden.push_back(trait);
  for (const Json& set : list("member_of")) group.member_of.push_back(AggregatesOf(set));
  group.forbidden_aggregates = AggregatesOf(list("not_member_of"));
  if (from.contains("in_tree") && !from["in_tree"].is_null()) {
    group.in_tree = ParseProvider(from["in_tree"]);
  }
  return group;
}

}  // namespace

ProviderId ProviderOf(const std::string& name) { return ProviderId{UuidOfName(name, 1)}; }
ConsumerId ConsumerOf(const std::string& name) { return ConsumerId{UuidOfName(name, 2)}; }

Amounts AmountsOf(const Json& classes) {
  Amounts amounts;
  for (const auto& [name, amount] : classes.items()) amounts[name] = amount;
  return amounts;
}

std::vector<placement::NamedAmount> NamedAmountsOf(const Json& classes) {
  std::vector<placement::NamedAmount> amounts;
  for (const auto& [name, amount] : classes.items()) amounts.push_back({name, amount});
  return amounts;
}

std::vector<placement::NamedInventory> InventoriesOf(const Json& classes) {
  std::vector<placement::NamedInventory> inventories;
  for (const auto& [name, from] : classes.items()) {
    Inventory inventory;
    inventory.total = from.at("total");
    inventory.reserved = from.value("reserved", inventory.reserved);
    inventory.min_unit = from.value("min_unit", inventory.min_unit);
    inventory.max_unit = from.value("max_unit", inventory.max_unit);
    inventory.step_size = from.value("step_size", inventory.step_size);
    inventory.allocation_ratio = from.value("allocation_ratio", inventory.allocation_ratio);
    inventories.push_back({name, inventory});
  }
  return inventories;
}

std::vector<AggregateId> AggregatesOf(const Json& uuids) {
  std::vector<AggregateId> aggregates;
  for (const std::string uuid : uuids) {
    const std::optional<AggregateId> id = AggregateId::Parse(uuid);
    BERTH_CHECK(id.has_value());
    aggregates.push_back(*id);
  }
  return aggregates;
}

std::set<std::string> StringsOf(const Json& list) {
  std::set<std::string> strings;
  for (const std::string text : list) strings.insert(text);
  return strings;
}

CandidateRequest RequestOf(const Json& query) {
  CandidateRequest request;
  for (const auto& [suffix, group] : query.at("groups").items()) {
    request.groups.push_back(GroupOf(suffix, group));
  }
  request.group_policy = PolicyOf(query);
  for (const std::vector<std::string> set : query.value("same_subtree", Json::array())) {
    request.same_subtree.push_back(set);
  }
  for (const std::string trait : query.value("root_required", Json::array())) {
    request.root_required.push_back({trait});
  }
  for (const std::string trait : query.value("root_forbidden", Json::array())) {
    request.root_forbidden.push_back(trait);
  }
  return request;
}

std::vector<CommandBody> MakeNames(const std::set<std::string>& classes,
                                   const std::set<std::string>& traits) {
  std::vector<CommandBody> commands;
  for (const std::string& name : classes) {
    if (!placement::IsStandardName(name)) commands.push_back(placement::CreateClass{name, true});
  }
  for (const std::string& name : traits) {
    if (!placement::IsStandardName(name)) commands.push_back(placement::EnsureTrait{name});
  }
  return commands;
}

}  // namespace berth::oracle
