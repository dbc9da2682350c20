#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "berth/placement/v1/association.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/session/retry.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct ProviderAggregatesArguments {
  std::string provider;
};

struct ChangeAggregatesArguments {
  std::string provider;
  std::vector<std::string> aggregates;
};

enum class AggregateChange { kAdd, kRemove };

std::string AggregateLines(const google::protobuf::RepeatedPtrField<std::string>& uuids) {
  return uuids.empty() ? "" : absl::StrJoin(uuids, "\n") + "\n";
}

absl::Status GetAggregates(Session& session, const std::string& uuid,
                           pb::GetProviderAggregatesResponse* answer) {
  pb::GetProviderAggregatesRequest request;
  request.set_provider_uuid(uuid);
  return session.Call(request, answer);
}

absl::Status ShowAggregates(Session& session, const ProviderAggregatesArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  pb::GetProviderAggregatesResponse answer;
  BERTH_RETURN_IF_ERROR(GetAggregates(session, uuid, &answer));
  return session.Print(answer, AggregateLines(answer.aggregate_uuids()),
                       {answer.aggregate_uuids().begin(), answer.aggregate_uuids().end()});
}

absl::Status ChangeAggregatesOnce(Session& session, const std::string& uuid, AggregateChange change,
                                  const std::vector<std::string>& aggregates,
                                  pb::SetProviderAggregatesResponse* answer) {
  pb::GetProviderAggregatesResponse stored;
  BERTH_RETURN_IF_ERROR(GetAggregates(session, uuid, &stored));
  std::set<std::string> wanted(stored.aggregate_uuids().begin(), stored.aggregate_uuids().end());
  for (const std::string& aggregate : aggregates) {
    if (change == AggregateChange::kAdd) {
      wanted.insert(aggregate);
    } else {
      wanted.erase(aggregate);
    }
  }
  pb::SetProviderAggregatesRequest write;
  write.set_provider_uuid(uuid);
  write.set_expected_generation(stored.generation());
  for (const std::string& aggregate : wanted) write.add_aggregate_uuids(aggregate);
  return session.Call(write, answer);
}

absl::Status ChangeAggregates(Session& session, AggregateChange change,
                              const ChangeAggregatesArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  const std::vector<std::string> aggregates = Listed(arguments.aggregates);
  pb::SetProviderAggregatesResponse answer;
  BERTH_RETURN_IF_ERROR(OnFreshGeneration(
      [&] { return ChangeAggregatesOnce(session, uuid, change, aggregates, &answer); }));
  return session.Print(answer, AggregateLines(answer.aggregate_uuids()),
                       {answer.aggregate_uuids().begin(), answer.aggregate_uuids().end()});
}

absl::Status AddAggregates(Session& session, const ChangeAggregatesArguments& arguments) {
  return ChangeAggregates(session, AggregateChange::kAdd, arguments);
}

absl::Status RemoveAggregates(Session& session, const ChangeAggregatesArguments& arguments) {
  return ChangeAggregates(session, AggregateChange::kRemove, arguments);
}

}  // namespace

void AddAggregateCommands(CLI::App& app, Session& session) {
  CLI::App* noun =
      AddNoun(app, "aggregate", "Sets of providers, for example racks, zones or sharing sets");
  noun->group("Show and change");

  CLI::App* show =
      AddVerb(*noun, "show", "Show the aggregates of a provider", "berth aggregate show dc1-h07");
  show->add_option("provider", Does(show, session, ShowAggregates).provider,
                   "Name or uuid of the provider")
      ->required();

  CLI::App* add =
      AddVerb(*noun, "add", "Put a provider into aggregates; new aggregates need no creation",
              "berth aggregate add dc1-h07 5e08ea53-c4c6-448e-9334-ac4953de3cfa");
  ChangeAggregatesArguments& adding = Does(add, session, AddAggregates);
  add->add_option("provider", adding.provider, "Name or uuid of the provider")->required();
  add->add_option("aggregates", adding.aggregates, "The uuids of the aggregates")->required();

  CLI::App* remove = AddVerb(*noun, "remove", "Take a provider out of aggregates",
                             "berth aggregate remove dc1-h07 5e08ea53-c4c6-448e-9334-ac4953de3cfa");
  ChangeAggregatesArguments& removing = Does(remove, session, RemoveAggregates);
  remove->add_option("provider", removing.provider, "Name or uuid of the provider")->required();
  remove->add_option("aggregates", removing.aggregates, "The uuids of the aggregates")->required();
}

}  // namespace berth::cli
