// ClaimSearch: finds a candidate for each member of a PlaceClaims, one after the other. Each member
// is placed on what the members before it left.
//
// The search runs twice. First a worker runs it over a published state and finds several choices
// for each member. Then it runs under the ledger's lock, over the state of the batch: for each
// member it takes the best choice that still fits, and searches again only if none does. What the
// members hold before the command counts as free. Pure: the same state and command give the same
// candidates. Used by one thread, for one command; the state and the command must outlive it.
//
// Invariants:
//   1. `budget_` only falls, and all work is charged to it: a plan when it is made (Pay, OrderOf,
//      SumWanted), a copy of the state (TryUnder), a tree that is looked at (CouldHoldAll,
//      StandingChoice), a claim (Take), and the steps of each search (Pay).
//   2. Once `budget_` is spent, no search and no second attempt begins, no further root is tried,
//      and a choice that fits is taken without comparing it with others. So the work after that is
//      at most one look at each choice.
//   3. now() is `state_` without what the members held before, and with what the members that are
//      already in `placed` take; TryUnder restores it if it fails.
#ifndef BERTH_PLACEMENT_CLAIMS_SEARCH_H_
#define BERTH_PLACEMENT_CLAIMS_SEARCH_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "placement/commands/command.h"
#include "placement/ground/check.h"
#include "placement/search/plan.h"
#include "placement/search/search.h"
#include "placement/state/state.h"

namespace berth::placement {

// How many choices the search before the lock finds.
inline constexpr int kChoicesOfOne = 16;
inline constexpr int kChoicesOfMany = 4;  // for each of several members

// The work that may still be done for one command, in steps of a search.
class StepBudget {
 public:
  explicit StepBudget(int64_t steps) : left_(steps) {}
  void Charge(int64_t steps) {
    BERTH_CHECK(steps >= 0);
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
  // Finds up to `choices_max` choices for each member. `steps_max` bounds all work for the command;
  // work outside of searches counts as a number of steps, too.
  ClaimSearch(const State& state, const PlaceClaims& claims, int choices_max, int64_t steps_max);

  // One candidate for each member, in their order. Fails like FindCandidates if a query is
  // malformed or names something unknown; with FAILED_PRECONDITION / NO_CANDIDATE naming the
  // consumer for which there is no candidate; or with DEADLINE_EXCEEDED / SEARCH_BUDGET_EXCEEDED.
  // To be called once.
  absl::StatusOr<std::vector<Candidate>> Place();

  // The choices that Place found for each member, best first; Place took the first of each. Fewer
  // lists than members if Place failed.
  std::vector<std::vector<Choice>> TakeFound() { return std::move(found_); }

 private:
  using SearchFor =
      absl::FunctionRef<absl::StatusOr<SearchResult>(const CandidateRequest&, const SearchBudget&)>;

  absl::Status PlaceAll(std::vector<Candidate>& placed);
  absl::Status PlaceEach(std::optional<ProviderId> under, std::vector<Candidate>& placed);
  // Places all members under one root. Tries the roots in the order that the first member prefers.
  absl::Status PlaceUnderOneRoot(std::vector<Candidate>& placed);
  // Sums up in `wanted_` what all members ask of classes that no sharing provider offers.
  void SumWanted();
  bool TryUnder(ProviderId root, std::vector<Candidate>& placed);
  // False if the tree of `root` has less than `wanted_` free, so that not all members can fit.
  bool CouldHoldAll(ProviderId root);

  // The best of the member's choices that still fits; null if none does.
  const Choice* StandingChoice(int member, const SearchScope& scope);
  PlannedOrder OrderOf(int member);
  CandidateRequest RequestOf(int member) const;
  absl::StatusOr<SearchResult> Find(int member, const SearchScope& scope, int64_t limit);
  absl::StatusOr<SearchResult> FindRootsOf(int member, int64_t limit);
  // Runs `search` for the member's request with the rest of the budget, and charges it.
  absl::StatusOr<SearchResult> Pay(int member, int64_t limit, SearchFor search);
  // `status` with the member that it is about.
  absl::Status Refused(int member, const absl::Status& status) const;
  // SEARCH_BUDGET_EXCEEDED for the member.
  absl::Status GaveUp(int member) const;

  // Releases in now() what the members hold.
  void GiveBack();
  // Adds to now() what the member takes.
  void Take(int member, const Candidate& candidate);
  const State& now() const { return changed_ ? *changed_ : state_; }

  const State& state_;
  const PlaceClaims& claims_;
  const int choices_max_;
  StepBudget budget_;
  bool use_choices_ = true;
  bool took_choice_ = false;
  std::vector<ClassAmount> wanted_;  // by all members together, if they must be under one root
  std::optional<State> changed_;     // now(), if it differs from `state_`
  std::vector<std::vector<Choice>> found_;
};

// Finds choices for `claims` over `state` and stores them in `claims`; called by a worker before
// the command is queued. Fails only if the command or a query is malformed: whether there is a
// candidate is decided by the rule.
absl::Status FindChoices(const State& state, const SearchBudget& budget, PlaceClaims* claims);

// The write after which the member holds `candidate`.
ConsumerAllocations AllocationsOf(const Catalog& catalog, const ClaimMember& member,
                                  const Candidate& candidate);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_SEARCH_H_
