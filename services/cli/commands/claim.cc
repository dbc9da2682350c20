#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/commands/query_options.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/session/retry.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/candidate_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct ClaimArguments {
  QueryOptions query;
  OrderOptions order;
  std::string consumer, provider, lease;
  std::string project = "default";
  std::string user = "berth";
  std::string type = "INSTANCE";
  std::optional<int64_t> generation;
};

// Sets the fields of `claimant` (ConsumerAllocations or ClaimConsumer) that say who claims.
template <typename Claimant>
absl::Status SetClaimant(const ClaimArguments& arguments, Claimant* claimant) {
  claimant->set_consumer_uuid(arguments.consumer.empty() ? RandomUuid() : arguments.consumer);
  if (arguments.generation) {
    claimant->set_generation(*arguments.generation);
  } else {
    claimant->mutable_new_consumer();
  }
  claimant->set_project_id(arguments.project);
  claimant->set_user_id(arguments.user);
  claimant->set_consumer_type(arguments.type);
  if (arguments.lease.empty()) return absl::OkStatus();
  absl::Duration lease;
  if (!absl::ParseDuration(arguments.lease, &lease)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--lease '", arguments.lease, "' is wrong: it must be a duration such as 5m"));
  }
  claimant->mutable_lease()->set_seconds(absl::ToInt64Seconds(lease));
  return absl::OkStatus();
}

// Returns what a claim allocated, in the form in which GetAllocations would return it.
template <typename Claimant, typename Answer, typename Allocations>
pb::GetAllocationsResponse TakenBy(const Claimant& claimant, int64_t generation,
                                   const Answer& answer, const Allocations& allocations) {
  pb::GetAllocationsResponse taken;
  *taken.mutable_revision() = answer.revision();
  pb::Consumer* consumer = taken.mutable_consumer();
  consumer->set_uuid(claimant.consumer_uuid());
  consumer->set_generation(generation);
  consumer->set_project_id(claimant.project_id());
  consumer->set_user_id(claimant.user_id());
  consumer->set_consumer_type(claimant.consumer_type());
  *consumer->mutable_allocations() = allocations;
  return taken;
}

// Makes one call in which the server finds providers and allocates on them. If the answer is lost,
// or if the server has not begun the write, makes the call again with the same request id.
absl::StatusOr<pb::GetAllocationsResponse> TakeBest(Session& session,
                                                    const ClaimArguments& arguments) {
  pb::ClaimRequest request;
  BERTH_RETURN_IF_ERROR(SetClaimant(arguments, request.mutable_consumer()));
  BERTH_ASSIGN_OR_RETURN(*request.mutable_query(), QueryOf(session, arguments.query));
  BERTH_ASSIGN_OR_RETURN(*request.mutable_order(), OrderOf(arguments.order));
  pb::ClaimResponse answer;
  BERTH_RETURN_IF_ERROR(WhileOpen([&] { return session.Call(request, &answer); }));
  if (answer.seed() != 0) {
    session.Say(
        absl::StrCat("chosen at random; to get the same choice again, use --seed ", answer.seed()));
  }
  return TakenBy(request.consumer(), answer.generation(), answer, answer.candidate().allocations());
}

absl::StatusOr<pb::GetAllocationsResponse> TakeFrom(Session& session,
                                                    const ClaimArguments& arguments,
                                                    NamesByUuid* names) {
  pb::SetAllocationsRequest request;
  pb::ConsumerAllocations* claimant = request.add_consumers();
  BERTH_RETURN_IF_ERROR(SetClaimant(arguments, claimant));
  BERTH_ASSIGN_OR_RETURN(const auto amounts, ParseAmounts(arguments.query.resources));
  if (amounts.empty()) {
    return absl::InvalidArgumentError(
        "the amounts to claim are missing: --resources VCPU=4,MEMORY_MB=8Gi");
  }
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  (*names)[uuid] = arguments.provider;
  pb::ProviderAllocation* allocation = claimant->add_allocations();
  allocation->set_provider_uuid(uuid);
  allocation->mutable_resources()->insert(amounts.begin(), amounts.end());
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::SetAllocationsResponse>(request));
  const auto& generations = answer.consumer_generations();
  const int64_t generation = generations.empty() ? 0 : generations.begin()->second;
  return TakenBy(*claimant, generation, answer, claimant->allocations());
}

absl::Status Claim(Session& session, const ClaimArguments& arguments) {
  NamesByUuid names;
  BERTH_ASSIGN_OR_RETURN(const auto taken, arguments.provider.empty()
                                               ? TakeBest(session, arguments)
                                               : TakeFrom(session, arguments, &names));
  // The claim is made, so an error of this look-up must not hide it.
  if (names.empty()) {
    const auto held = HeldProviders(std::vector{taken.consumer()});
    names = ProviderNames(session, held).value_or(NamesByUuid());
  }
  return session.Print(taken, ClaimPage(taken.consumer(), names, session.screen),
                       {taken.consumer().uuid()});
}

}  // namespace

void AddClaimCommands(CLI::App& app, Session& session) {
  CLI::App* claim =
      AddVerb(app, "claim",
              "Find providers that a request fits on, and allocate the request there in one step",
              "berth claim --resources VCPU=4,MEMORY_MB=8Gi --order spread\n"
              "berth claim -r VCPU=4 --provider dc1-h07 --consumer $(uuidgen)",
              "Find and claim");
  ClaimArguments& claiming = Does(claim, session, Claim);
  AddQueryOptions(claim, &claiming.query);
  AddOrderOptions(claim, &claiming.order);
  claim->add_option("--provider", claiming.provider,
                    "Allocate on this provider, without a search (name or uuid)");
  claim->add_option("--consumer", claiming.consumer,
                    "The uuid of the consumer; left out: a random one");
  claim->add_option("--project", claiming.project, "The project that pays")->capture_default_str();
  claim->add_option("--user", claiming.user, "The user who asks")->capture_default_str();
  claim->add_option("--type", claiming.type, "The type of the consumer")->capture_default_str();
  claim->add_option(
      "--generation", claiming.generation,
      "Replace all that the consumer holds, if it is still at this generation; left out: "
      "fail if the consumer exists");
  claim->add_option("--lease", claiming.lease,
                    "Release the consumer automatically after this time, such as 5m");
}

}  // namespace berth::cli
