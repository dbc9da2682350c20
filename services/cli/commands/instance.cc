#include "services/cli/commands/instance.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/instance_options.h"
#include "services/cli/commands/node.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/retry.h"
#include "services/cli/text/record_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

// The vm_state of a deleted instance.
constexpr char kDeletedState[] = "deleted";

struct ListInstancesArguments {
  std::string host, node, project;
  std::vector<std::string> states;
  bool deleted = false, hidden = false;
  int limit = kListed;
};

struct InstanceArguments {
  std::string instance;
};

struct CreateInstanceArguments {
  InstanceOptions record;
  std::string uuid, reason;
};

struct SetInstanceArguments {
  InstanceOptions record;
  std::string instance, reason;
  std::optional<int64_t> generation;
};

struct DeleteInstanceArguments {
  std::string instance, reason;
  std::optional<int64_t> generation;
  bool release = false;
};

void KeepAll(pb::ListInstancesResponse*) {}
void KeepVisible(pb::ListInstancesResponse* page) {
  auto* const all = page->mutable_instances();
  const auto is_hidden = [](const pb::Instance& instance) { return instance.hidden(); };
  all->erase(std::remove_if(all->begin(), all->end(), is_hidden), all->end());
}

absl::Status ListInstances(Session& session, const ListInstancesArguments& arguments) {
  pb::ListInstancesRequest request;
  if (!arguments.host.empty()) request.set_host(arguments.host);
  if (!arguments.node.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto node, NodeUuid(session, arguments.node));
    request.set_node_uuid(node);
  }
  if (!arguments.project.empty()) request.set_project_id(arguments.project);
  request.set_include_deleted(arguments.deleted);
  for (const std::string& state : Listed(arguments.states)) {
    request.add_vm_states(state);
    if (state == kDeletedState) request.set_include_deleted(true);
  }
  BERTH_ASSIGN_OR_RETURN(const auto answer, CallPaged<pb::ListInstancesResponse>(
                                                session, request, arguments.limit,
                                                arguments.hidden ? KeepAll : KeepVisible));
  SayIfCut(session, answer, arguments.limit);
  return session.Print(answer, InstanceTable(answer.instances()), UuidsOf(answer.instances()));
}

template <typename Answer>
absl::Status PrintInstance(Session& session, const Answer& answer) {
  return session.Print(answer, InstancePage(answer.instance(), session.screen),
                       {answer.instance().uuid()});
}

absl::Status ShowInstance(Session& session, const InstanceArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto answer, ReadInstance(session, arguments.instance));
  return PrintInstance(session, answer);
}

absl::Status CreateInstance(Session& session, const CreateInstanceArguments& arguments) {
  pb::SetInstanceRequest request;
  pb::Instance* const instance = request.mutable_instance();
  BERTH_RETURN_IF_ERROR(ReadInstanceFile(arguments.record, instance));
  if (!arguments.uuid.empty()) instance->set_uuid(arguments.uuid);
  if (instance->uuid().empty()) instance->set_uuid(RandomUuid());
  if (instance->vm_state().empty()) instance->set_vm_state("building");
  BERTH_RETURN_IF_ERROR(ChangeInstance(session, arguments.record, instance));
  request.set_reason(arguments.reason);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::SetInstanceResponse>(request));
  return PrintInstance(session, answer);
}

// Refuses the record of another instance, and a record whose generation nobody knows: the write
// would replace what others have changed since the file was made.
absl::Status CheckFile(const SetInstanceArguments& arguments, const pb::Instance& instance) {
  const std::string& file = arguments.record.file;
  if (!instance.uuid().empty() && !absl::EqualsIgnoreCase(instance.uuid(), arguments.instance)) {
    return WrongOption("--file", absl::StrCat(file, " is the record of ", instance.uuid(),
                                              ", not of ", arguments.instance));
  }
  if (instance.generation() != 0 || arguments.generation) return absl::OkStatus();
  return WrongOption("--generation", absl::StrCat(file, " has no generation: give --generation"));
}

// Refuses to change the state or the task of an instance without a reason.
absl::Status CheckReason(const pb::Instance& stored, const pb::Instance& wanted,
                         const std::string& reason) {
  const std::string before = StateOf(stored);
  const std::string after = StateOf(wanted);
  if (!reason.empty() || before == after) return absl::OkStatus();
  return WrongOption("--reason", absl::StrCat("--reason is required: the state changes from '",
                                              before, "' to '", after, "'"));
}

// Changes the record from the file, or the stored one if no file is given, and writes it.
absl::Status SetOnce(Session& session, const SetInstanceArguments& arguments,
                     pb::SetInstanceResponse* answer) {
  pb::SetInstanceRequest request;
  pb::Instance* const instance = request.mutable_instance();
  const bool from_file = !arguments.record.file.empty();
  BERTH_RETURN_IF_ERROR(ReadInstanceFile(arguments.record, instance));
  if (from_file) BERTH_RETURN_IF_ERROR(CheckFile(arguments, *instance));
  BERTH_ASSIGN_OR_RETURN(const auto stored, ReadInstance(session, arguments.instance));
  if (!from_file) *instance = stored.instance();
  instance->set_uuid(arguments.instance);
  BERTH_RETURN_IF_ERROR(ChangeInstance(session, arguments.record, instance));
  BERTH_RETURN_IF_ERROR(CheckReason(stored.instance(), *instance, arguments.reason));
  request.set_expected_generation(arguments.generation.value_or(instance->generation()));
  request.set_reason(arguments.reason);
  return session.Call(request, answer);
}

