#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "berth/placement/v1/instance.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/instance.h"
#include "services/cli/commands/instance_options.h"
#include "services/cli/commands/node.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/retry.h"
#include "services/cli/text/record_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct ListMigrationsArguments {
  std::string host, node, instance;
  std::vector<std::string> statuses;
  bool in_progress = false, over = false;
  int limit = kListed;
};

struct MigrationArguments {
  std::string migration;
};

struct CreateMigrationArguments {
  std::string instance, type, uuid, status, from, from_node, to, to_node, old_flavor, new_flavor,
      reason;
};

struct SetMigrationArguments {
  std::string migration, status, expected, reason;
  std::optional<std::string> to, to_node;
};

struct EndMigrationArguments {
  std::string migration, end, reason;
  std::optional<int64_t> generation;
  InstanceOptions instance;  // what changes in the record of the instance
};

absl::Status ListMigrations(Session& session, const ListMigrationsArguments& arguments) {
  pb::ListMigrationsRequest request;
  if (!arguments.host.empty()) request.set_host(arguments.host);
  if (!arguments.node.empty()) {
    BERTH_ASSIGN_OR_RETURN(const auto node, NodeUuid(session, arguments.node));
    request.set_node_uuid(node);
  }
  if (!arguments.instance.empty()) request.set_instance_uuid(arguments.instance);
  for (const std::string& status : Listed(arguments.statuses)) request.add_statuses(status);
  if (arguments.in_progress || arguments.over) request.set_in_progress(arguments.in_progress);
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ListMigrationsResponse>(session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  return session.Print(answer, MigrationTable(answer.migrations()), UuidsOf(answer.migrations()));
}

absl::StatusOr<pb::GetMigrationResponse> ReadMigration(Session& session, const std::string& uuid) {
  pb::GetMigrationRequest request;
  request.set_migration_uuid(uuid);
  return session.Call<pb::GetMigrationResponse>(request);
}

template <typename Answer>
absl::Status PrintMigration(Session& session, const Answer& answer) {
  return session.Print(answer, MigrationPage(answer.migration()), {answer.migration().uuid()});
}

absl::Status ShowMigration(Session& session, const MigrationArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto answer, ReadMigration(session, arguments.migration));
  return PrintMigration(session, answer);
}

// The element of an enum that the value of the option `flag` names. `prefix` is the beginning of the
// elements' names; `choices` are the lawful values in words.
template <typename Enum>
absl::StatusOr<Enum> ParseWord(const char* flag, const std::string& text, const char* prefix,
                               bool (*parse)(const std::string&, Enum*), const char* choices) {
  Enum found{};
  if (parse(absl::StrCat(prefix, absl::AsciiStrToUpper(text)), &found) && found != Enum{}) {
    return found;
  }
  return WrongOption(flag, absl::StrCat(flag, " '", text, "' is wrong: write ", choices));
}

// Sets host, node and flavor that the instance leaves: those given, else those of its record.
absl::Status SetSource(Session& session, const CreateMigrationArguments& arguments,
                       pb::Migration* migration) {
  migration->set_source_host(arguments.from);
  migration->set_old_flavor_id(arguments.old_flavor);
  if (!arguments.from_node.empty()) {
    BERTH_ASSIGN_OR_RETURN(*migration->mutable_source_node_uuid(),
                           NodeUuid(session, arguments.from_node));
  }
  if (!arguments.from.empty()) return absl::OkStatus();
  BERTH_ASSIGN_OR_RETURN(const auto read, ReadInstance(session, arguments.instance));
  const pb::Instance& instance = read.instance();
  if (instance.host().empty()) {
    return WrongOption(
        "--from", absl::StrCat("instance ", instance.uuid(), " is on no host: give --from HOST"));
  }
  migration->set_source_host(instance.host());
  if (arguments.from_node.empty()) migration->set_source_node_uuid(instance.node_uuid());
  if (arguments.old_flavor.empty()) migration->set_old_flavor_id(instance.flavor().id());
  return absl::OkStatus();
}

