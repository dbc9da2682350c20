#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/claims/allocation_form.h"
#include "placement/commands/fleet_node.h"
#include "placement/commands/inventory_write.h"
#include "placement/rules/final_forest.h"
#include "placement/rules/reshape_plan.h"
#include "placement/rules/rules.h"
#include "placement/state/lookup.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

using Code = absl::StatusCode;

std::string FieldOf(size_t at, absl::string_view field) {
  return absl::StrCat("providers[", at, "].", field);
}
std::string RemovedFieldOf(size_t at, absl::string_view field) {
  return absl::StrCat("removed_providers[", at, "].", field);
}

// The faults that one stage found, in the order of the request.
struct StageFaults {
  std::vector<FaultItem> items;
  std::string message;

  void Add(ProviderId provider, std::string field, const std::string& why) {
    if (items.empty()) message = why;
    items.push_back({{"provider", provider.ToString()}, {"field", std::move(field)}});
  }
  absl::Status Refuse(Code code, absl::string_view reason) {
    return RefuseAll(code, reason, message, items);
  }
};

void ProviderFields(Faults& faults, size_t at, const ProviderTopology& wanted) {
  const bool is_new = !wanted.expected_generation;
  if (wanted.name || is_new) {
    faults.Length(FieldOf(at, "name"), wanted.name.value_or(""), 1, kProviderNameMax);
  }
  if (!is_new && wanted.inventories && !wanted.expected_allocation_generation) {
    faults.Add(kGenerationRequired, FieldOf(at, "expected_allocation_generation"),
               "is required, because the request gives inventories of a provider that exists",
               {{"provider", wanted.provider.ToString()}});
  }
  if (wanted.inventories) {
    InventoryListFields(faults, FieldOf(at, "inventories"), *wanted.inventories);
  }
  if (wanted.traits &&
      AtMostField(faults, FieldOf(at, "traits"), wanted.traits->size(), kTraitsMax)) {
    for (const std::string& trait : *wanted.traits) faults.UpperName(FieldOf(at, "traits"), trait);
  }
  if (wanted.aggregates && AtMostField(faults, FieldOf(at, "aggregate_uuids"),
                                       wanted.aggregates->size(), kAggregatesMax)) {
    EachOnce<AggregateId>(faults, "aggregate", FieldOf(at, "aggregate_uuids"), *wanted.aggregates,
                          [](AggregateId id) { return id; });
  }
}

// The checks of the command that need no state. The checks of CheckInventories come last.
absl::Status CheckForm(const ApplyTopology& command) {
  Faults faults;
  AtMostField(faults, "providers", command.providers.size(), kReshapedProvidersMax);
  AtMostField(faults, "removed_providers", command.removed.size(), kReshapedProvidersMax);
  AtMostField(faults, "consumers", command.consumers.size(), kConsumersMax);
  std::vector<ProviderId> named;
  for (size_t i = 0; i < command.providers.size(); ++i) {
    ProviderFields(faults, i, command.providers[i]);
    named.push_back(command.providers[i].provider);
  }
  for (const ProviderRemoval& removal : command.removed) named.push_back(removal.provider);
  EachOnce<ProviderId>(faults, "provider", "providers and removed_providers", named,
                       [](ProviderId id) { return id; });
  ConsumerListFields(faults, command.consumers);
  BERTH_RETURN_IF_ERROR(faults.status());
  for (const ProviderTopology& wanted : command.providers) {
    if (!wanted.inventories) continue;
    BERTH_RETURN_IF_ERROR(
        CheckInventories(*wanted.inventories, {{"provider", wanted.provider.ToString()}}));
  }
  return absl::OkStatus();
}

// The checks of one command that are about providers, stage by stage. Keeps references to the state
// and the command.
class TopologyPlan {
 public:
  TopologyPlan(const State& state, const ApplyTopology& command)
      : state_(state), command_(command), forest_(state, command) {}

