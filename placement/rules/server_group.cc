#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/commands/record_form.h"
#include "placement/rules/rules.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

absl::Status GroupInUse(ServerGroupId group) {
  return Refuse(absl::StatusCode::kFailedPrecondition, "SERVER_GROUP_IN_USE",
                absl::StrCat("server group ", group.ToString(), " has members"),
                {{{"server_group", group.ToString()}}});
}

std::string MemberField(const char* list, size_t at) { return absl::StrCat(list, "[", at, "]"); }

absl::Status CheckForm(const UpdateServerGroupMembers& command) {
  Faults faults;
  const size_t count = command.add.size() + command.remove.size();
  if (count == 0 || count > kMembersChangedMax) {
    faults.Add(kInvalidField, "add_instance_uuids",
               absl::StrCat("must name, with remove_instance_uuids, 1 to ", kMembersChangedMax,
                            " instances, but there are ", count));
    return faults.status();
  }
  std::set<InstanceId> named;
  const auto once = [&](const char* list, const std::vector<InstanceId>& ids) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (named.insert(ids[i]).second) continue;
      faults.Add(kDuplicateParameter, MemberField(list, i),
                 absl::StrCat("names an instance again: ", ids[i].ToString()));
    }
  };
  once("add_instance_uuids", command.add);
  once("remove_instance_uuids", command.remove);
  return faults.status();
}

absl::Status InOtherGroup(const InstanceRecord& instance, const std::string& field) {
  return Refuse(absl::StatusCode::kFailedPrecondition, "OTHER_SERVER_GROUP",
                absl::StrCat("instance ", instance.id.ToString(), " is a member of server group ",
                             instance.group->ToString(), " already"),
                {{{"instance", instance.id.ToString()},
                  {"server_group", instance.group->ToString()},
                  {"field", field}}});
}

// The records of the instances, in the order of the command. INSTANCE_NOT_FOUND for the first one
// that has none.
absl::StatusOr<std::vector<InstancePtr>> RecordsOf(const State& state, const char* list,
                                                   const std::vector<InstanceId>& ids) {
  std::vector<InstancePtr> records;
  for (size_t i = 0; i < ids.size(); ++i) {
    records.push_back(state.records().FindInstance(ids[i]));
    if (records.back() == nullptr) return InstanceNotFound(ids[i], MemberField(list, i));
  }
  return records;
}

void PutIntoGroup(const InstancePtr& before, std::optional<ServerGroupId> group,
                  const RuleContext& context, Outcome& outcome) {
  if (before->group == group) return;
  InstanceRecord after = *before;
  after.group = group;
  outcome.changes.push_back(InstancePut{StoredInstance(after, before, context)});
}

}  // namespace

// Refuses, in this order: a malformed command; RECORD_CONFLICT; SERVER_GROUP_IN_USE if the project
// changes and the group has members. A caller that gives no generation expects that there is no
// such group.
absl::StatusOr<Outcome> Decide(const State& state, const SetServerGroup& command,
                               const RuleContext& context) {
  Faults faults;
  ServerGroupFields(faults, "group", command.group);
  BERTH_RETURN_IF_ERROR(faults.status());
  const ServerGroupPtr before = FindGroup(state.records(), command.group.id);
  BERTH_RETURN_IF_ERROR(CheckGeneration(command.group.id, command.expected_generation, before));
  // A group that could not be read has no project.
  if (before != nullptr && !before->project.empty() && before->project != command.group.project &&
      !state.records().MembersOf(before->id).empty()) {
    return GroupInUse(before->id);
  }
  auto group = std::make_shared<ServerGroup>(command.group);
  group->generation = before == nullptr ? context.fresh : before->generation.Next();
  group->created_at = before == nullptr ? context.now : before->created_at;
  group->updated_at = context.now;
  Outcome outcome;
  outcome.result.created = before == nullptr;
  outcome.changes.push_back(ServerGroupPut{std::move(group)});
  return outcome;
}

// Refuses, in this order: a malformed command; SERVER_GROUP_NOT_FOUND; INSTANCE_NOT_FOUND;
// OTHER_SERVER_GROUP. An instance that is as the command wants it keeps its record.
absl::StatusOr<Outcome> Decide(const State& state, const UpdateServerGroupMembers& command,
                               const RuleContext& context) {
  BERTH_RETURN_IF_ERROR(CheckForm(command));
  if (FindGroup(state.records(), command.group) == nullptr) {
    return ServerGroupNotFound(command.group, "group_uuid");
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<InstancePtr> added,
                         RecordsOf(state, "add_instance_uuids", command.add));
  BERTH_ASSIGN_OR_RETURN(const std::vector<InstancePtr> removed,
                         RecordsOf(state, "remove_instance_uuids", command.remove));
  for (size_t i = 0; i < added.size(); ++i) {
    const std::optional<ServerGroupId> other = MemberGroup(*added[i]);
    if (other && other != command.group) {
      return InOtherGroup(*added[i], MemberField("add_instance_uuids", i));
    }
  }
  Outcome outcome;
  for (const InstancePtr& instance : added) {
    PutIntoGroup(instance, command.group, context, outcome);
  }
  for (const InstancePtr& instance : removed) {
    if (instance->group == command.group) PutIntoGroup(instance, std::nullopt, context, outcome);
  }
  return outcome;
}

// Refuses, in this order: SERVER_GROUP_NOT_FOUND; RECORD_CONFLICT; SERVER_GROUP_IN_USE.
absl::StatusOr<Outcome> Decide(const State& state, const DeleteServerGroup& command,
                               const RuleContext&) {
  const ServerGroupPtr before = FindGroup(state.records(), command.group);
  if (before == nullptr) return ServerGroupNotFound(command.group, "group_uuid");
  if (command.expected_generation) {
    BERTH_RETURN_IF_ERROR(CheckGeneration(command.group, command.expected_generation, before));
  }
  if (!state.records().MembersOf(command.group).empty()) return GroupInUse(command.group);
  Outcome outcome;
  outcome.changes.push_back(ServerGroupRemoved{command.group});
  return outcome;
}

}  // namespace berth::placement
