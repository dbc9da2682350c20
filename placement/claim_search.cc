#include "placement/claim_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/check.h"
#include "placement/claim_plan.h"
#include "placement/constraint.h"
#include "placement/refusal.h"
#include "placement/search_plan.h"
#include "placement/sharing.h"

namespace berth::placement {
namespace {

// The roots that are looked for at first when all members must stand under one, and how many times
// as many when those do not do.
constexpr int64_t kRootsAtFirst = 16;
constexpr int64_t kRootsGrowth = 16;

// The trees that `candidate` stands on.
std::vector<TreePtr> TreesOf(const State& state, const Candidate& candidate) {
  std::vector<TreePtr> trees = {state.FindTree(candidate.anchor)};
  const auto add = [&](ProviderId provider) {
    for (const TreePtr& tree : trees) {
      if (tree->Find(provider) >= 0) return;
    }
    trees.push_back(state.FindProvider(provider)->tree);
  };
  for (const auto& [suffix, providers] : candidate.mappings) {
    for (const ProviderId provider : providers) add(provider);
  }
  return trees;
}

bool HasRoom(const std::vector<TreePtr>& trees, const Allocation& wanted) {
  for (const TreePtr& tree : trees) {
    const int position = tree->Find(wanted.provider);
    if (position >= 0) return CanTake(*tree, position, {wanted.resource_class, wanted.amount});
  }
  return false;
}

// Whether a provider that serves has `trait`.
bool ServesWith(const Choice& choice, TraitId trait) {
  for (const auto& [suffix, providers] : choice.candidate.mappings) {
    for (const ProviderId provider : providers) {
      for (const TreePtr& tree : choice.trees) {
        const int position = tree->Find(provider);
        if (position >= 0 && tree->config(position).HasTrait(trait)) return true;
      }
    }
  }
  return false;
}

// What is free of a class in all of `tree`.
Amount FreeIn(const Tree& tree, ClassId resource_class) {
  Amount free = 0;
  for (int position = 0; position < tree.size(); ++position) {
    const int row = tree.config(position).FindInventory(resource_class);
    if (row < 0) continue;
    const Amount capacity = tree.config(position).inventories[row].capacity;
    free += std::clamp<Amount>(capacity - tree.used_of(position, row), 0, kAmountMax);
  }
  return free;
}

bool AnySharing(const State& state) { return !Sharing(state).empty(); }

}  // namespace

ConsumerAllocations AllocationsOf(const Catalog& catalog, const ClaimMember& member,
                                  const Candidate& candidate) {
  ConsumerAllocations wanted;
  wanted.consumer = member.consumer;
  wanted.expected_generation = member.expected_generation;
  wanted.project = member.project;
  wanted.user = member.user;
  wanted.type = member.type;
  wanted.lease = member.lease;
  for (const Allocation& allocation : candidate.allocations) {
    if (wanted.allocations.empty() || wanted.allocations.back().provider != allocation.provider) {
      wanted.allocations.push_back({allocation.provider, {}});
    }
    wanted.allocations.back().amounts.push_back(
        {catalog.classes.NameOf(allocation.resource_class), allocation.amount});
  }
  return wanted;
}

ClaimSearch::ClaimSearch(const State& state, const PlaceClaims& claims, int choices_max,
                         int64_t steps_max)
    : state_(state), claims_(claims), choices_max_(choices_max), steps_left_(steps_max) {}

absl::StatusOr<std::vector<Candidate>> ClaimSearch::Place() {
  GiveBack();
  std::vector<Candidate> placed;
  const absl::Status status = claims_.affinity == MemberAffinity::kSameRoot
                                  ? PlaceUnderOneRoot(placed)
                                  : PlaceEach(std::nullopt, placed);
  if (!status.ok()) return status;
  return placed;
}

absl::Status ClaimSearch::PlaceEach(std::optional<ProviderId> under,
                                    std::vector<Candidate>& placed) {
  SearchScope scope;
  scope.only = under;
  for (int member = 0; member < static_cast<int>(claims_.members.size()); ++member) {
    if (const Choice* choice = StandingChoice(member, scope)) {
      placed.push_back(choice->candidate);
      found_.push_back({*choice});
    } else {
      absl::StatusOr<SearchResult> found = Find(member, scope, choices_max_);
      if (!found.ok()) return found.status();
      std::vector<Choice>& choices = found_.emplace_back();
      for (Candidate& candidate : found->candidates) {
        std::vector<TreePtr> trees = TreesOf(now(), candidate);
        choices.push_back({std::move(candidate), std::move(trees)});
      }
      placed.push_back(choices.front().candidate);
    }
    if (claims_.affinity == MemberAffinity::kDifferentRoots) {
      scope.without.insert(placed.back().anchor);
    }
    if (member + 1 < static_cast<int>(claims_.members.size())) Take(member, placed.back());
  }
  return absl::OkStatus();
}

bool ClaimSearch::TryUnder(ProviderId root, absl::Status& failed, std::vector<Candidate>& placed) {
  if (!CouldHoldAll(root)) return false;
  std::optional<State> before = changed_;
  placed.clear();
  found_.clear();
  const absl::Status status = PlaceEach(root, placed);
  if (status.ok()) return true;
  failed = status;
  changed_ = std::move(before);
  return false;
}

absl::Status ClaimSearch::PlaceUnderOneRoot(std::vector<Candidate>& placed) {
  std::set<ProviderId> tried;
  absl::Status failed;
  if (!claims_.choices.empty() && !claims_.choices[0].empty()) {
    const ProviderId chosen = claims_.choices[0][0].candidate.anchor;
    if (TryUnder(chosen, failed, placed)) return absl::OkStatus();
    tried.insert(chosen);
  }
  for (int64_t limit = kRootsAtFirst;; limit *= kRootsGrowth) {
    const absl::StatusOr<SearchResult> found = Find(0, SearchScope(), limit);
    if (!found.ok()) return found.status();
    std::set<ProviderId> roots;
    for (const Candidate& candidate : found->candidates) {
      if (!roots.insert(candidate.anchor).second) break;  // the second round: all roots were there
      if (!tried.insert(candidate.anchor).second) continue;
      if (TryUnder(candidate.anchor, failed, placed)) return absl::OkStatus();
      if (steps_left_ <= 0) return failed;
    }
    if (static_cast<int64_t>(roots.size()) < limit) break;
  }
  return Refused(0, Refuse(absl::StatusCode::kFailedPrecondition, "NO_CANDIDATE",
                           "no root has room for all members together"));
}

bool ClaimSearch::CouldHoldAll(ProviderId root) const {
  const TreePtr tree = now().FindTree(root);
  if (!tree) return false;
  if (AnySharing(now())) return true;
  std::map<std::string, Amount> wanted;
  for (const ClaimMember& member : claims_.members) {
    for (const RequestGroup& group : member.query.groups) {
      for (const NamedAmount& amount : group.resources) {
        wanted[amount.resource_class] += amount.amount;
      }
    }
  }
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    const std::optional<ClassId> id = now().catalog().classes.Find(entry.first);
    return !id || FreeIn(*tree, *id) >= entry.second;
  });
}