  // Checks new providers like CreateProvider: SELF_PARENT; PARENT_NOT_FOUND; DUPLICATE_PROVIDER.
  absl::Status CheckNew() const;
  // Checks present providers like UpdateProvider: PROVIDER_NOT_FOUND; PROVIDER_GENERATION_CONFLICT;
  // PARENT_NOT_FOUND; PROVIDER_LOOP; DUPLICATE_PROVIDER.
  absl::Status CheckPresent() const;
  // Checks traits like SetProviderTraits: TRAIT_NOT_FOUND.
  absl::Status CheckTraits() const;
  // Checks removed providers like DeleteProvider: PROVIDER_NOT_FOUND; PROVIDER_GENERATION_CONFLICT;
  // PROVIDER_HAS_CHILDREN. (ReshapePlan checks PROVIDER_IN_USE.)
  absl::Status CheckRemoved() const;

  // The configurations of the providers now and after the command. Unknown classes are added to
  // `unknown_classes`. REQUIRES: every stage passed.
  std::vector<ReshapedConfig> Configs(const RuleContext& context,
                                      std::vector<FaultItem>* unknown_classes) const;

 private:
  absl::Status CheckParents(bool of_new) const;
  absl::Status CheckNames(bool of_new) const;
  std::shared_ptr<const ProviderConfig> After(size_t at, const ProviderPlace* before,
                                              const RuleContext& context,
                                              std::vector<FaultItem>* unknown_classes) const;

  const State& state_;
  const ApplyTopology& command_;
  const FinalForest forest_;
};

absl::Status TopologyPlan::CheckParents(bool of_new) const {
  StageFaults faults;
  for (size_t i = 0; i < command_.providers.size(); ++i) {
    const ProviderTopology& wanted = command_.providers[i];
    if (wanted.expected_generation.has_value() == of_new) continue;
    if (!wanted.parent || !*wanted.parent || forest_.Knows(**wanted.parent)) continue;
    faults.Add(
        **wanted.parent, FieldOf(i, "parent_uuid"),
        absl::StrCat("the parent provider ", (*wanted.parent)->ToString(), " does not exist"));
  }
  return faults.Refuse(Code::kNotFound, "PARENT_NOT_FOUND");
}

absl::Status TopologyPlan::CheckNames(bool of_new) const {
  StageFaults faults;
  for (size_t i = 0; i < command_.providers.size(); ++i) {
    const ProviderTopology& wanted = command_.providers[i];
    if (wanted.expected_generation.has_value() == of_new) continue;
    if (of_new && state_.FindProvider(wanted.provider)) {
      faults.Add(
          wanted.provider, FieldOf(i, "provider_uuid"),
          absl::StrCat("there is already a provider with uuid ", wanted.provider.ToString()));
    }
    if (!wanted.name) continue;
    const std::optional<ProviderId> holder = forest_.OtherHolder(*wanted.name, wanted.provider);
    if (!holder) continue;
    faults.Add(*holder, FieldOf(i, "name"),
               absl::StrCat("the name ", *wanted.name, " belongs already to provider ",
                            holder->ToString()));
  }
  return faults.Refuse(Code::kAlreadyExists, "DUPLICATE_PROVIDER");
}

absl::Status TopologyPlan::CheckNew() const {
  StageFaults faults;
  for (size_t i = 0; i < command_.providers.size(); ++i) {
    const ProviderTopology& wanted = command_.providers[i];
    if (wanted.expected_generation || !wanted.parent || *wanted.parent != wanted.provider) continue;
    faults.Add(wanted.provider, FieldOf(i, "parent_uuid"),
               absl::StrCat("provider ", *wanted.name, " cannot be its own parent"));
  }
  BERTH_RETURN_IF_ERROR(faults.Refuse(Code::kInvalidArgument, "SELF_PARENT"));
  BERTH_RETURN_IF_ERROR(CheckParents(true));
  return CheckNames(true);
}

