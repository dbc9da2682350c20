#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/commands/fleet_node.h"
#include "placement/ground/check.h"
#include "placement/rules/rules.h"
#include "placement/state/lookup.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

absl::Status ParentNotFound(ProviderId parent) {
  return Refuse(absl::StatusCode::kNotFound, "PARENT_NOT_FOUND",
                absl::StrCat("the parent provider ", parent.ToString(), " does not exist"),
                {{{"provider", parent.ToString()}, {"field", "parent_uuid"}}});
}

// ALREADY_EXISTS / DUPLICATE_PROVIDER if another provider has the uuid or the name; names all such
// providers (P-47, P-52). `id_taken`: whether another provider has the uuid.
absl::Status CheckUnique(const State& state, ProviderId id, const std::string& name,
                         bool id_taken) {
  std::vector<FaultItem> items;
  std::string message;
  if (id_taken) {
    items.push_back({{"provider", id.ToString()}, {"field", "uuid"}});
    message = absl::StrCat("there is already a provider with uuid ", id.ToString());
  }
  const std::optional<ProviderId> holder =
      id_taken ? state.FindProviderByName(name) : NameHolder(state, name, id);
  if (holder) {
    items.push_back({{"provider", holder->ToString()}, {"field", "name"}});
    absl::StrAppend(&message, message.empty() ? "" : "; ", "the name ", name,
                    " belongs already to provider ", holder->ToString());
  }
  if (items.empty()) return absl::OkStatus();
  return Refuse(absl::StatusCode::kAlreadyExists, "DUPLICATE_PROVIDER", message, items);
}

// NOT_FOUND / PARENT_NOT_FOUND if `parent` does not exist; INVALID_ARGUMENT / PROVIDER_LOOP if
// `parent` is in the subtree of `place` (P-56).
absl::Status CheckNewParent(const State& state, const ProviderPlace& place, ProviderId parent) {
  const std::optional<ProviderPlace> target = state.FindProvider(parent);
  if (!target) return ParentNotFound(parent);
  if (target->tree->root_id() != place.tree->root_id() ||
      !place.tree->IsAncestorOrSelf(place.position, target->position)) {
    return absl::OkStatus();
  }
  return Refuse(absl::StatusCode::kInvalidArgument, "PROVIDER_LOOP",
                absl::StrCat(Describe(place.config()), " cannot become a child of ",
                             parent.ToString(), ", which is the same provider or in its subtree"),
                {{{"provider", place.config().id.ToString()}, {"field", "parent_uuid"}}});
}

}  // namespace

// Refuses, in this order: a malformed command; SELF_PARENT; PARENT_NOT_FOUND; DUPLICATE_PROVIDER
// (P-47).
absl::StatusOr<Outcome> Decide(const State& state, const CreateProvider& command,
                               const RuleContext& context) {
  BERTH_CHECK(command.id.has_value());  // drawn before the command was queued (P-12)
  Faults faults;
  faults.Length("name", command.name, 1, kProviderNameMax);
  BERTH_RETURN_IF_ERROR(faults.status());
  if (command.parent == command.id) {
    return Refuse(absl::StatusCode::kInvalidArgument, "SELF_PARENT",
                  absl::StrCat("provider ", command.name, " cannot be its own parent"),
                  {{{"provider", command.id->ToString()}, {"field", "parent_uuid"}}});
  }
  ProviderId root = *command.id;
  if (command.parent) {
    const std::optional<ProviderPlace> parent = state.FindProvider(*command.parent);
    if (!parent) return ParentNotFound(*command.parent);
    root = parent->tree->root_id();
  }
  const bool taken = state.FindProvider(*command.id).has_value();
  BERTH_RETURN_IF_ERROR(CheckUnique(state, *command.id, command.name, taken));
  ProviderConfig config;
  config.id = *command.id;
  config.name = command.name;
  config.parent = command.parent;
  config.generation = context.fresh;
  config.created_at = context.now;
  config.updated_at = context.now;
  Outcome outcome = PutProvider(std::move(config), root);
  outcome.result.created = true;
  return outcome;
}

// Refuses, in this order: a malformed command; PROVIDER_NOT_FOUND (P-59);
// PROVIDER_GENERATION_CONFLICT, if a generation is given (P-53); PARENT_NOT_FOUND; PROVIDER_LOOP
// (P-56); DUPLICATE_PROVIDER (P-52). A new parent raises the generation, a new name does not.
absl::StatusOr<Outcome> Decide(const State& state, const UpdateProvider& command,
                               const RuleContext& context) {
  Faults faults;
  if (command.name) faults.Length("name", *command.name, 1, kProviderNameMax);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_ASSIGN_OR_RETURN(ProviderPlace place,
                         RequireProvider(state, command.id, command.expected_generation));
  const ProviderConfig& before = place.config();
  const bool moves = command.parent && *command.parent != before.parent;
  if (command.parent && *command.parent) {
    BERTH_RETURN_IF_ERROR(CheckNewParent(state, place, **command.parent));
  }
  const bool renames = command.name && *command.name != before.name;
  if (renames) {
    BERTH_RETURN_IF_ERROR(CheckUnique(state, command.id, *command.name, false));
  }
  if (!moves && !renames) return KeepProvider(place);
  ProviderId root = place.tree->root_id();
  ProviderConfig config = before;
  if (renames) config.name = *command.name;
  if (moves) {
    config.parent = *command.parent;
    config.generation = before.generation.Next();
    root = config.parent ? state.FindProvider(*config.parent)->tree->root_id() : config.id;
  }
  config.updated_at = context.now;
  return PutProvider(std::move(config), root);
}