const Choice* ClaimSearch::StandingChoice(int member, const SearchScope& scope) const {
  if (member >= static_cast<int>(claims_.choices.size())) return nullptr;
  const Strategy strategy = claims_.order.strategy;
  const bool by_shares = strategy == Strategy::kSpread || strategy == Strategy::kPack;
  std::optional<PlannedOrder> order;
  const Choice* best = nullptr;
  int64_t best_worth = 0;
  for (const Choice& choice : claims_.choices[member]) {
    if (!Stands(member, choice, scope)) continue;
    if (!by_shares) return &choice;
    if (!order) order = OrderOf(member);
    const int64_t worth = WorthOf(choice, *order);
    if (best == nullptr || worth > best_worth) {
      best = &choice;
      best_worth = worth;
    }
  }
  return best;
}

PlannedOrder ClaimSearch::OrderOf(int member) const {
  CandidateRequest request = claims_.members[member].query;
  request.order = claims_.order;
  const absl::StatusOr<SearchPlan> plan = PlanSearch(now(), request);
  return plan.ok() ? plan->order : PlannedOrder();
}

bool ClaimSearch::Stands(int member, const Choice& choice, const SearchScope& scope) const {
  if (scope.only && choice.candidate.anchor != *scope.only) return false;
  if (scope.without.contains(choice.candidate.anchor)) return false;
  if (claims_.members[member].query.exclude_stale_roots &&
      NodeIsStale(now(), choice.candidate.anchor)) {
    return false;
  }
  std::vector<TreePtr> trees;
  for (const TreePtr& then : choice.trees) {
    TreePtr tree = now().FindTree(then->root_id());
    if (!tree || tree->shape != then->shape || !NodeIsInService(now(), then->root_id())) {
      return false;
    }
    trees.push_back(std::move(tree));
  }
  return std::all_of(choice.candidate.allocations.begin(), choice.candidate.allocations.end(),
                     [&trees](const Allocation& wanted) { return HasRoom(trees, wanted); });
}