absl::Status TopologyPlan::CheckPresent() const {
  StageFaults absent, stale, loops;
  for (size_t i = 0; i < command_.providers.size(); ++i) {
    const ProviderTopology& wanted = command_.providers[i];
    if (!wanted.expected_generation) continue;
    const std::optional<ProviderPlace> place = state_.FindProvider(wanted.provider);
    if (place) {
      CompareGenerations(*place, absl::StrCat("providers[", i, "]"), wanted.expected_generation,
                         wanted.expected_allocation_generation, stale.items, stale.message);
    } else {
      absent.Add(wanted.provider, FieldOf(i, "provider_uuid"),
                 absl::StrCat("there is no provider ", wanted.provider.ToString()));
    }
  }
  BERTH_RETURN_IF_ERROR(absent.Refuse(Code::kNotFound, "PROVIDER_NOT_FOUND"));
  BERTH_RETURN_IF_ERROR(stale.Refuse(Code::kAborted, "PROVIDER_GENERATION_CONFLICT"));
  BERTH_RETURN_IF_ERROR(CheckParents(false));
  for (size_t i = 0; i < command_.providers.size(); ++i) {
    const ProviderId id = command_.providers[i].provider;
    if (!forest_.IsInLoop(id)) continue;
    loops.Add(id, FieldOf(i, "parent_uuid"),
              absl::StrCat("provider ", id.ToString(), " would become its own ancestor"));
  }
  BERTH_RETURN_IF_ERROR(loops.Refuse(Code::kInvalidArgument, "PROVIDER_LOOP"));
  return CheckNames(false);
}

absl::Status TopologyPlan::CheckTraits() const {
  std::vector<std::string> all;
  for (const ProviderTopology& wanted : command_.providers) {
    if (wanted.traits) all.insert(all.end(), wanted.traits->begin(), wanted.traits->end());
  }
  return RequireTraits(state_, all).status();
}

absl::Status TopologyPlan::CheckRemoved() const {
  StageFaults absent, stale, parents, nodes;
  for (size_t i = 0; i < command_.removed.size(); ++i) {
    const ProviderRemoval& removal = command_.removed[i];
    const std::optional<ProviderPlace> place = state_.FindProvider(removal.provider);
    if (!place) {
      absent.Add(removal.provider, RemovedFieldOf(i, "provider_uuid"),
                 absl::StrCat("there is no provider ", removal.provider.ToString()));
      continue;
    }
    CompareGenerations(*place, absl::StrCat("removed_providers[", i, "]"),
                       removal.expected_generation, std::nullopt, stale.items, stale.message);
    if (forest_.HasChildren(*place)) {
      parents.Add(
          removal.provider, RemovedFieldOf(i, "provider_uuid"),
          absl::StrCat(
              Describe(place->config()),
              " cannot be deleted without its children: name them in removed_providers too"));
    }
    if (FindNode(state_, removal.provider)) {
      nodes.Add(
          removal.provider, RemovedFieldOf(i, "provider_uuid"),
          absl::StrCat(Describe(place->config()),
                       " is the root of a node: `berth node delete` deletes the node with it"));
    }
  }
  BERTH_RETURN_IF_ERROR(absent.Refuse(Code::kNotFound, "PROVIDER_NOT_FOUND"));
  BERTH_RETURN_IF_ERROR(stale.Refuse(Code::kAborted, "PROVIDER_GENERATION_CONFLICT"));
  BERTH_RETURN_IF_ERROR(parents.Refuse(Code::kFailedPrecondition, "PROVIDER_HAS_CHILDREN"));
  return nodes.Refuse(Code::kFailedPrecondition, "PROVIDER_IN_USE");
}

