#include "tests/fuzz/script_runner.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "placement/claims/search.h"
#include "placement/search/search.h"
#include "placement/values/refusal.h"
#include "services/wire/allocation.h"
#include "services/wire/candidate.h"
#include "services/wire/candidate_table_writer.h"
#include "services/wire/candidate_writer.h"
#include "services/wire/catalog.h"
#include "services/wire/claim.h"
#include "services/wire/consumer.h"
#include "services/wire/fleet.h"
#include "services/wire/form.h"
#include "services/wire/inventory.h"
#include "services/wire/provider.h"
#include "services/wire/reshape.h"
#include "tests/worlds/candidate_table.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/world.h"

namespace berth::fuzz {
namespace {

using placement::CommandBody;
using placement::State;
using placement::World;

constexpr int kStepsMax = 32;
constexpr int kClaimsMax = 3;  // of one search
constexpr placement::SearchBudget kSearchBudget{.candidates_max = 100, .steps_max = 20'000};

constexpr char kWorld[] = R"(
  cn1[HW_NUMA_ROOT]{VCPU:8 ratio 2 used 3, MEMORY_MB:4096}(agg1)
    pf1{SRIOV_NET_VF:8 used 2}
    pf2{SRIOV_NET_VF:1}
  cn2{VCPU:4, MEMORY_MB:1024 used 1024, DISK_GB:10}
  shr[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:1000}(agg1)
)";

// The command of a step; none for a search.
std::optional<absl::StatusOr<CommandBody>> CommandOf(const State& state, const Step& step) {
  using namespace services;  // NOLINT(google-build-using-namespace): twenty converters
  switch (step.request_case()) {
    case Step::kCreateProvider:
      return CreateProviderCommand(step.create_provider());
    case Step::kUpdateProvider:
      return UpdateProviderCommand(step.update_provider());
    case Step::kDeleteProvider:
      return DeleteProviderCommand(step.delete_provider());
    case Step::kSetInventories:
      return SetInventoriesCommand(step.set_inventories());
    case Step::kCreateInventory:
      return CreateInventoryCommand(step.create_inventory());
    case Step::kUpdateInventory:
      return UpdateInventoryCommand(step.update_inventory());
    case Step::kDeleteInventory:
      return DeleteInventoryCommand(step.delete_inventory());
    case Step::kDeleteAllInventories:
      return DeleteAllInventoriesCommand(step.delete_all_inventories());
    case Step::kSetTraits:
      return SetTraitsCommand(step.set_traits());
    case Step::kClearTraits:
      return ClearTraitsCommand(step.clear_traits());
    case Step::kSetAggregates:
      return SetAggregatesCommand(step.set_aggregates());
    case Step::kCreateClass:
      return CreateClassCommand(step.create_class());
    case Step::kDeleteClass:
      return DeleteClassCommand(step.delete_class());
    case Step::kEnsureTrait:
      return EnsureTraitCommand(step.ensure_trait());
    case Step::kDeleteTrait:
      return DeleteTraitCommand(step.delete_trait());
    case Step::kSetAllocations:
      return SetAllocationsCommand(step.set_allocations());
    case Step::kDeleteAllocations:
      return DeleteAllocationsCommand(step.delete_allocations());
    case Step::kUpdateNode:
      return UpdateNodeCommand(state, step.update_node());
    case Step::kDeleteNode:
      return DeleteNodeCommand(state, step.delete_node());
    case Step::kAdjustAllocations:
      return AdjustAllocationsCommand(step.adjust_allocations());
    case Step::kReshape:
      return ReshapeCommand(step.reshape());
    case Step::kApplyTopology:
      return ApplyTopologyCommand(step.apply_topology());
    case Step::kReleaseConsumers:
      return ReleaseConsumersCommand(step.release_consumers());
    case Step::kSetLease:
      return SetLeaseCommand(step.set_lease());
    case Step::kClaim:
      return ClaimCommand(step.claim());
    case Step::kClaimMany:
      return ClaimManyCommand(step.claim_many());
    case Step::kExpireLeases:
      return placement::ExpireLeases{};
    default:
      return std::nullopt;
  }
}

void ExpectReason(const absl::Status& refused) {
  const auto refusal = placement::RefusalOf(refused);
  EXPECT_TRUE(refusal && !refusal->reason.empty()) << refused;
  EXPECT_NE(refused.message(), "") << refused;
}

class Runner {
 public:
  ScriptOutcome Run(const Script& script) {
    for (int i = 0; i < std::min(kStepsMax, script.steps_size()); ++i) Take(script.steps(i));
    placement::CheckSafety(world_.state());
    return outcome_;
  }

