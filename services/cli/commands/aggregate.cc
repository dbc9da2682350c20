#include "berth/placement/v1/association.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/provider_set.h"

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

}  // namespace

void AddAggregateCommands(CLI::App& app, Session& session) {
  CLI::App* noun =
      AddNoun(app, "aggregate",
              "Aggregates: sets of providers, such as racks, zones or hosts that share a disk",
              "Show and change");

  CLI::App* show =
      AddVerb(*noun, "show", "Show the aggregates of a provider", "berth aggregate show dc1-h07");
  AddProviderName(show, &Does(show, session, ShowSet<Aggregates>).provider);

  CLI::App* add = AddVerb(
      *noun, "add", "Put a provider into aggregates; an aggregate that does not exist is created",
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

}  // namespace berth::cli
