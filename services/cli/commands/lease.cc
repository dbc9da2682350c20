#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "berth/placement/v1/allocation.pb.h"
#include "berth/placement/v1/consumer.pb.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/provider_names.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/candidate_view.h"
#include "services/cli/text/time_text.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

struct LeaseArguments {
  std::string consumer, duration;
  bool confirm = false;
  std::optional<int64_t> generation;
};

struct AdjustArguments {
  std::string consumer, provider;
  std::vector<std::string> amounts;
  std::optional<int64_t> generation;
};

absl::Status Lease(Session& session, const LeaseArguments& arguments) {
  if (arguments.confirm != arguments.duration.empty()) {
    return absl::InvalidArgumentError("give either a duration such as 5m or --confirm");
  }
  pb::SetLeaseRequest request;
  request.set_consumer_uuid(arguments.consumer);
  if (arguments.generation) request.set_expected_generation(*arguments.generation);
  if (arguments.confirm) {
    request.mutable_confirmed();
  } else {
    absl::Duration lease;
    if (!absl::ParseDuration(arguments.duration, &lease)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", arguments.duration, "' is not a duration: write 90s, 5m or 2h"));
    }
    request.mutable_lease()->set_seconds(absl::ToInt64Seconds(lease));
  }
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::SetLeaseResponse>(request));
  const std::string text =
      answer.has_lease_expires_at()
          ? absl::StrCat(arguments.consumer, " will be released at ",
                         TimeText(answer.lease_expires_at()))
          : absl::StrCat(arguments.consumer,
                         " has no lease any more and holds until it is released");
  return session.Print(answer, absl::StrCat(text, "\n"), {arguments.consumer});
}

// Parses changes of amounts: `VCPU=2` adds 2, `VCPU=-2` takes 2 away.
absl::StatusOr<Amounts> ParseChanges(const std::vector<std::string>& texts) {
  Amounts changes;
  for (const std::string& text : Listed(texts)) {
    const bool takes = absl::StrContains(text, "=-");
    BERTH_ASSIGN_OR_RETURN(const auto one,
                           ParseAmounts({absl::StrReplaceAll(text, {{"=-", "="}, {"=+", "="}})}));
    for (const auto& [name, amount] : one) {
      if (!changes.emplace(name, takes ? -amount : amount).second) {
        return absl::InvalidArgumentError(absl::StrCat(name, " is given twice"));
      }
    }
  }
  return changes;
}

absl::Status Adjust(Session& session, const AdjustArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto changes, ParseChanges(arguments.amounts));
  BERTH_ASSIGN_OR_RETURN(const auto uuid, ProviderUuid(session, arguments.provider));
  pb::AdjustAllocationsRequest request;
  request.set_consumer_uuid(arguments.consumer);
  if (arguments.generation) request.set_expected_generation(*arguments.generation);
  pb::AllocationAdjustment* adjustment = request.add_adjustments();
  adjustment->set_provider_uuid(uuid);
  adjustment->mutable_amounts()->insert(changes.begin(), changes.end());
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::AdjustAllocationsResponse>(request));
  if (!answer.has_consumer()) {
    return session.Print(answer, absl::StrCat("released ", arguments.consumer, "\n"),
                         {arguments.consumer});
  }
  return session.Print(answer, AllocationTable(answer.consumer(), {{uuid, arguments.provider}}),
                       {arguments.consumer});
}

}  // namespace

void AddLeaseCommands(CLI::App& app, Session& session) {
  CLI::App* adjust = AddVerb(
      app, "adjust", "Add amounts to what a consumer holds on a provider, or take amounts away",
      "berth adjust 5e08ea53-c4c6-448e-9334-ac4953de3cfa dc1-h07 VCPU=2 MEMORY_MB=-1Gi",
      "Find and claim");
  AdjustArguments& adjusting = Does(adjust, session, Adjust);
  adjust->add_option("consumer", adjusting.consumer, "The uuid of the consumer")->required();
  AddProviderName(adjust, &adjusting.provider);
  adjust->add_option("amounts", adjusting.amounts, "CLASS=AMOUNT adds, CLASS=-AMOUNT takes away")
      ->required();
  adjust->add_option("--generation", adjusting.generation,
                     "Fail if the consumer is no longer at this generation");

  CLI::App* lease =
      AddVerb(app, "lease",
              "Set or remove a lease: the time after which a consumer is released automatically",
              "berth lease 5e08ea53-c4c6-448e-9334-ac4953de3cfa 5m\n"
              "berth lease 5e08ea53-c4c6-448e-9334-ac4953de3cfa --confirm",
              "Find and claim");
  LeaseArguments& leasing = Does(lease, session, Lease);
  lease->add_option("consumer", leasing.consumer, "The uuid of the consumer")->required();
  lease->add_option("duration", leasing.duration,
                    "The time from now, such as 90s, 5m or 2h; or give --confirm");
  lease->add_flag(
      "--confirm", leasing.confirm,
      "Remove the lease: the consumer keeps its allocations until somebody releases them");
  lease->add_option("--generation", leasing.generation,
                    "Fail if the consumer is no longer at this generation");
}

}  // namespace berth::cli
