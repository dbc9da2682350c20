#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/allocation.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/pages.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/text/candidate_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct AllocationArguments {
  std::string consumer, provider;
  bool tree = false;
  int limit = kListed;
};

absl::Status OfConsumer(Session& session, const AllocationArguments& arguments) {
  pb::GetAllocationsRequest request;
  request.set_consumer_uuid(arguments.consumer);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::GetAllocationsResponse>(request));
  if (!answer.has_consumer()) {
    return Refused(absl::StatusCode::kNotFound, "CONSUMER_NOT_FOUND",
                   absl::StrCat("consumer ", arguments.consumer, " holds nothing"),
                   {{{"consumer", arguments.consumer}}});
  }
  const auto uuids = HeldProviders(std::vector{answer.consumer()});
  BERTH_ASSIGN_OR_RETURN(const auto names, ProviderNames(session, uuids));
  session.Say(absl::StrCat(answer.consumer().consumer_type(), " of ",
                           answer.consumer().project_id(), ", generation ",
                           answer.consumer().generation()));
  return session.Print(answer, AllocationTable(answer.consumer(), names),
                       {uuids.begin(), uuids.end()});
}

absl::Status OfProvider(Session& session, const AllocationArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  pb::ListProviderAllocationsRequest request;
  request.set_provider_uuid(uuid);
  request.set_whole_tree(arguments.tree);
  BERTH_ASSIGN_OR_RETURN(const auto answer, CallPaged<pb::ListProviderAllocationsResponse>(
                                                session, request, arguments.limit));
  SayIfCut(session, answer, arguments.limit);
  BERTH_ASSIGN_OR_RETURN(const auto names,
                         ProviderNames(session, HeldProviders(answer.consumers())));
  return session.Print(answer, ConsumerTable(answer.consumers(), names),
                       UuidsOf(answer.consumers()));
}

absl::Status Allocations(Session& session, const AllocationArguments& arguments) {
  if (arguments.consumer.empty() == arguments.provider.empty()) {
    return absl::InvalidArgumentError("name either a consumer or --provider NAME");
  }
  return arguments.provider.empty() ? OfConsumer(session, arguments)
                                    : OfProvider(session, arguments);
}

}  // namespace

void AddAllocationCommands(CLI::App& app, Session& session) {
  CLI::App* command =
      AddVerb(app, "allocations",
              "Show what a consumer holds, or which consumers hold something on a provider",
              "berth allocations 5e08ea53-c4c6-448e-9334-ac4953de3cfa\n"
              "berth allocations --provider dc1-h07 --tree",
              "Find and claim");
  AllocationArguments& arguments = Does(command, session, Allocations);
  command->add_option("consumer", arguments.consumer, "The uuid of the consumer");
  command->add_option("--provider", arguments.provider,
                      "Show the consumers of this provider (name or uuid)");
  command->add_flag("--tree", arguments.tree,
                    "With --provider: show the consumers of all providers in its tree");
  AddLimit(command, &arguments.limit, "List at most this many consumers");
}

}  // namespace berth::cli
