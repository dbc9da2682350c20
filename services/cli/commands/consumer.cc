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

struct TypesArguments {};

absl::Status ListConsumers(Session& session, const ListConsumersArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto request, ListOf(session, arguments.filter));
  pb::ListConsumersResponse answer;
  const auto count = [](const auto& page) { return page.consumers_size(); };
  BERTH_RETURN_IF_ERROR(CallPaged(session, request, arguments.limit, count, &answer));
  if (!answer.next_page_token().empty()) {
    session.Say(absl::StrCat("only the first ", arguments.limit,
                             " are shown; a larger --limit shows more"));
  }
  std::set<std::string> providers;
  std::vector<std::string> consumers;
  for (const pb::Consumer& consumer : answer.consumers()) {
    for (const pb::ProviderAllocation& allocation : consumer.allocations()) {
      providers.insert(allocation.provider_uuid());
    }
    consumers.push_back(consumer.uuid());
  }
  // Names are looked up for people only. If the output is for programs, no names are looked up.
  NamesByUuid names;
  if (session.settings.format == Format::kTable) {
    BERTH_ASSIGN_OR_RETURN(names, ProviderNames(session, providers));
  }
  return session.Print(answer, ConsumerTable(answer.consumers(), names), consumers);
}

absl::Status Types(Session& session, const TypesArguments&) {
  pb::ListConsumerTypesResponse answer;
  const auto count = [](const auto& page) { return page.consumer_types_size(); };
  BERTH_RETURN_IF_ERROR(
      CallPaged(session, pb::ListConsumerTypesRequest(), kListed, count, &answer));
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
      AddNoun(app, "consumer", "Consumers: instances and others that hold allocations");
  noun->group("Operate");

  CLI::App* list = AddVerb(*noun, "list", "List the consumers that pass all given filters",
                           "berth consumer list --project team-a --idle 720h\n"
                           "berth consumer list --tree dc1-h07 -o name");
  ListConsumersArguments& arguments = Does(list, session, ListConsumers);
  AddConsumerFilter(list, &arguments.filter);
  list->add_option("--limit", arguments.limit, "List at most this many consumers")
      ->check(CLI::PositiveNumber);

  CLI::App* types =
      AddVerb(*noun, "types", "List the types of the existing consumers", "berth consumer types");
  Does(types, session, Types);
}

}  // namespace berth::cli