// Refuses, in this order: PROVIDER_NOT_FOUND; PROVIDER_HAS_CHILDREN; PROVIDER_IN_USE (P-60).
// PROVIDER_IN_USE is also the refusal for the root of a node, because the node's record needs the
// provider.
absl::StatusOr<Outcome> Decide(const State& state, const DeleteProvider& command,
                               const RuleContext&) {
  BERTH_ASSIGN_OR_RETURN(ProviderPlace place, RequireProvider(state, command.id));
  const ProviderConfig& config = place.config();
  if (place.tree->shape->end_of[place.position] > place.position + 1) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "PROVIDER_HAS_CHILDREN",
                  absl::StrCat(Describe(config), " cannot be deleted: it has children"),
                  {{{"provider", config.id.ToString()}}});
  }
  if (!place.consumers().empty()) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "PROVIDER_IN_USE",
                  absl::StrCat(Describe(config), " cannot be deleted: it has allocations of ",
                               place.consumers().size(), " consumers"),
                  {{{"provider", config.id.ToString()}}});
  }
  if (FindNode(state, command.id)) {
    return Refuse(
        absl::StatusCode::kFailedPrecondition, "PROVIDER_IN_USE",
        absl::StrCat(Describe(config),
                     " is the root of a node: `berth node delete` deletes the node with it"),
        {{{"provider", config.id.ToString()}, {"node", config.id.ToString()}}});
  }
  Outcome outcome;
  outcome.changes.push_back(ProviderRemoved{command.id});
  return outcome;
}

namespace {

// The outcome of a command that gives the provider at `place` the traits `traits`. It changes
// nothing if the provider has exactly these traits already (P-99).
Outcome WithTraits(const ProviderPlace& place, std::vector<TraitId> traits,
                   const RuleContext& context) {
  if (traits == place.config().traits) return KeepProvider(place);
  ProviderConfig config = place.config();
  config.traits = std::move(traits);
  config.generation = config.generation.Next();
  config.updated_at = context.now;
  return PutProvider(std::move(config), place.tree->root_id());
}

}  // namespace

// Refuses, in this order: a malformed command; PROVIDER_NOT_FOUND; PROVIDER_GENERATION_CONFLICT;
// TRAIT_NOT_FOUND (P-98).
absl::StatusOr<Outcome> Decide(const State& state, const SetProviderTraits& command,
                               const RuleContext& context) {
  Faults faults;
  RequireGenerationField(faults, command.expected_generation.has_value());
  const bool few = AtMostField(faults, "traits", command.traits.size(), kTraitsMax);
  for (size_t i = 0; few && i < command.traits.size(); ++i) {
    faults.UpperName(absl::StrCat("traits[", i, "]"), command.traits[i]);
  }
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_ASSIGN_OR_RETURN(ProviderPlace place,
                         RequireProvider(state, command.provider, command.expected_generation));
  BERTH_ASSIGN_OR_RETURN(std::vector<TraitId> traits, RequireTraits(state, command.traits));
  return WithTraits(place, std::move(traits), context);
}

// Refuses, in this order: PROVIDER_NOT_FOUND; PROVIDER_GENERATION_CONFLICT, if a generation is
// given (P-101).
absl::StatusOr<Outcome> Decide(const State& state, const ClearProviderTraits& command,
                               const RuleContext& context) {
  BERTH_ASSIGN_OR_RETURN(ProviderPlace place,
                         RequireProvider(state, command.provider, command.expected_generation));
  return WithTraits(place, {}, context);
}

// Raises the generation even if the set of aggregates is the same (P-104). Refuses, in this order:
// a malformed command, e.g. an aggregate that occurs twice; PROVIDER_NOT_FOUND;
// PROVIDER_GENERATION_CONFLICT (P-103).
absl::StatusOr<Outcome> Decide(const State& state, const SetProviderAggregates& command,
                               const RuleContext& context) {
  Faults faults;
  RequireGenerationField(faults, command.expected_generation.has_value());
  const bool few = AtMostField(faults, "aggregates", command.aggregates.size(), kAggregatesMax);
  std::vector<AggregateId> aggregates = command.aggregates;
  std::sort(aggregates.begin(), aggregates.end());
  for (size_t i = 1; few && i < aggregates.size(); ++i) {
    if (aggregates[i] == aggregates[i - 1]) {
      faults.Add(kDuplicateParameter, "aggregates",
                 absl::StrCat("names ", aggregates[i].ToString(), " twice"));
    }
  }
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_ASSIGN_OR_RETURN(ProviderPlace place,
                         RequireProvider(state, command.provider, command.expected_generation));
  ProviderConfig config = place.config();
  config.aggregates = std::move(aggregates);
  config.generation = config.generation.Next();
  config.updated_at = context.now;
  return PutProvider(std::move(config), place.tree->root_id());
}

}  // namespace berth::placement
