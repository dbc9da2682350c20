#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/commands/record_form.h"
#include "placement/rules/rules.h"
#include "placement/state/lookup.h"
#include "placement/values/faults.h"

namespace berth::placement {
namespace {

// INVALID_ARGUMENT unless `name` may be the name of a custom class or trait (P-20, P-35, P-42).
absl::Status CheckCustomName(absl::string_view name) {
  if (IsCustomName(name)) return absl::OkStatus();
  Faults faults;
  faults.Add(kInvalidName, "name",
             "must be CUSTOM_ followed by capital letters, digits or underscores, 255 "
             "characters at most");
  return faults.status();
}

absl::Status StandardImmutable(absl::string_view key, absl::string_view name) {
  return Refuse(absl::StatusCode::kInvalidArgument, "STANDARD_IMMUTABLE",
                absl::StrCat(name, " is a standard name and cannot be deleted"),
                {{{std::string(key), std::string(name)}}});
}

}  // namespace

// Refuses, in this order: INVALID_NAME; RESOURCE_CLASS_EXISTS. If `if_absent` is set, a class that
// exists is no error (P-34, P-35).
absl::StatusOr<Outcome> Decide(const State& state, const CreateClass& command, const RuleContext&) {
  BERTH_RETURN_IF_ERROR(CheckCustomName(command.name));
  Outcome outcome;
  if (state.catalog().classes.Find(command.name)) {
    if (command.if_absent) return outcome;
    return Refuse(absl::StatusCode::kAlreadyExists, "RESOURCE_CLASS_EXISTS",
                  absl::StrCat("there is already a resource class ", command.name),
                  {{{"resource_class", command.name}}});
  }
  outcome.result.created = true;
  outcome.changes.push_back(ClassPut{state.catalog().classes.NextId(), command.name});
  return outcome;
}

// Refuses, in this order: a malformed name; RESOURCE_CLASS_NOT_FOUND; STANDARD_IMMUTABLE;
// RESOURCE_CLASS_IN_USE (P-37, P-38).
absl::StatusOr<Outcome> Decide(const State& state, const DeleteClass& command, const RuleContext&) {
  Faults faults;
  faults.UpperName("name", command.name);
  BERTH_RETURN_IF_ERROR(faults.status());
  BERTH_ASSIGN_OR_RETURN(const ClassId id, RequireClass(state, command.name));
  if (IsStandardName(command.name)) return StandardImmutable("resource_class", command.name);
  if (const int64_t uses = state.inventories_of(id); uses > 0) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "RESOURCE_CLASS_IN_USE",
                  absl::StrCat("resource class ", command.name, " cannot be deleted: ", uses,
                               " providers have an inventory of it"),
                  {{{"resource_class", command.name}}});
  }
  Outcome outcome;
  outcome.changes.push_back(ClassRemoved{id});
  return outcome;
}

// The only refusal is INVALID_NAME. A trait that exists already is no error (P-42).
absl::StatusOr<Outcome> Decide(const State& state, const EnsureTrait& command, const RuleContext&) {
  BERTH_RETURN_IF_ERROR(CheckCustomName(command.name));
  Outcome outcome;
  if (state.catalog().traits.Find(command.name)) return outcome;
  outcome.result.created = true;
  outcome.changes.push_back(TraitPut{state.catalog().traits.NextId(), command.name});
  return outcome;
}

// Refuses, in this order: a malformed name; TRAIT_NOT_FOUND; STANDARD_IMMUTABLE; TRAIT_IN_USE
// (P-44).
absl::StatusOr<Outcome> Decide(const State& state, const DeleteTrait& command, const RuleContext&) {
  Faults faults;
  faults.UpperName("name", command.name);
  BERTH_RETURN_IF_ERROR(faults.status());
  const std::optional<TraitId> id = state.catalog().traits.Find(command.name);
  if (!id) return RequireTraits(state, {command.name}).status();
  if (IsStandardName(command.name)) return StandardImmutable("trait", command.name);
  if (const int64_t uses = state.providers_with(*id); uses > 0) {
    return Refuse(
        absl::StatusCode::kFailedPrecondition, "TRAIT_IN_USE",
        absl::StrCat("trait ", command.name, " cannot be deleted: ", uses, " providers have it"),
        {{{"trait", command.name}}});
  }
  Outcome outcome;
  outcome.changes.push_back(TraitRemoved{*id});
  return outcome;
}

// Adds the names that are missing, in the given order, and removes no names (P-31, P-32). Refuses a
// name that is malformed or begins with CUSTOM_.
absl::StatusOr<Outcome> Decide(const State& state, const EnsureStandardNames& command,
                               const RuleContext&) {
  Faults faults;
  const auto check = [&faults](absl::string_view field, const std::vector<std::string>& names) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (!IsUpperName(names[i]) || !IsStandardName(names[i])) {
        faults.Add(kInvalidName, absl::StrCat(field, "[", i, "]"), "is not a standard name");
      }
    }
  };
  check("classes", command.classes);
  check("traits", command.traits);
  BERTH_RETURN_IF_ERROR(faults.status());
  Outcome outcome;
  // The names are added to a copy of the catalog, so that the ids of new names differ, and a name
  // that occurs twice gets one id.
  const auto add = [&outcome](auto table, const std::vector<std::string>& names, auto put) {
    for (const std::string& name : names) {
      if (table.Find(name)) continue;
      const auto id = table.NextId();
      table.Insert(id, name);
      outcome.changes.push_back(decltype(put){id, name});
    }
  };
  add(state.catalog().classes, command.classes, ClassPut{});
  add(state.catalog().traits, command.traits, TraitPut{});
  outcome.result.created = !outcome.changes.empty();
  return outcome;
}

// Refuses, in this order: a malformed command; RECORD_CONFLICT; DUPLICATE_AGGREGATE. A caller that
// gives no generation expects that there is no such aggregate.
absl::StatusOr<Outcome> Decide(const State& state, const SetAggregate& command,
                               const RuleContext& context) {
  Faults faults;
  AggregateFields(faults, "aggregate", command.aggregate);
  BERTH_RETURN_IF_ERROR(faults.status());
  const AggregatePtr before = state.aggregates().Find(command.aggregate.id);
  BERTH_RETURN_IF_ERROR(CheckGeneration(command.aggregate.id, command.expected_generation, before));
  BERTH_RETURN_IF_ERROR(CheckNameIsFree(state, command.aggregate, "aggregate.name"));
  auto aggregate = std::make_shared<Aggregate>(command.aggregate);
  aggregate->generation = before == nullptr ? context.fresh : before->generation.Next();
  aggregate->created_at = before == nullptr ? context.now : before->created_at;
  aggregate->updated_at = context.now;
  Outcome outcome;
  outcome.result.created = before == nullptr;
  outcome.changes.push_back(AggregatePut{std::move(aggregate)});
  return outcome;
}

// Refuses, in this order: AGGREGATE_NOT_FOUND; RECORD_CONFLICT. Providers may go on naming the uuid.
absl::StatusOr<Outcome> Decide(const State& state, const DeleteAggregate& command,
                               const RuleContext&) {
  const AggregatePtr before = state.aggregates().Find(command.aggregate);
  if (before == nullptr) return AggregateNotFound(command.aggregate);
  if (command.expected_generation) {
    BERTH_RETURN_IF_ERROR(CheckGeneration(command.aggregate, command.expected_generation, before));
  }
  Outcome outcome;
  outcome.changes.push_back(AggregateRemoved{command.aggregate});
  return outcome;
}

}  // namespace berth::placement
