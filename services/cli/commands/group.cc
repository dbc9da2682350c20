#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/placement/v1/server_group.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/retry.h"
#include "services/cli/text/record_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct ListGroupsArguments {
  std::string project;
  int limit = kListed;
};

struct GroupArguments {
  std::string group;
};

// What --policy, --max-per-host and so on say; empty or none: not given.
struct GroupOptions {
  std::string name, project, user, policy;
  std::optional<int> max_per_host;
};

struct CreateGroupArguments {
  GroupOptions options;
  std::string uuid;
};

struct SetGroupArguments {
  GroupOptions options;
  std::string group;
  std::optional<int64_t> generation;
};

struct DeleteGroupArguments {
  std::string group;
  std::optional<int64_t> generation;
};

struct MemberArguments {
  std::string group;
  std::vector<std::string> instances;
};

const std::map<std::string, pb::ServerGroupPolicy>& Policies() {
  static const auto* const policies = new std::map<std::string, pb::ServerGroupPolicy>{
      {"affinity", pb::SERVER_GROUP_POLICY_AFFINITY},
      {"anti-affinity", pb::SERVER_GROUP_POLICY_ANTI_AFFINITY},
      {"soft-affinity", pb::SERVER_GROUP_POLICY_SOFT_AFFINITY},
      {"soft-anti-affinity", pb::SERVER_GROUP_POLICY_SOFT_ANTI_AFFINITY},
  };
  return *policies;
}

// Gives the group what the options say.
void Change(const GroupOptions& options, pb::ServerGroup* group) {
  if (!options.name.empty()) group->set_name(options.name);
  if (!options.project.empty()) group->set_project_id(options.project);
  if (!options.user.empty()) group->set_user_id(options.user);
  if (!options.policy.empty()) group->set_policy(Policies().at(options.policy));
  if (options.max_per_host) {
    group->set_max_server_per_host(*options.max_per_host);
  } else if (!options.policy.empty() && !absl::EndsWith(options.policy, "anti-affinity")) {
    group->clear_max_server_per_host();
  }
}

absl::StatusOr<pb::GetServerGroupResponse> ReadGroup(Session& session, const std::string& uuid) {
  pb::GetServerGroupRequest request;
  request.set_group_uuid(uuid);
  return session.Call<pb::GetServerGroupResponse>(request);
}

absl::Status PrintGroup(Session& session, const pb::SetServerGroupResponse& answer) {
  return session.Print(answer, GroupPage(answer.group()), {answer.group().uuid()});
}

absl::Status ListGroups(Session& session, const ListGroupsArguments& arguments) {
  pb::ListServerGroupsRequest request;
  if (!arguments.project.empty()) request.set_project_id(arguments.project);
  BERTH_ASSIGN_OR_RETURN(const auto answer, CallPaged<pb::ListServerGroupsResponse>(
                                                session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  return session.Print(answer, GroupTable(answer.groups()), UuidsOf(answer.groups()));
}

absl::Status ShowGroup(Session& session, const GroupArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto answer, ReadGroup(session, arguments.group));
  return session.Print(answer, GroupPage(answer), {answer.group().uuid()});
}

absl::Status CreateGroup(Session& session, const CreateGroupArguments& arguments) {
  pb::SetServerGroupRequest request;
  pb::ServerGroup* const group = request.mutable_group();
  group->set_uuid(arguments.uuid.empty() ? RandomUuid() : arguments.uuid);
  Change(arguments.options, group);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::SetServerGroupResponse>(request));
  return PrintGroup(session, answer);
}

absl::Status SetGroupOnce(Session& session, const SetGroupArguments& arguments,
                          pb::SetServerGroupResponse* answer) {
  BERTH_ASSIGN_OR_RETURN(const auto stored, ReadGroup(session, arguments.group));
  pb::SetServerGroupRequest request;
  *request.mutable_group() = stored.group();
  Change(arguments.options, request.mutable_group());
  request.set_expected_generation(arguments.generation.value_or(stored.group().generation()));
  return session.Call(request, answer);
}

absl::Status SetGroup(Session& session, const SetGroupArguments& arguments) {
  pb::SetServerGroupResponse answer;
  const auto once = [&] { return SetGroupOnce(session, arguments, &answer); };
  BERTH_RETURN_IF_ERROR(arguments.generation ? once() : OnFreshGeneration(once));
  return PrintGroup(session, answer);
}

enum class MemberChange { kAdd, kRemove };

template <MemberChange change>
absl::Status ChangeMembers(Session& session, const MemberArguments& arguments) {
  pb::UpdateServerGroupMembersRequest request;
  request.set_group_uuid(arguments.group);
  auto* const list = change == MemberChange::kAdd ? request.mutable_add_instance_uuids()
                                                  : request.mutable_remove_instance_uuids();
  for (const std::string& instance : Listed(arguments.instances)) *list->Add() = instance;
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         session.Call<pb::UpdateServerGroupMembersResponse>(request));
  const char* const what = change == MemberChange::kAdd ? "added " : "removed ";
  return session.Print(answer, absl::StrCat(what, list->size(), "\n"), {arguments.group});
}