absl::Status CreateMigration(Session& session, const CreateMigrationArguments& arguments) {
  pb::CreateMigrationRequest request;
  pb::Migration* const migration = request.mutable_migration();
  migration->set_uuid(arguments.uuid.empty() ? RandomUuid() : arguments.uuid);
  migration->set_instance_uuid(arguments.instance);
  BERTH_ASSIGN_OR_RETURN(const auto type,
                         ParseWord("--type", arguments.type, "MIGRATION_TYPE_",
                                   pb::MigrationType_Parse, "cold, resize, live or evacuation"));
  migration->set_type(type);
  migration->set_status(arguments.status);
  BERTH_RETURN_IF_ERROR(SetSource(session, arguments, migration));
  migration->set_destination_host(arguments.to);
  if (!arguments.to_node.empty()) {
    BERTH_ASSIGN_OR_RETURN(*migration->mutable_destination_node_uuid(),
                           NodeUuid(session, arguments.to_node));
  }
  migration->set_new_flavor_id(arguments.new_flavor.empty() ? migration->old_flavor_id()
                                                            : arguments.new_flavor);
  request.set_reason(arguments.reason);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::CreateMigrationResponse>(request));
  return PrintMigration(session, answer);
}

absl::Status SetMigration(Session& session, const SetMigrationArguments& arguments) {
  pb::UpdateMigrationRequest request;
  request.set_migration_uuid(arguments.migration);
  request.set_status(arguments.status);
  request.set_reason(arguments.reason);
  if (arguments.to) request.set_destination_host(*arguments.to);
  if (arguments.to_node) {
    request.set_destination_node_uuid("");
    if (!arguments.to_node->empty()) {
      BERTH_ASSIGN_OR_RETURN(*request.mutable_destination_node_uuid(),
                             NodeUuid(session, *arguments.to_node));
    }
  }
  if (arguments.status.empty() && !arguments.to && !arguments.to_node) {
    return WrongOption("--status", "nothing to change: give --status, --to or --to-node");
  }
  pb::UpdateMigrationResponse answer;
  const auto once = [&](const std::string& expected) {
    request.set_expected_status(expected);
    return session.Call(request, &answer);
  };
  if (!arguments.expected.empty()) {
    BERTH_RETURN_IF_ERROR(once(arguments.expected));
  } else {
    BERTH_RETURN_IF_ERROR(OnFreshGeneration([&]() -> absl::Status {
      BERTH_ASSIGN_OR_RETURN(const auto read, ReadMigration(session, arguments.migration));
      return once(read.migration().status());
    }));
  }
  return PrintMigration(session, answer);
}

// Ends the move with the records of the migration and of its instance as they are now.
absl::Status EndOnce(Session& session, const EndMigrationArguments& arguments,
                     pb::EndMoveRequest request, pb::EndMoveResponse* answer) {
  BERTH_ASSIGN_OR_RETURN(const auto migration, ReadMigration(session, arguments.migration));
  BERTH_ASSIGN_OR_RETURN(const auto instance,
                         ReadInstance(session, migration.migration().instance_uuid()));
  request.set_expected_generation(
      arguments.generation.value_or(migration.migration().generation()));
  request.set_expected_instance_generation(instance.instance().generation());
  if (!arguments.instance.given.empty()) {
    *request.mutable_instance() = instance.instance();
    BERTH_RETURN_IF_ERROR(ChangeInstance(session, arguments.instance, request.mutable_instance()));
  }
  return session.Call(request, answer);
}

absl::Status EndMigration(Session& session, const EndMigrationArguments& arguments) {
  pb::EndMoveRequest request;
  request.set_migration_uuid(arguments.migration);
  request.set_reason(arguments.reason);
  BERTH_ASSIGN_OR_RETURN(const auto end,
                         ParseWord("--as", arguments.end, "MOVE_END_", pb::MoveEnd_Parse,
                                   "confirmed, reverted, completed, done, failed or cancelled"));
  request.set_end(end);
  pb::EndMoveResponse answer;
  const auto once = [&] { return EndOnce(session, arguments, request, &answer); };
  BERTH_RETURN_IF_ERROR(arguments.generation ? once() : OnFreshGeneration(once));
  return PrintMigration(session, answer);
}

void AddMigrationReading(CLI::App* noun, Session& session) {
  CLI::App* list = AddVerb(*noun, "list", "List the migrations that pass all given filters",
                           "berth migration list --host dc1-h07 --in-progress\n"
                           "berth migration list --status error,failed");
  ListMigrationsArguments& listing = Does(list, session, ListMigrations);
  list->add_option("--host", listing.host, "Only migrations from or to this host");
  list->add_option("--node", listing.node, "Only migrations from or to this node (name or uuid)");
  list->add_option("--instance", listing.instance, "Only migrations of the instance of this uuid");
  AddList(list, "--status", &listing.statuses, "Only migrations with one of these statuses");
  CLI::Option* const in_progress =
      list->add_flag("--in-progress", listing.in_progress, "Only migrations that are not over");
  list->add_flag("--over", listing.over, "Only migrations that are over")->excludes(in_progress);
  AddLimit(list, &listing.limit, "List at most this many migrations");

  CLI::App* show = AddVerb(*noun, "show", "Show the record of a migration",
                           "berth migration show 7f3c2a52-5b0e-4d5e-9a51-0d6a3f1b2c4d");
  show->add_option("migration", Does(show, session, ShowMigration).migration,
                   "The uuid of the migration")
      ->required();
}

