// ClaimSearch: finds a candidate for each member of a PlaceClaims, one member after the other. Each
// member is placed on the capacity that the members before it left free.
//
// The search runs twice. First a worker thread runs it over a published state, and finds several
// choices for each member. Then the rule runs it under the ledger's lock, over the state of the
// batch: for each member it takes the best choice that still fits, and searches again only if no
// choice fits. Whatever the members hold before the command counts as free. Pure: the same state
// and command give the same candidates.
//
// A member of a server group is placed only where the group allows it, beside the members that are
// placed already and those that the search has placed (group_scopes.h). Used by one thread, for one
// command. The state and the command must outlive the search.
//
// Invariants:
//   1. `budget_` only falls, and all work is charged to it: a plan when it is made (Pay, OrderOf,
//      SumWanted), the hosts of groups (Place), a copy of the state and of groups (TryUnder), a tree
//      that is looked at (CouldHoldAll, StandingChoice), a claim (Take), and the steps of each search
//      (Pay).
//   2. Once `budget_` is spent, no search and no second attempt begins, and no further root is
//      tried. A choice that fits is then taken without comparing it with the other choices, so the
//      remaining work is at most one look at each choice.
//   3. now() is `state_` without the old allocations of the members, and with the allocations of
//      the members that are already in `placed`. TryUnder restores now() if it fails.
#ifndef BERTH_PLACEMENT_CLAIMS_SEARCH_H_
#define BERTH_PLACEMENT_CLAIMS_SEARCH_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "placement/claims/group_scopes.h"
#include "placement/commands/command.h"
#include "placement/ground/check.h"
#include "placement/search/plan.h"
#include "placement/search/search.h"
#include "placement/state/state.h"

namespace berth::placement {

// How many choices FindChoices finds at most for the member of a command that has one member.
inline constexpr int kChoicesOfOne = 16;
inline constexpr int kChoicesOfMany = 4;  // for each of several members

// How much work may still be done for one command, in steps of a search.
class ClaimBudget {
 public:
  explicit ClaimBudget(int64_t steps) : left_(steps) {}
  void Charge(int64_t steps) {
    BERTH_CHECK(steps >= 0);  // a count of what a search did
    left_ -= steps;
  }
  void Exhaust() { left_ = std::min<int64_t>(left_, 0); }
  bool is_spent() const { return left_ <= 0; }
  int64_t left() const { return left_; }

 private:
  int64_t left_;
};

class ClaimSearch {
 public:
  // Finds up to `choices_max` choices for each member. `steps_max` limits all work for the command;
  // work outside of searches is counted in steps, too.
  ClaimSearch(const State& state, const PlaceClaims& claims, int choices_max, int64_t steps_max);

  // Returns one candidate for each member, in the order of the members. To be called once. Fails
  // - like FindCandidates, if a query is malformed or names something unknown;
  // - with FAILED_PRECONDITION / NO_CANDIDATE, which names the consumer without a candidate;
  // - or with DEADLINE_EXCEEDED / SEARCH_BUDGET_EXCEEDED.
  absl::StatusOr<std::vector<Candidate>> Place();

  // The choices that Place found for each member, best first; Place took the first one of each
  // list. If Place failed, the last members may have no list.
  std::vector<std::vector<Choice>> TakeFound() { return std::move(found_); }

 private:
  using SearchFor =
      absl::FunctionRef<absl::StatusOr<SearchResult>(const CandidateRequest&, const SearchBudget&)>;

  absl::Status PlaceAll(std::vector<Candidate>& placed);
  absl::Status PlaceEach(std::optional<ProviderId> under, std::vector<Candidate>& placed);
  // Places all members under one root. Roots are tried in the order that the first member prefers.
  absl::Status PlaceUnderOneRoot(std::vector<Candidate>& placed);
  // Fills `wanted_` with the sum of all members' amounts, for the classes that no sharing provider
  // offers.
  void SumWanted();
  bool TryUnder(ProviderId root, std::vector<Candidate>& placed);
  // Returns false if the tree of `root` has less free than `wanted_`: then not all members can fit.
  bool CouldHoldAll(ProviderId root);

  // The best of the member's choices that still fit within one of the scopes; null if none fits.
  const Choice* StandingChoice(int member, const std::vector<SearchScope>& scopes);
  PlannedOrder OrderOf(int member);
  CandidateRequest RequestOf(int member) const;
  // Searches one scope after the other, until one has a candidate.
  absl::StatusOr<SearchResult> Find(int member, const std::vector<SearchScope>& scopes,
                                    int64_t limit);
  absl::StatusOr<SearchResult> FindRootsOf(int member, const SearchScope& scope, int64_t limit);
  // Runs `search` for the request of `member` with the rest of the budget, and charges the steps of
  // the search to the budget.
  absl::StatusOr<SearchResult> Pay(int member, int64_t limit, SearchFor search);
  // Returns `status`, and adds what is at fault: the consumer of `member`, or a field of its query.
  absl::Status Refused(int member, const absl::Status& status) const;
  // The refusals NO_CANDIDATE and SEARCH_BUDGET_EXCEEDED for `member`.
  absl::Status NothingFits(int member) const;
  absl::Status GaveUp(int member) const;

  // Removes all old allocations of the members from now(), the state that the search works on.
  void GiveBack();
  // Adds the allocations of `candidate` for `member` to now().
  void Take(int member, const Candidate& candidate);
  const State& now() const { return changed_ ? *changed_ : state_; }

  const State& state_;
  const PlaceClaims& claims_;
  const int choices_max_;
  ClaimBudget budget_;
  bool use_choices_ = true;
  bool took_choice_ = false;
  GroupScopes groups_;               // before any member is placed
  std::vector<ClassAmount> wanted_;  // by all members together, if they must be under one root
  std::optional<State> changed_;     // now(), if it differs from `state_`
  std::vector<std::vector<Choice>> found_;
};

// Finds choices for `claims` over `state` and stores them in `claims`. A worker calls this before
// the command is queued. Fails only if the command or a query is malformed. A missing candidate is
// no failure here: the rule searches again.
absl::Status FindChoices(const State& state, const SearchBudget& budget, PlaceClaims* claims);

// The write that gives `candidate` to the consumer of `member`.
ConsumerAllocations AllocationsOf(const Catalog& catalog, const ClaimMember& member,
                                  const Candidate& candidate);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_SEARCH_H_