 private:
  void Take(const Step& step) {
    const absl::Status text = services::CheckText(step);
    if (!text.ok()) return Refused(text);
    if (step.has_find_candidates()) return Search(step.find_candidates());
    auto command = CommandOf(world_.state(), step);
    if (!command) return;
    if (!command->ok()) return Refused(command->status());
    auto* const claims = std::get_if<placement::PlaceClaims>(&**command);
    if (claims != nullptr && !Choose(*claims)) return;
    Decide(**std::move(command));
  }

  // As a worker does it before the command is queued; every other time for nothing, so that the
  // rule must search.
  bool Choose(placement::PlaceClaims& claims) {
    const absl::Status found = placement::FindChoices(world_.state(), kSearchBudget, &claims);
    if (!found.ok()) Refused(found);
    if (outcome_.applied % 2 == 1) claims.choices.clear();
    return found.ok();
  }

  bool Decide(CommandBody body) {
    const auto decided = world_.Do(std::move(body));
    if (decided.ok()) {
      ++outcome_.applied;
      return true;
    }
    Refused(decided.status());
    return false;
  }

  void Refused(const absl::Status& status) {
    ExpectReason(status);
    ++outcome_.refused;
  }

  void Search(const placement::v1::FindCandidatesRequest& message) {
    const auto request = services::CandidateRequestOf(message);
    if (!request.ok()) return Refused(request.status());
    const auto found = placement::FindCandidates(world_.state(), *request, kSearchBudget);
    if (!found.ok()) return Refused(found.status());
    ExpectWritten(*found);
    outcome_.candidates += static_cast<int>(found->candidates.size());
    const State searched = world_.state();
    for (size_t i = 0; i < std::min<size_t>(kClaimsMax, found->candidates.size()); ++i) {
      Claim(searched, found->candidates[i]);
    }
  }

  template <typename Writer>
  placement::v1::FindCandidatesResponse WrittenBy(const placement::SearchResult& found) {
    Writer writer(world_.state(), 1);
    for (const placement::Candidate& each : found.candidates) writer.Add(each);
    const services::WireBytes bytes = writer.End(found, true);
    placement::v1::FindCandidatesResponse response;
    EXPECT_TRUE(response.ParseFromArray(bytes.data.get(), static_cast<int>(bytes.size)));
    return response;
  }

  void ExpectWritten(const placement::SearchResult& found) {
    const auto response = WrittenBy<services::CandidateWriter>(found);
    const auto expanded = services::Expand(WrittenBy<services::CandidateTableWriter>(found));
    ASSERT_EQ(expanded.candidates_size(), response.candidates_size());
    for (int i = 0; i < response.candidates_size(); ++i) {
      EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(expanded.candidates(i),
                                                                     response.candidates(i)));
    }
    ASSERT_EQ(response.candidates_size(), static_cast<int>(found.candidates.size()));
    for (int i = 0; i < response.candidates_size(); ++i) {
      std::set<std::string> written, expected;
      for (const auto& each : response.candidates(i).allocations()) {
        written.insert(each.provider_uuid());
      }
      for (const placement::Allocation& each : found.candidates[i].allocations) {
        expected.insert(each.provider.ToString());
      }
      EXPECT_EQ(written, expected);
      EXPECT_EQ(response.candidates(i).root_uuid(), found.candidates[i].root.ToString());
    }
  }

  // By a consumer that was never there, and released at once: each candidate fits by itself.
  void Claim(const State& searched, const placement::Candidate& candidate) {
    placement::ConsumerAllocations consumer;
    consumer.consumer = placement::ConsumerId{placement::Uuid{9, ++consumers_}};
    consumer.project = consumer.user = "fuzz";
    consumer.type = "INSTANCE";
    for (const placement::Allocation& each : candidate.allocations) {
      if (consumer.allocations.empty() ||
          !(consumer.allocations.back().provider == each.provider)) {
        consumer.allocations.push_back({each.provider, {}});
      }
      consumer.allocations.back().amounts.push_back(
          {searched.catalog().classes.NameOf(each.resource_class), each.amount});
    }
    if (consumer.allocations.empty()) return;  // every group without resources
    placement::SetAllocations claim;
    claim.consumers.push_back(consumer);
    const bool claimed = Decide(claim);
    EXPECT_TRUE(claimed) << "a candidate cannot be claimed";
    outcome_.claimed += claimed ? 1 : 0;
    if (claimed) Decide(placement::DeleteAllocations{consumer.consumer, std::nullopt});
  }

  World world_{kWorld};
  uint64_t consumers_ = 0;
  ScriptOutcome outcome_;
};

}  // namespace

ScriptOutcome RunScript(const Script& script) { return Runner().Run(script); }

}  // namespace berth::fuzz