// The configuration of a provider after the command. The generation rises by 1, as it would with
// single calls, if inventories or aggregates are given, or if the traits or the parent change. A
// new name does not raise it.
std::shared_ptr<const ProviderConfig> TopologyPlan::After(
    size_t at, const ProviderPlace* before, const RuleContext& context,
    std::vector<FaultItem>* unknown_classes) const {
  const ProviderTopology& wanted = command_.providers[at];
  ProviderConfig config;
  config.created_at = context.now;
  if (before != nullptr) config = before->config();
  config.id = wanted.provider;
  bool moves = wanted.inventories || wanted.aggregates;
  if (wanted.inventories) {
    config.inventories =
        KnownRows(state_, FieldOf(at, "inventories"), *wanted.inventories, unknown_classes);
  }
  if (wanted.aggregates) {
    config.aggregates = *wanted.aggregates;
    std::sort(config.aggregates.begin(), config.aggregates.end());
  }
  if (wanted.traits) {
    std::vector<TraitId> traits = *RequireTraits(state_, *wanted.traits);
    moves |= traits != config.traits;
    config.traits = std::move(traits);
  }
  if (wanted.parent) {
    moves |= *wanted.parent != config.parent;
    config.parent = *wanted.parent;
  }
  const bool renames = wanted.name && *wanted.name != config.name;
  if (before != nullptr && !moves && !renames) {
    return before->tree->shape->configs[before->position];
  }
  if (wanted.name) config.name = *wanted.name;
  if (before == nullptr) {
    config.generation = context.fresh;
  } else if (moves) {
    config.generation = config.generation.Next();
  }
  config.updated_at = context.now;
  return std::make_shared<const ProviderConfig>(std::move(config));
}

std::vector<ReshapedConfig> TopologyPlan::Configs(const RuleContext& context,
                                                  std::vector<FaultItem>* unknown_classes) const {
  std::vector<ReshapedConfig> configs;
  for (size_t i = 0; i < command_.providers.size(); ++i) {
    const ProviderId id = command_.providers[i].provider;
    std::optional<ProviderPlace> place = state_.FindProvider(id);
    auto after = After(i, place ? &*place : nullptr, context, unknown_classes);
    configs.push_back(
        {id, std::move(place), std::move(after), forest_.RootOf(id), forest_.DepthOf(id)});
  }
  for (const ProviderRemoval& removal : command_.removed) {
    std::optional<ProviderPlace> place = state_.FindProvider(removal.provider);
    const int position = place->position;
    configs.push_back({removal.provider, std::move(place), nullptr, {}, -position});
  }
  return configs;
}

}  // namespace

// Refuses a malformed command, with INVALID_INVENTORY as the last of these refusals. Then checks,
// in this order: new providers like CreateProvider; the other listed providers like UpdateProvider;
// traits like SetProviderTraits; removed providers like DeleteProvider; everything like Reshape.
// PROVIDER_IN_USE is the refusal if a consumer that the command does not list holds something on a
// removed provider. Only the state after the command matters: names may be swapped, and children
// may be listed before their parents.
absl::StatusOr<Outcome> Decide(const State& state, const ApplyTopology& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  const TopologyPlan topology(state, command);
  BERTH_RETURN_IF_ERROR(topology.CheckNew());
  BERTH_RETURN_IF_ERROR(topology.CheckPresent());
  BERTH_RETURN_IF_ERROR(topology.CheckTraits());
  BERTH_RETURN_IF_ERROR(topology.CheckRemoved());
  std::vector<FaultItem> unknown_classes;
  ReshapePlan plan(state, topology.Configs(context, &unknown_classes), command.consumers);
  BERTH_RETURN_IF_ERROR(plan.CheckRemovals());
  BERTH_RETURN_IF_ERROR(
      plan.CheckConsumers(std::move(unknown_classes), command.keep_unchanged_rows));
  Outcome outcome = plan.MakeOutcome(context);
  outcome.result.warnings = plan.Warnings();
  return outcome;
}

}  // namespace berth::placement
