#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/placement/v1/aggregate.pb.h"
#include "berth/placement/v1/association.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/provider_set.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/retry.h"
#include "services/cli/text/record_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct Aggregates {
  using Read = pb::GetProviderAggregatesRequest;
  using Stored = pb::GetProviderAggregatesResponse;
  using Write = pb::SetProviderAggregatesRequest;
  using Written = pb::SetProviderAggregatesResponse;
  static auto* Of(auto& message) { return message.mutable_aggregate_uuids(); }
};

struct ListAggregatesArguments {
  std::string name;
  int limit = kListed;
};

struct AggregateArguments {
  std::string aggregate;
};

struct CreateAggregateArguments {
  std::string name, uuid;
  std::vector<std::string> meta;
};

struct SetAggregateArguments {
  std::string aggregate, name;
  std::vector<std::string> meta, unset;
  std::optional<int64_t> generation;
};

struct DeleteAggregateArguments {
  std::string aggregate;
  std::optional<int64_t> generation;
};

// Puts the entries KEY=VALUE into the metadata.
absl::Status ReadMetadata(const std::vector<std::string>& texts, pb::Aggregate* aggregate) {
  for (const std::string& text : texts) {
    const std::pair<std::string, std::string> entry = absl::StrSplit(text, absl::MaxSplits('=', 1));
    if (entry.first.empty() || entry.first.size() == text.size()) {
      return WrongOption("--meta", absl::StrCat("'", text, "' is wrong: write KEY=VALUE"));
    }
    (*aggregate->mutable_metadata())[entry.first] = entry.second;
  }
  return absl::OkStatus();
}

absl::StatusOr<pb::Aggregate> ReadAggregate(Session& session, const std::string& text) {
  if (IsUuid(text)) {
    pb::GetAggregateRequest request;
    request.set_aggregate_uuid(text);
    BERTH_ASSIGN_OR_RETURN(auto answer, session.Call<pb::GetAggregateResponse>(request));
    return std::move(*answer.mutable_aggregate());
  }
  pb::ListAggregatesRequest request;
  request.set_name(text);
  BERTH_ASSIGN_OR_RETURN(auto answer, session.Call<pb::ListAggregatesResponse>(request));
  if (answer.aggregates().empty()) {
    return Refused(absl::StatusCode::kNotFound, "AGGREGATE_NOT_FOUND",
                   absl::StrCat("there is no aggregate named '", text, "'"), {{{"name", text}}});
  }
  return std::move(*answer.mutable_aggregates(0));
}

absl::Status ListAggregates(Session& session, const ListAggregatesArguments& arguments) {
  pb::ListAggregatesRequest request;
  if (!arguments.name.empty()) request.set_name(arguments.name);
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ListAggregatesResponse>(session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  return session.Print(answer, AggregateTable(answer.aggregates()), UuidsOf(answer.aggregates()));
}

absl::Status DescribeAggregate(Session& session, const AggregateArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const pb::Aggregate aggregate,
                         ReadAggregate(session, arguments.aggregate));
  pb::GetAggregateResponse answer;
  *answer.mutable_aggregate() = aggregate;
  return session.Print(answer, AggregatePage(aggregate), {aggregate.uuid()});
}

absl::Status PrintAggregate(Session& session, const pb::SetAggregateResponse& answer) {
  return session.Print(answer, AggregatePage(answer.aggregate()), {answer.aggregate().uuid()});
}

absl::Status CreateAggregate(Session& session, const CreateAggregateArguments& arguments) {
  pb::SetAggregateRequest request;
  pb::Aggregate* const aggregate = request.mutable_aggregate();
  aggregate->set_uuid(arguments.uuid.empty() ? RandomUuid() : arguments.uuid);
  aggregate->set_name(arguments.name);
  BERTH_RETURN_IF_ERROR(ReadMetadata(arguments.meta, aggregate));
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::SetAggregateResponse>(request));
  return PrintAggregate(session, answer);
}

absl::Status SetAggregateOnce(Session& session, const SetAggregateArguments& arguments,
                              pb::SetAggregateResponse* answer) {
  BERTH_ASSIGN_OR_RETURN(pb::Aggregate stored, ReadAggregate(session, arguments.aggregate));
  for (const std::string& key : arguments.unset) stored.mutable_metadata()->erase(key);
  BERTH_RETURN_IF_ERROR(ReadMetadata(arguments.meta, &stored));
  if (!arguments.name.empty()) stored.set_name(arguments.name);
  pb::SetAggregateRequest request;
  request.set_expected_generation(arguments.generation.value_or(stored.generation()));
  *request.mutable_aggregate() = std::move(stored);
  return session.Call(request, answer);
}

absl::Status SetAggregate(Session& session, const SetAggregateArguments& arguments) {
  if (arguments.name.empty() && arguments.meta.empty() && arguments.unset.empty()) {
    return WrongOption("--meta", "say what changes: --name NAME, --meta KEY=VALUE or --unset KEY");
  }
  pb::SetAggregateResponse answer;
  const auto once = [&] { return SetAggregateOnce(session, arguments, &answer); };
  BERTH_RETURN_IF_ERROR(arguments.generation ? once() : OnFreshGeneration(once));
  return PrintAggregate(session, answer);
}

