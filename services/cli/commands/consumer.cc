#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/consumer.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/consumer_filter.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/text/candidate_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct ListConsumersArguments {
  ConsumerFilter filter;
  int limit = kListed;
};

absl::Status ListConsumers(Session& session, const ListConsumersArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto request, ListOf(session, arguments.filter));
  BERTH_ASSIGN_OR_RETURN(const auto answer,
                         CallPaged<pb::ListConsumersResponse>(session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  BERTH_ASSIGN_OR_RETURN(const auto names,
                         ProviderNames(session, HeldProviders(answer.consumers())));
  return session.Print(answer, ConsumerTable(answer.consumers(), names),
                       UuidsOf(answer.consumers()));
}

absl::Status Types(Session& session, const NoArguments&) {
  BERTH_ASSIGN_OR_RETURN(const auto answer, CallPaged<pb::ListConsumerTypesResponse>(
                                                session, pb::ListConsumerTypesRequest(), kListed));
  Table table({{"TYPE", Column::Kind::kText}, {"CONSUMERS", Column::Kind::kNumber}});
  std::vector<std::string> types;
  for (const pb::ConsumerTypeCount& type : answer.consumer_types()) {
    table.Add({type.consumer_type(), absl::StrCat(type.consumer_count())});
    types.push_back(type.consumer_type());
  }
  return session.Print(answer, std::move(table), types);
}

}  // namespace

void AddConsumerCommands(CLI::App& app, Session& session) {
  CLI::App* noun =
      AddNoun(app, "consumer", "Consumers: instances and others that hold allocations", "Operate");

  CLI::App* list = AddVerb(*noun, "list", "List the consumers that pass all given filters",
                           "berth consumer list --project team-a --idle 720h\n"
                           "berth consumer list --tree dc1-h07 -o name");
  ListConsumersArguments& arguments = Does(list, session, ListConsumers);
  AddConsumerFilter(list, &arguments.filter);
  AddLimit(list, &arguments.limit, "List at most this many consumers");

  CLI::App* types =
      AddVerb(*noun, "types", "List the types of the existing consumers", "berth consumer types");
  Does(types, session, Types);
}

}  // namespace berth::cli