absl::Status SetInstance(Session& session, const SetInstanceArguments& arguments) {
  if (arguments.record.file.empty() && arguments.record.given.empty()) {
    return WrongOption("--file", "nothing to change: give --file or an option such as --host");
  }
  pb::SetInstanceResponse answer;
  const auto once = [&] { return SetOnce(session, arguments, &answer); };
  // A file holds a decision about the record as it was read into the file.
  const bool decided = arguments.generation || !arguments.record.file.empty();
  BERTH_RETURN_IF_ERROR(decided ? once() : OnFreshGeneration(once));
  return PrintInstance(session, answer);
}

absl::Status DeleteInstance(Session& session, const DeleteInstanceArguments& arguments) {
  pb::DeleteInstanceRequest request;
  request.set_instance_uuid(arguments.instance);
  if (arguments.generation) request.set_expected_generation(*arguments.generation);
  request.set_reason(arguments.reason);
  request.set_release(arguments.release);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::DeleteInstanceResponse>(request));
  return session.Print(answer, absl::StrCat("deleted ", arguments.instance, "\n"),
                       {arguments.instance});
}

void AddInstanceUuid(CLI::App* command, std::string* target) {
  command->add_option("instance", *target, "The uuid of the instance")->required();
}

void AddInstanceReading(CLI::App* noun, Session& session) {
  CLI::App* list = AddVerb(*noun, "list", "List the instances that pass all given filters",
                           "berth instance list --host dc1-h07\n"
                           "berth instance list --project team-a --state error,building");
  ListInstancesArguments& listing = Does(list, session, ListInstances);
  list->add_option("--host", listing.host, "Only instances on this host");
  list->add_option("--node", listing.node, "Only instances on this node (name or uuid)");
  list->add_option("--project", listing.project, "Only instances that this project pays for");
  AddList(list, "--state", &listing.states, "Only instances in one of these states");
  list->add_flag("--deleted", listing.deleted,
                 "List deleted instances too; `--state deleted` does so by itself");
  list->add_flag("--hidden", listing.hidden,
                 "List hidden records too, which are copies that exist only during a move; without "
                 "this flag no output format shows them");
  AddLimit(list, &listing.limit, "List at most this many instances");

  CLI::App* show =
      AddVerb(*noun, "show", "Show an instance: its states, amounts, cells, devices and migration",
              "berth instance show 5e08ea53-c4c6-448e-9334-ac4953de3cfa");
  AddInstanceUuid(show, &Does(show, session, ShowInstance).instance);
}

void AddSet(CLI::App* noun, Session& session) {
  CLI::App* set = AddVerb(
      *noun, "set", "Force the state of an instance, or change its record; no guest is changed",
      "berth instance set 5e08ea53-c4c6-448e-9334-ac4953de3cfa --state error --task '' "
      "--reason 'its disk is lost'\n"
      "berth instance show 5e08ea53-c4c6-448e-9334-ac4953de3cfa -o json > web-1.json\n"
      "berth instance set 5e08ea53-c4c6-448e-9334-ac4953de3cfa --file web-1.json");
  SetInstanceArguments& setting = Does(set, session, SetInstance);
  AddInstanceUuid(set, &setting.instance);
  AddInstanceOptions(set, &setting.record);
  AddInstanceFile(set, &setting.record);
  AddText(set, "--reason", &setting.reason, ReasonHelp("if the state or the task changes"));
  set->add_option("--generation", setting.generation,
                  "Fail if the record is no longer at this generation; left out: the file's");
}

}  // namespace

absl::StatusOr<pb::GetInstanceResponse> ReadInstance(Session& session, const std::string& uuid) {
  pb::GetInstanceRequest request;
  request.set_instance_uuid(uuid);
  return session.Call<pb::GetInstanceResponse>(request);
}

void AddInstanceCommands(CLI::App& app, Session& session) {
  CLI::App* noun = AddNoun(app, "instance",
                           "Instances: the records of virtual machines that should run", "Operate");
  AddInstanceReading(noun, session);

  CLI::App* create =
      AddVerb(*noun, "create", "Create the record of an instance; no guest is started",
              "berth instance create --name web-1 --project team-a --user alice --vcpus 4 "
              "--memory 8Gi\n"
              "berth instance create --file web-1.json");
  CreateInstanceArguments& creating = Does(create, session, CreateInstance);
  create->add_option("--uuid", creating.uuid,
                     "The uuid of the instance; left out: the file's, or a random one");
  AddInstanceOptions(create, &creating.record);
  AddInstanceFile(create, &creating.record);
  AddText(create, "--reason", &creating.reason, ReasonHelp());

  AddSet(noun, session);

  CLI::App* remove = AddVerb(
      *noun, "delete",
      "Delete the records of an instance and of its migrations; its allocations stay, unless "
      "--release is given",
      "berth instance delete 5e08ea53-c4c6-448e-9334-ac4953de3cfa --release");
  DeleteInstanceArguments& deleting = Does(remove, session, DeleteInstance);
  AddInstanceUuid(remove, &deleting.instance);
  remove->add_option("--generation", deleting.generation,
                     "Fail if the record is no longer at this generation");
  remove->add_flag("--release", deleting.release,
                   "Release what the instance and its migrations hold, in the same step; without "
                   "this flag, `berth audit --fix superfluous` releases it");
  AddText(remove, "--reason", &deleting.reason, ReasonHelp());
}

}  // namespace berth::cli