void AddCreate(CLI::App* noun, Session& session) {
  CLI::App* create = AddVerb(*noun, "create", "Create the record of a migration; nothing is moved",
                             "berth migration create 5e08ea53-c4c6-448e-9334-ac4953de3cfa "
                             "--type live --to dc1-h08");
  CreateMigrationArguments& creating = Does(create, session, CreateMigration);
  create->add_option("instance", creating.instance, "The uuid of the instance that moves")
      ->required();
  create->add_option("--type", creating.type, "The kind of move: cold, resize, live or evacuation")
      ->required();
  create->add_option("--from", creating.from,
                     "The host that the instance leaves; left out: the host, node and flavor of "
                     "its record");
  create->add_option("--from-node", creating.from_node,
                     "Name or uuid of the node that the instance leaves");
  create->add_option("--to", creating.to, "The host that the instance goes to");
  create->add_option("--to-node", creating.to_node,
                     "Name or uuid of the node that the instance goes to");
  create->add_option("--old-flavor", creating.old_flavor, "The id of the flavor before the move");
  create->add_option("--new-flavor", creating.new_flavor,
                     "The id of the flavor after the move; left out: the flavor before the move");
  AddText(create, "--status", &creating.status, "The status; left out: accepted");
  AddText(create, "--reason", &creating.reason, ReasonHelp());
  create->add_option("--uuid", creating.uuid, "The uuid of the migration; left out: a random one");
}

void AddEnd(CLI::App* noun, Session& session) {
  CLI::App* end = AddVerb(
      *noun, "end",
      "End a move: set the status of the migration, change the record of the instance, and release "
      "the allocations of one side, in one step; no guest is changed",
      "berth migration end 7f3c2a52-5b0e-4d5e-9a51-0d6a3f1b2c4d --as failed "
      "--reason 'the destination host is lost'\n"
      "berth migration end 7f3c2a52-5b0e-4d5e-9a51-0d6a3f1b2c4d --as completed --host dc1-h08 "
      "--node dc1-h08 --reason 'the guest runs on dc1-h08'");
  EndMigrationArguments& ending = Does(end, session, EndMigration);
  end->add_option("migration", ending.migration, "The uuid of the migration")->required();
  end->add_option("--as", ending.end,
                  "The new status: confirmed or reverted (cold, resize), completed (live, "
                  "evacuation), done (evacuation), failed (any type) or cancelled (live)")
      ->required();
  AddText(end, "--reason", &ending.reason, ReasonHelp("always"))->required();
  end->add_option("--generation", ending.generation,
                  "Fail if the record of the migration is no longer at this generation");
  AddInstanceOptions(end, &ending.instance, "Changes in the record of the instance");
}

}  // namespace

void AddMigrationCommands(CLI::App& app, Session& session) {
  CLI::App* noun =
      AddNoun(app, "migration", "Migrations: the records of moves of instances", "Operate");
  AddMigrationReading(noun, session);
  AddCreate(noun, session);

  CLI::App* set = AddVerb(
      *noun, "set", "Force the status of a migration, or change its destination",
      "berth migration set 7f3c2a52-5b0e-4d5e-9a51-0d6a3f1b2c4d --status failed "
      "--reason 'the destination host is lost'\n"
      "berth migration set 7f3c2a52-5b0e-4d5e-9a51-0d6a3f1b2c4d --to dc1-h08 --to-node dc1-h08");
  SetMigrationArguments& setting = Does(set, session, SetMigration);
  set->add_option("migration", setting.migration, "The uuid of the migration")->required();
  CLI::Option* const reason =
      AddText(set, "--reason", &setting.reason, ReasonHelp("with --status"));
  AddText(set, "--status", &setting.status, "The new status, such as failed")->needs(reason);
  AddText(set, "--expect", &setting.expected, "Fail if the migration has another status than this");
  set->add_option_function<std::string>(
      "--to", [&setting](const std::string& host) { setting.to = host; },
      "The host that the instance goes to; '': not known");
  set->add_option_function<std::string>(
      "--to-node", [&setting](const std::string& node) { setting.to_node = node; },
      "Name or uuid of the node that the instance goes to; '': not known");
  AddEnd(noun, session);
}

}  // namespace berth::cli