int64_t ClaimSearch::WorthOf(const Choice& choice, const PlannedOrder& order) const {
  int64_t worth = 0;
  const TreePtr anchor = now().FindTree(choice.candidate.anchor);
  for (const ClassWeight& weighted : order.shares) {
    worth += FreeShareOf(*anchor, weighted.resource_class) * weighted.weight;
  }
  for (const TraitWeight& weighted : order.traits) {
    if (ServesWith(choice, weighted.trait)) worth += weighted.weight * kShareWhole;
  }
  return worth;
}

absl::StatusOr<SearchResult> ClaimSearch::Find(int member, const SearchScope& scope,
                                               int64_t limit) {
  CandidateRequest request = claims_.members[member].query;
  request.order = claims_.order;
  // Members of one command draw for themselves.
  request.order.seed += static_cast<uint64_t>(member);
  request.limit = limit;
  SearchBudget budget;
  budget.candidates_max = std::numeric_limits<int64_t>::max();
  budget.steps_max = std::max<int64_t>(steps_left_, 0);
  absl::StatusOr<SearchResult> found = FindCandidates(now(), request, budget, scope);
  if (!found.ok()) {
    if (absl::IsDeadlineExceeded(found.status())) steps_left_ = 0;
    return Refused(member, found.status());
  }
  steps_left_ -= found->steps;
  if (!found->candidates.empty()) return found;
  return Refused(member, Refuse(absl::StatusCode::kFailedPrecondition, "NO_CANDIDATE",
                                "nothing has room for this"));
}

// Names the consumer where the search itself is the refusal.
absl::Status ClaimSearch::Refused(int member, const absl::Status& status) const {
  const std::optional<Refusal> refusal = RefusalOf(status);
  BERTH_CHECK(refusal);
  if (refusal->reason != "NO_CANDIDATE" && refusal->reason != "SEARCH_BUDGET_EXCEEDED") {
    return status;
  }
  const std::string consumer = claims_.members[member].consumer.ToString();
  const std::string why = absl::IsDeadlineExceeded(status) ? "the search for a place was given up"
                                                           : std::string(status.message());
  return Refuse(status.code(), refusal->reason, absl::StrCat("consumer ", consumer, ": ", why),
                {{{"consumer", consumer}}});
}

void ClaimSearch::GiveBack() {
  std::vector<Holder> holders;
  for (const ClaimMember& member : claims_.members) {
    ConsumerPtr consumer = state_.FindConsumer(member.consumer);
    if (consumer) holders.push_back({member.consumer, std::move(consumer), nullptr});
  }
  if (holders.empty()) return;
  ClaimPlan plan(state_, std::move(holders));
  BERTH_CHECK(plan.FindProviders().ok());  // nothing new is named
  const Outcome outcome = plan.MakeOutcome({state_.position().ledger_time, Generation{}});
  changed_ = state_;
  changed_->Apply(outcome.changes);
}

void ClaimSearch::Take(int member, const Candidate& candidate) {
  const ConsumerAllocations wanted =
      AllocationsOf(now().catalog(), claims_.members[member], candidate);
  ClaimPlan plan(now(), {Holder{wanted.consumer, nullptr, &wanted}});
  BERTH_CHECK(plan.FindProviders().ok() && plan.FindClasses().ok() &&
              plan.FindInventories().ok());  // as the candidate says
  const Outcome outcome = plan.MakeOutcome({state_.position().ledger_time, Generation{}});
  if (!changed_) changed_ = state_;
  changed_->Apply(outcome.changes);
}

absl::Status FindChoices(const State& state, const SearchBudget& budget, PlaceClaims* claims) {
  for (const ClaimMember& member : claims->members) {
    CandidateRequest request = member.query;
    request.order = claims->order;
    if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  }
  const int choices_max = claims->members.size() == 1 ? kChoicesOfOne : kChoicesOfMany;
  ClaimSearch search(state, *claims, choices_max, budget.steps_max);
  const absl::Status status = search.Place().status();
  claims->choices = search.TakeFound();
  claims->search_gave_up = absl::IsDeadlineExceeded(status);
  return absl::OkStatus();
}

}  // namespace berth::placement
