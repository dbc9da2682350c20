#include "placement/claims/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/claims/choice.h"
#include "placement/claims/form.h"
#include "placement/claims/plan.h"
#include "placement/ground/check.h"
#include "placement/search/plan.h"
#include "placement/search/sharing.h"
#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

// For members that must be under one root: how many roots the first search finds, and the factor by
// which this number grows for the next search if none of these roots serves all members.
constexpr int64_t kRootsAtFirst = 16;
constexpr int64_t kRootsGrowth = 16;

// The work for a query, for a claim and for looking at a tree, in steps of a search. The last
// number: how many chunks of roots a search passes over in the time of one step.
constexpr int64_t kStepsOfQuery = 20;
constexpr int64_t kStepsOfClaim = 20;
constexpr int64_t kStepsOfTree = 4;
constexpr int64_t kChunksOfStep = 16;

// The work of making a plan of `request`, in steps.
int64_t StepsOfPlan(const CandidateRequest& request) {
  size_t names = request.groups.size() + request.root_required.size() +
                 request.root_forbidden.size() + request.same_subtree.size() +
                 request.isolate.size() + request.separate_subtrees.size() +
                 request.order.class_weights.size() + request.order.trait_weights.size();
  for (const RequestGroup& group : request.groups) {
    names += group.resources.size() + group.required.size() + group.forbidden.size() +
             group.member_of.size();
  }
  return kStepsOfQuery + static_cast<int64_t>(names);
}

// How many steps of the search budget it costs to look once at each chunk of roots.
int64_t StepsOfChunks(const State& state) {
  return 1 + static_cast<int64_t>(state.roots().chunks().size()) / kChunksOfStep;
}

// The sum of what the providers of `tree` have free of a class.
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
  wanted.allocations = AmountsOf(catalog, candidate.allocations);
  return wanted;
}

ClaimSearch::ClaimSearch(const State& state, const PlaceClaims& claims, int choices_max,
                         int64_t steps_max)
    : state_(state),
      claims_(claims),
      choices_max_(choices_max),
      budget_(steps_max),
      groups_(state, claims) {}

absl::StatusOr<std::vector<Candidate>> ClaimSearch::Place() {
  GiveBack();
  budget_.Charge(groups_.Tally(now(), kStepsOfClaim, kStepsOfTree));
  std::vector<Candidate> placed;
  const std::optional<State> before = changed_;
  absl::Status status = PlaceAll(placed);
  if (took_choice_ && !status.ok() && !budget_.is_spent()) {
    // The first attempt used a choice for some member. With another candidate for that member, the
    // other members may fit. So try again without choices.
    changed_ = before;
    use_choices_ = false;
    status = PlaceAll(placed);
  }
  if (!status.ok()) return status;
  BERTH_CHECK(placed.size() == claims_.members.size());  // PlaceAll adds one for each
  return placed;
}

absl::Status ClaimSearch::PlaceAll(std::vector<Candidate>& placed) {
  if (claims_.affinity == MemberAffinity::kSameRoot) return PlaceUnderOneRoot(placed);
  return PlaceEach(std::nullopt, placed);
}

absl::Status ClaimSearch::PlaceEach(std::optional<ProviderId> under,
                                    std::vector<Candidate>& placed) {
  placed.clear();
  found_.clear();
  SearchScope scope;
  scope.only = under;
  GroupScopes groups = groups_;
  for (int member = 0; member < static_cast<int>(claims_.members.size()); ++member) {
    const std::vector<SearchScope> scopes = groups.ScopesOf(member, scope);
    if (const Choice* choice = StandingChoice(member, scopes)) {
      took_choice_ = true;
      placed.push_back(choice->candidate);
      found_.push_back({*choice});
    } else {
      BERTH_ASSIGN_OR_RETURN(SearchResult found, Find(member, scopes, choices_max_));
      std::vector<Choice>& choices = found_.emplace_back();
      for (Candidate& candidate : found.candidates) {
        choices.push_back(ChoiceOf(now(), std::move(candidate)));
      }
      placed.push_back(choices.front().candidate);
    }
    groups.Place(member, HostsOf(now(), placed.back()));
    if (claims_.affinity == MemberAffinity::kDifferentRoots) {
      scope.without.insert(placed.back().root);
    }
    if (member + 1 < static_cast<int>(claims_.members.size())) Take(member, placed.back());
  }
  return absl::OkStatus();
}