absl::Status DeleteAggregate(Session& session, const DeleteAggregateArguments& arguments) {
  std::string uuid = arguments.aggregate;
  if (!IsUuid(uuid)) {
    BERTH_ASSIGN_OR_RETURN(const pb::Aggregate aggregate, ReadAggregate(session, uuid));
    uuid = aggregate.uuid();
  }
  pb::DeleteAggregateRequest request;
  request.set_aggregate_uuid(uuid);
  if (arguments.generation) request.set_expected_generation(*arguments.generation);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::DeleteAggregateResponse>(request));
  return session.Print(answer, absl::StrCat("deleted ", uuid, "\n"), {uuid});
}

void AddAggregateName(CLI::App* command, std::string* target) {
  command->add_option("aggregate", *target, "The name or the uuid of the aggregate")->required();
}

void AddMeta(CLI::App* command, std::vector<std::string>* target) {
  AddList(command, "--meta", target, "An entry of the metadata, KEY=VALUE; may be repeated");
}

void AddGeneration(CLI::App* command, std::optional<int64_t>* target) {
  command->add_option("--generation", *target,
                      "Fail if the aggregate is no longer at this generation");
}

// The verbs about the aggregates of one provider.
void AddVerbsOfProviders(CLI::App* noun, Session& session) {
  CLI::App* show = AddVerb(*noun, "show", "Show the uuids of the aggregates of a provider",
                           "berth aggregate show dc1-h07");
  AddProviderName(show, &Does(show, session, ShowSet<Aggregates>).provider);

  CLI::App* add = AddVerb(
      *noun, "add", "Put a provider into aggregates; any uuid will do, with or without a name",
      "berth aggregate add dc1-h07 5e08ea53-c4c6-448e-9334-ac4953de3cfa");
  ChangeSetArguments& adding = Does(add, session, ChangeSet<Aggregates, SetChange::kAdd>);
  AddProviderName(add, &adding.provider);
  add->add_option("aggregates", adding.names, "The uuids of the aggregates")->required();

  CLI::App* remove = AddVerb(*noun, "remove", "Take a provider out of aggregates",
                             "berth aggregate remove dc1-h07 5e08ea53-c4c6-448e-9334-ac4953de3cfa");
  ChangeSetArguments& removing = Does(remove, session, ChangeSet<Aggregates, SetChange::kRemove>);
  AddProviderName(remove, &removing.provider);
  remove->add_option("aggregates", removing.names, "The uuids of the aggregates")->required();
}

// The verbs about the name and the metadata of an aggregate.
void AddVerbsOfNames(CLI::App* noun, Session& session) {
  CLI::App* create =
      AddVerb(*noun, "create", "Give an aggregate a name and metadata; its providers stay",
              "berth aggregate create rack-7 --meta ssd=true --meta cpu_weight_multiplier=2.0\n"
              "berth aggregate create rack-8 --uuid 5e08ea53-c4c6-448e-9334-ac4953de3cfa");
  CreateAggregateArguments& creating = Does(create, session, CreateAggregate);
  create->add_option("name", creating.name, "The name; no other aggregate may have it")->required();
  create->add_option("--uuid", creating.uuid,
                     "The uuid that its providers name; left out: a random one");
  AddMeta(create, &creating.meta);

  CLI::App* set =
      AddVerb(*noun, "set", "Change the name or the metadata of an aggregate; the rest stays",
              "berth aggregate set rack-7 --meta ssd=false --unset cpu_weight_multiplier");
  SetAggregateArguments& setting = Does(set, session, SetAggregate);
  AddAggregateName(set, &setting.aggregate);
  AddText(set, "--name", &setting.name, "The new name");
  AddMeta(set, &setting.meta);
  AddList(set, "--unset", &setting.unset, "The key of an entry to take out; may be repeated");
  AddGeneration(set, &setting.generation);

  CLI::App* list = AddVerb(*noun, "list", "List the aggregates that have a name",
                           "berth aggregate list\nberth aggregate list --name rack-7");
  ListAggregatesArguments& listing = Does(list, session, ListAggregates);
  list->add_option("--name", listing.name, "Only the aggregate with exactly this name");
  AddLimit(list, &listing.limit, "List at most this many aggregates");

  CLI::App* describe =
      AddVerb(*noun, "describe",
              "Show the name and the metadata of an aggregate; `show` is about a provider",
              "berth aggregate describe rack-7");
  AddAggregateName(describe, &Does(describe, session, DescribeAggregate).aggregate);

  CLI::App* erase = AddVerb(*noun, "delete",
                            "Delete the name and the metadata of an aggregate; its providers stay",
                            "berth aggregate delete rack-7");
  DeleteAggregateArguments& deleting = Does(erase, session, DeleteAggregate);
  AddAggregateName(erase, &deleting.aggregate);
  AddGeneration(erase, &deleting.generation);
}

}  // namespace

void AddAggregateCommands(CLI::App& app, Session& session) {
  CLI::App* noun =
      AddNoun(app, "aggregate",
              "Aggregates: sets of providers, such as racks, zones or hosts that share a disk",
              "Show and change");
  noun->footer(
      "show, add and remove are about one provider, and name aggregates by their uuids.\n"
      "create, set, list, describe and delete are about what is kept of an aggregate itself: its "
      "name and its metadata.\n"
      "`berth provider list --member-of UUID` lists the providers of an aggregate.\n"
      "`berth aggregate COMMAND --help` shows an example of each command.");
  AddVerbsOfProviders(noun, session);
  AddVerbsOfNames(noun, session);
}

}  // namespace berth::cli