absl::Status DeleteGroup(Session& session, const DeleteGroupArguments& arguments) {
  pb::DeleteServerGroupRequest request;
  request.set_group_uuid(arguments.group);
  if (arguments.generation) request.set_expected_generation(*arguments.generation);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::DeleteServerGroupResponse>(request));
  return session.Print(answer, absl::StrCat("deleted ", arguments.group, "\n"), {arguments.group});
}

void AddGroupUuid(CLI::App* command, std::string* target) {
  command->add_option("group", *target, "The uuid of the group")->required();
}

// The options of a group. `is_new`: those that a new group needs are required.
void AddGroupOptions(CLI::App* command, GroupOptions* options, bool is_new) {
  AddText(command, "--name", &options->name, "The name of the group");
  CLI::Option* const project = AddText(command, "--project", &options->project,
                                       "The project of the group and of all its members");
  CLI::Option* const user =
      AddText(command, "--user", &options->user, "The user who asks for the group");
  std::vector<std::string> words;
  for (const auto& [word, policy] : Policies()) words.push_back(word);
  CLI::Option* const policy =
      command
          ->add_option("--policy", options->policy,
                       "Where the members should be: on one host, or on different ones; "
                       "placement refuses nothing because of a soft policy")
          ->check(CLI::IsMember(words));
  command->add_option("--max-per-host", options->max_per_host,
                      "How many members may be on one host, with a policy of anti-affinity; "
                      "left out: 1, or as it is");
  if (!is_new) return;
  project->required();
  user->required();
  policy->required();
}

void AddMemberVerb(CLI::App* verb, MemberArguments& arguments) {
  AddGroupUuid(verb, &arguments.group);
  verb->add_option("instances", arguments.instances, "The uuids of the instances")->required();
}

void AddGroupWrites(CLI::App* noun, Session& session) {
  CLI::App* create =
      AddVerb(*noun, "create", "Create a group; instances join it by their records",
              "berth group create --name web --project team-a --user alice --policy anti-affinity\n"
              "berth instance create --name web-1 --project team-a --user alice --vcpus 4 "
              "--memory 8Gi --group 9f1b7c1e-6a52-4a53-8a7a-6a4b0f5d2c11");
  CreateGroupArguments& creating = Does(create, session, CreateGroup);
  create->add_option("--uuid", creating.uuid, "The uuid of the group; left out: a random one");
  AddGroupOptions(create, &creating.options, true);

  CLI::App* set =
      AddVerb(*noun, "set", "Change a group; refused while its members break the new policy",
              "berth group set 9f1b7c1e-6a52-4a53-8a7a-6a4b0f5d2c11 --policy soft-anti-affinity");
  SetGroupArguments& setting = Does(set, session, SetGroup);
  AddGroupUuid(set, &setting.group);
  AddGroupOptions(set, &setting.options, false);
  set->add_option("--generation", setting.generation,
                  "Fail if the group is no longer at this generation");

  CLI::App* add = AddVerb(*noun, "add", "Make instances members of a group",
                          "berth group add 9f1b7c1e-6a52-4a53-8a7a-6a4b0f5d2c11 "
                          "5e08ea53-c4c6-448e-9334-ac4953de3cfa");
  AddMemberVerb(add, Does(add, session, ChangeMembers<MemberChange::kAdd>));
  CLI::App* remove = AddVerb(*noun, "remove", "Take instances out of a group",
                             "berth group remove 9f1b7c1e-6a52-4a53-8a7a-6a4b0f5d2c11 "
                             "5e08ea53-c4c6-448e-9334-ac4953de3cfa");
  AddMemberVerb(remove, Does(remove, session, ChangeMembers<MemberChange::kRemove>));

  CLI::App* erase = AddVerb(*noun, "delete", "Delete a group that has no members",
                            "berth group delete 9f1b7c1e-6a52-4a53-8a7a-6a4b0f5d2c11");
  DeleteGroupArguments& deleting = Does(erase, session, DeleteGroup);
  AddGroupUuid(erase, &deleting.group);
  erase->add_option("--generation", deleting.generation,
                    "Fail if the group is no longer at this generation");
}

}  // namespace

void AddGroupCommands(CLI::App& app, Session& session) {
  CLI::App* noun = AddNoun(
      app, "group", "Server groups: instances that should be on one host, or on different hosts",
      "Operate");
  CLI::App* list = AddVerb(*noun, "list", "List the groups", "berth group list --project team-a");
  ListGroupsArguments& listing = Does(list, session, ListGroups);
  list->add_option("--project", listing.project, "Only groups of this project");
  AddLimit(list, &listing.limit, "List at most this many groups");

  CLI::App* show = AddVerb(*noun, "show", "Show a group, its members, and where they are",
                           "berth group show 9f1b7c1e-6a52-4a53-8a7a-6a4b0f5d2c11");
  AddGroupUuid(show, &Does(show, session, ShowGroup).group);

  AddGroupWrites(noun, session);
}

}  // namespace berth::cli