absl::Status ClaimSearch::PlaceUnderOneRoot(std::vector<Candidate>& placed) {
  if (groups_.AreTooManyForOneHost()) return NothingFits(0);
  const std::vector<SearchScope> scopes = groups_.ScopesOf(0, {});
  for (const SearchScope& scope : scopes) {
    if (scope.only && TryUnder(*scope.only, placed)) return absl::OkStatus();
  }
  if (scopes.empty()) return NothingFits(0);
  if (scopes.front().only) return budget_.is_spent() ? GaveUp(0) : NothingFits(0);
  SumWanted();
  std::set<ProviderId> tried;
  if (use_choices_ && !claims_.choices.empty() && !claims_.choices[0].empty()) {
    const ProviderId chosen = claims_.choices[0][0].candidate.root;
    if (TryUnder(chosen, placed)) return absl::OkStatus();
    tried.insert(chosen);
  }
  for (int64_t limit = kRootsAtFirst;; limit *= kRootsGrowth) {
    BERTH_ASSIGN_OR_RETURN(const SearchResult found, FindRootsOf(0, scopes.front(), limit));
    for (const Candidate& candidate : found.candidates) {
      if (!tried.insert(candidate.root).second) continue;
      if (TryUnder(candidate.root, placed)) return absl::OkStatus();
      if (budget_.is_spent()) return GaveUp(0);
    }
    // The search was cut short, so it may have missed a root that could hold all members.
    if (found.truncated) return GaveUp(0);
    if (static_cast<int64_t>(found.candidates.size()) < limit) break;
  }
  return Refused(
      0,
      Refuse(absl::StatusCode::kFailedPrecondition, "NO_CANDIDATE",
             "no root has enough for all members: claim fewer, or let them use different roots"));
}

void ClaimSearch::SumWanted() {
  wanted_.clear();
  std::map<ClassId, Amount> sums;
  for (const ClaimMember& member : claims_.members) {
    budget_.Charge(StepsOfPlan(member.query));
    for (const RequestGroup& group : member.query.groups) {
      for (const NamedAmount& amount : group.resources) {
        const auto id = now().catalog().classes.Find(amount.resource_class);
        if (id) sums[*id] += amount.amount;
      }
    }
  }
  const Sharing sharing(now());
  for (const SharingProvider& provider : sharing.providers()) {
    for (const InventoryRow& row : provider.tree->config(provider.position).inventories) {
      sums.erase(row.resource_class);
    }
  }
  for (const auto& [id, amount] : sums) wanted_.push_back({id, amount});
}

bool ClaimSearch::TryUnder(ProviderId root, std::vector<Candidate>& placed) {
  if (!CouldHoldAll(root)) return false;
  // For the copies of the state and of the groups.
  budget_.Charge(StepsOfChunks(state_) + groups_.copy_steps());
  std::optional<State> before = changed_;
  if (PlaceEach(root, placed).ok()) return true;
  changed_ = std::move(before);
  return false;
}

bool ClaimSearch::CouldHoldAll(ProviderId root) {
  const TreePtr tree = now().FindTree(root);
  if (!tree) return false;
  budget_.Charge(kStepsOfTree + tree->size() * static_cast<int64_t>(wanted_.size()));
  return std::all_of(wanted_.begin(), wanted_.end(), [&tree](const ClassAmount& wanted) {
    return FreeIn(*tree, wanted.resource_class) >= wanted.amount;
  });
}

const Choice* ClaimSearch::StandingChoice(int member, const std::vector<SearchScope>& scopes) {
  if (!use_choices_ || member >= static_cast<int>(claims_.choices.size())) return nullptr;
  const Strategy strategy = claims_.order.strategy;
  const bool by_shares = strategy == Strategy::kSpread || strategy == Strategy::kPack;
  std::optional<PlannedOrder> order;
  const Choice* best = nullptr;
  int64_t best_worth = 0;
  for (const Choice& choice : claims_.choices[member]) {
    budget_.Charge(kStepsOfTree * static_cast<int64_t>(choice.trees.size()));
    const auto stands = [&](const SearchScope& scope) {
      return Stands(now(), choice, claims_.members[member].query, scope);
    };
    if (std::none_of(scopes.begin(), scopes.end(), stands)) continue;
    // If nothing is left of the budget to compare choices, the first choice that fits is taken.
    if (!by_shares || budget_.is_spent()) return best == nullptr ? &choice : best;
    if (!order) order = OrderOf(member);
    const auto weights = static_cast<int64_t>(order->shares.size() + order->traits.size());
    budget_.Charge(weights * choice.trees.front()->size());
    const int64_t worth = WorthOf(now(), choice, *order);
    if (best == nullptr || worth > best_worth) {
      best = &choice;
      best_worth = worth;
    }
  }
  return best;
}

PlannedOrder ClaimSearch::OrderOf(int member) {
  const CandidateRequest request = RequestOf(member);
  budget_.Charge(StepsOfPlan(request));
  const absl::StatusOr<SearchPlan> plan = PlanSearch(now(), request);
  return plan.ok() ? plan->order : PlannedOrder();
}

CandidateRequest ClaimSearch::RequestOf(int member) const {
  CandidateRequest request = claims_.members[member].query;
  request.order = claims_.order;
  // Each member gets a seed of its own, so that members get different random orders.
  request.order.seed += static_cast<uint64_t>(member);
  return request;
}

