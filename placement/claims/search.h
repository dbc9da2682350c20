// ClaimSearch: finds a place for each member of a PlaceClaims, one after the other, each over what
// those before it left.
//
// The same search runs twice: on a worker, over a published state, where it finds several choices a
// member; and under the ledger's lock, over the batch, where it takes the best choice that still
// fits and looks further only where none does. What the members hold already counts as free. Pure:
// same state and command, same places. Used by one thread, for one command; the state and the
// command must outlive it.
#ifndef BERTH_PLACEMENT_CLAIMS_SEARCH_H_
#define BERTH_PLACEMENT_CLAIMS_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "placement/commands/command.h"
#include "placement/search/plan.h"
#include "placement/search/search.h"
#include "placement/state/state.h"

namespace berth::placement {

// How many choices the search before the lock hands over.
inline constexpr int kChoicesOfOne = 16;
inline constexpr int kChoicesOfMany = 4;  // for each of several members

class ClaimSearch {
 public:
  // `choices_max`: how many choices each member is to get. `steps_max` bounds all that is done for
  // the command, whatever its size: what is no step of a search counts as so many.
  ClaimSearch(const State& state, const PlaceClaims& claims, int choices_max, int64_t steps_max);

  // One candidate for each member, in their order. Fails with FAILED_PRECONDITION / NO_CANDIDATE
  // naming the consumer that finds no room, or DEADLINE_EXCEEDED / SEARCH_BUDGET_EXCEEDED; like
  // FindCandidates where a query is malformed or names what is not known. Called once.
  absl::StatusOr<std::vector<Candidate>> Place();

  // What Place found for each member, best first: those after the first were not taken. Fewer lists
  // than members where Place failed.
  std::vector<std::vector<Choice>> TakeFound() { return std::move(found_); }

 private:
  using SearchFor =
      absl::FunctionRef<absl::StatusOr<SearchResult>(const CandidateRequest&, const SearchBudget&)>;

  absl::Status PlaceAll(std::vector<Candidate>& placed);
  absl::Status PlaceEach(std::optional<ProviderId> under, std::vector<Candidate>& placed);
  // All members under one root, those tried first that the first member prefers.
  absl::Status PlaceUnderOneRoot(std::vector<Candidate>& placed);
  // Finds out what the members want together of classes that no sharing provider offers.
  void SumWanted();
  bool TryUnder(ProviderId root, std::vector<Candidate>& placed);
  // Necessary for all members to fit into the tree of `root`.
  bool CouldHoldAll(ProviderId root);

  // The best choice of the member that stands as it stood and fits; null where there is none.
  const Choice* StandingChoice(int member, const SearchScope& scope);
  PlannedOrder OrderOf(int member);
  CandidateRequest RequestOf(int member) const;
  absl::StatusOr<SearchResult> Find(int member, const SearchScope& scope, int64_t limit);
  absl::StatusOr<SearchResult> FindRootsOf(int member, int64_t limit);
  // Does `search` for what the member asks, within what is left, and takes off what it took.
  absl::StatusOr<SearchResult> Pay(int member, int64_t limit, SearchFor search);
  absl::Status Refused(int member, const absl::Status& status) const;
  // That the search ended before it came to all.
  absl::Status GaveUp(int member) const;

  // Lets the working state release what the members hold.
  void GiveBack();
  // Lets the working state hold what the member takes.
  void Take(int member, const Candidate& candidate);
  const State& now() const { return changed_ ? *changed_ : state_; }

  const State& state_;
  const PlaceClaims& claims_;
  const int choices_max_;
  int64_t steps_left_;
  bool use_choices_ = true;
  bool took_choice_ = false;
  std::vector<ClassAmount> wanted_;  // by all members, where they must stand under one root
  std::optional<State> changed_;     // the working state, where it differs
  std::vector<std::vector<Choice>> found_;
};

// Finds choices for `claims` over `state`, on a worker; what comes of it is settled by the rule.
// Fails only where the command or a query is malformed.
absl::Status FindChoices(const State& state, const SearchBudget& budget, PlaceClaims* claims);

// The write that lets the member hold `candidate`.
ConsumerAllocations AllocationsOf(const Catalog& catalog, const ClaimMember& member,
                                  const Candidate& candidate);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_SEARCH_H_
