#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/provider.pb.h"
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

absl::StatusOr<pb::ConsumerAllocations> ClaimantOf(const ClaimArguments& arguments) {
  pb::ConsumerAllocations claimant;
  claimant.set_consumer_uuid(arguments.consumer.empty() ? RandomUuid() : arguments.consumer);
  if (arguments.generation) {
    claimant.set_generation(*arguments.generation);
  } else {
    claimant.mutable_new_consumer();
  }
  claimant.set_project_id(arguments.project);
  claimant.set_user_id(arguments.user);
  claimant.set_consumer_type(arguments.type);
  if (arguments.lease.empty()) return claimant;
  absl::Duration lease;
  if (!absl::ParseDuration(arguments.lease, &lease)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--lease '", arguments.lease, "' is wrong: it must be a duration such as 5m"));
  }
  claimant.mutable_lease()->set_seconds(absl::ToInt64Seconds(lease));
  return claimant;
}

// Claims on named providers in one write. `claimant` has the providers and the amounts.
absl::Status Take(Session& session, const pb::ConsumerAllocations& claimant,
                  pb::GetAllocationsResponse* taken) {
  pb::SetAllocationsRequest request;
  *request.add_consumers() = claimant;
  pb::SetAllocationsResponse answer;
  BERTH_RETURN_IF_ERROR(session.Call(request, &answer));
  *taken->mutable_revision() = answer.revision();
  pb::Consumer* consumer = taken->mutable_consumer();
  consumer->set_uuid(claimant.consumer_uuid());
  for (const auto& [uuid, generation] : answer.consumer_generations()) {
    consumer->set_generation(generation);
  }
  consumer->set_project_id(claimant.project_id());
  consumer->set_user_id(claimant.user_id());
  consumer->set_consumer_type(claimant.consumer_type());
  *consumer->mutable_allocations() = claimant.allocations();
  return absl::OkStatus();
}

// Makes one call in which the server finds providers and allocates on them. If the answer is lost,
// or if the server has not begun the write, makes the call again with the same request id.
absl::Status TakeBest(Session& session, const ClaimArguments& arguments,
                      const pb::ConsumerAllocations& claimant, pb::GetAllocationsResponse* taken) {
  pb::ClaimRequest request;
  pb::ClaimConsumer* consumer = request.mutable_consumer();
  consumer->set_consumer_uuid(claimant.consumer_uuid());
  if (claimant.has_generation()) {
    consumer->set_generation(claimant.generation());
  } else {
    consumer->mutable_new_consumer();
  }
  consumer->set_project_id(claimant.project_id());
  consumer->set_user_id(claimant.user_id());
  consumer->set_consumer_type(claimant.consumer_type());
  if (claimant.has_lease()) *consumer->mutable_lease() = claimant.lease();
  BERTH_ASSIGN_OR_RETURN(const auto query, QueryOf(session, arguments.query));
  *request.mutable_query() = query;
  BERTH_ASSIGN_OR_RETURN(const auto order, OrderOf(arguments.order));
  *request.mutable_order() = order;
  pb::ClaimResponse answer;
  BERTH_RETURN_IF_ERROR(WhileOpen([&] { return session.Call(request, &answer); }));
  if (answer.seed() != 0) {
    session.Say(
        absl::StrCat("chosen at random; to get the same choice again, use --seed ", answer.seed()));
  }
  *taken->mutable_revision() = answer.revision();
  pb::Consumer* holder = taken->mutable_consumer();
  holder->set_uuid(claimant.consumer_uuid());
  holder->set_generation(answer.generation());
  holder->set_project_id(claimant.project_id());
  holder->set_user_id(claimant.user_id());
  holder->set_consumer_type(claimant.consumer_type());
  *holder->mutable_allocations() = answer.candidate().allocations();
  return absl::OkStatus();
}

// Returns the names of the providers in `consumer`'s allocations, if the output is for people.
// Providers that no longer exist are left out.
NamesByUuid NamesIn(Session& session, const pb::Consumer& consumer) {
  NamesByUuid names;
  if (session.settings.format != Format::kTable) return names;
  for (const pb::ProviderAllocation& allocation : consumer.allocations()) {
    pb::GetProviderRequest request;
    request.set_provider_uuid(allocation.provider_uuid());
    pb::GetProviderResponse answer;
    if (!session.Call(request, &answer).ok()) continue;
    names[allocation.provider_uuid()] = answer.provider().name();
  }
  return names;
}

absl::Status TakeFrom(Session& session, const ClaimArguments& arguments,
                      pb::ConsumerAllocations claimant, pb::GetAllocationsResponse* taken,
                      NamesByUuid* names) {
  BERTH_ASSIGN_OR_RETURN(const auto amounts, ParseAmounts(arguments.query.resources));
  if (amounts.empty()) {
    return absl::InvalidArgumentError(
        "the amounts to claim are missing: --resources VCPU=4,MEMORY_MB=8Gi");
  }
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  (*names)[uuid] = arguments.provider;
  pb::ProviderAllocation* allocation = claimant.add_allocations();
  allocation->set_provider_uuid(uuid);
  allocation->mutable_resources()->insert(amounts.begin(), amounts.end());
  return Take(session, claimant, taken);
}

absl::Status Claim(Session& session, const ClaimArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto claimant, ClaimantOf(arguments));
  pb::GetAllocationsResponse taken;
  NamesByUuid names;
  if (!arguments.provider.empty()) {
    BERTH_RETURN_IF_ERROR(TakeFrom(session, arguments, claimant, &taken, &names));
  } else {
    BERTH_RETURN_IF_ERROR(TakeBest(session, arguments, claimant, &taken));
    names = NamesIn(session, taken.consumer());
  }
  return session.Print(taken, ClaimPage(taken.consumer(), names, session.screen),
                       {taken.consumer().uuid()});
}

}  // namespace

void AddClaimCommands(CLI::App& app, Session& session) {
  CLI::App* claim = AddVerb(
      app, "claim", "Find providers that a request fits on and allocate it there, in one step",
      "berth claim --resources VCPU=4,MEMORY_MB=8Gi --order spread\n"
      "berth claim -r VCPU=4 --provider dc1-h07 --consumer $(uuidgen)");
  claim->group("Find and claim");
  ClaimArguments& claiming = Does(claim, session, Claim);
  AddQueryOptions(claim, &claiming.query);
  AddOrderOptions(claim, &claiming.order);
  claim->add_option("--provider", claiming.provider,
                    "Allocate on this provider and search nowhere (name or uuid)");
  claim->add_option("--consumer", claiming.consumer,
                    "The uuid of the consumer; left out: a random one");
  claim->add_option("--project", claiming.project, "The project that pays")->capture_default_str();
  claim->add_option("--user", claiming.user, "The user who asks")->capture_default_str();
  claim->add_option("--type", claiming.type, "The type of the consumer")->capture_default_str();
  claim->add_option("--generation", claiming.generation,
                    "Replace what the consumer holds; fail if it is no longer at this generation");
  claim->add_option("--lease", claiming.lease,
                    "Release the consumer automatically after this time, such as 5m");
}

}  // namespace berth::cli