absl::StatusOr<SearchResult> ClaimSearch::Find(int member, const std::vector<SearchScope>& scopes,
                                               int64_t limit) {
  absl::StatusOr<SearchResult> found = NothingFits(member);
  for (const SearchScope& scope : scopes) {
    found = Pay(member, limit, [&](const CandidateRequest& request, const SearchBudget& budget) {
      return FindCandidates(now(), request, budget, scope);
    });
    if (found.ok() || !absl::IsFailedPrecondition(found.status())) break;
  }
  return found;
}

absl::StatusOr<SearchResult> ClaimSearch::FindRootsOf(int member, const SearchScope& scope,
                                                      int64_t limit) {
  return Pay(member, limit, [&](const CandidateRequest& request, const SearchBudget& budget) {
    return FindRoots(now(), request, budget, scope);
  });
}

absl::StatusOr<SearchResult> ClaimSearch::Pay(int member, int64_t limit, SearchFor search) {
  CandidateRequest request = RequestOf(member);
  request.limit = limit;
  budget_.Charge(StepsOfPlan(request) + StepsOfChunks(state_));
  if (budget_.is_spent()) return GaveUp(member);
  SearchBudget budget;
  budget.candidates_max = std::numeric_limits<int64_t>::max();
  budget.steps_max = budget_.left();
  absl::StatusOr<SearchResult> found = search(request, budget);
  if (!found.ok()) {
    if (absl::IsDeadlineExceeded(found.status())) budget_.Exhaust();
    return Refused(member, found.status());
  }
  budget_.Charge(found->steps);
  if (!found->candidates.empty()) return found;
  return NothingFits(member);
}

absl::Status ClaimSearch::NothingFits(int member) const {
  const ServerGroupPtr& group = groups_.GroupOf(member);
  const std::string why =
      group == nullptr
          ? "the query fits under no root: Explain tells what is missing"
          : absl::StrCat("the query fits under no root that server group ", group->id.ToString(),
                         " allows: Explain tells what is missing, if any root is allowed");
  return Refused(member, Refuse(absl::StatusCode::kFailedPrecondition, "NO_CANDIDATE", why));
}

absl::Status ClaimSearch::GaveUp(int member) const {
  return Refused(
      member,
      Refuse(absl::StatusCode::kDeadlineExceeded, "SEARCH_BUDGET_EXCEEDED",
             "the search used up its work budget: narrow the query, for example with in_tree"));
}

// Adds to `status` the thing at fault: the field of the request if a query is wrong, or the
// consumer if a search found nothing.
absl::Status ClaimSearch::Refused(int member, const absl::Status& status) const {
  const std::optional<Refusal> refusal = RefusalOf(status);
  BERTH_CHECK(refusal);  // searches fail only with Refuse
  if (refusal->reason != "NO_CANDIDATE" && refusal->reason != "SEARCH_BUDGET_EXCEEDED") {
    return OfMember(claims_, static_cast<size_t>(member), status);
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
  BERTH_CHECK(plan.FindProviders().ok());  // the members hold something on these providers
  const Outcome outcome = plan.MakeOutcome({state_.position().ledger_time, Generation{}});
  changed_ = state_;
  changed_->Apply(outcome.changes);
}

void ClaimSearch::Take(int member, const Candidate& candidate) {
  budget_.Charge(kStepsOfClaim);
  const ConsumerAllocations wanted =
      AllocationsOf(now().catalog(), claims_.members[member], candidate);
  ClaimPlan plan(now(), {Holder{wanted.consumer, nullptr, &wanted}});
  BERTH_CHECK(plan.FindProviders().ok() && plan.FindClasses().ok() &&
              plan.FindInventories().ok());  // the candidate was found in this state
  const Outcome outcome = plan.MakeOutcome({state_.position().ledger_time, Generation{}});
  if (!changed_) changed_ = state_;
  changed_->Apply(outcome.changes);
}

absl::Status FindChoices(const State& state, const SearchBudget& budget, PlaceClaims* claims) {
  // The search adds each member's claim to a state. It cannot do so if a consumer occurs twice.
  BERTH_RETURN_IF_ERROR(CheckForm(*claims));
  for (size_t m = 0; m < claims->members.size(); ++m) {
    CandidateRequest request = claims->members[m].query;
    request.order = claims->order;
    const absl::Status status = CheckRequest(request);
    if (!status.ok()) return OfMember(*claims, m, status);
  }
  const int choices_max = claims->members.size() == 1 ? kChoicesOfOne : kChoicesOfMany;
  ClaimSearch search(state, *claims, choices_max, budget.steps_max);
  const absl::Status status = search.Place().status();
  claims->choices = search.TakeFound();
  claims->search_gave_up = absl::IsDeadlineExceeded(status);
  return absl::OkStatus();
}

}  // namespace berth::placement
