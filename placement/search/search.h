// Search: finds the candidates of a request, i.e. the ways in which providers can serve it, over
// one State. Pure: the same state and request always give the same answer (P-209, P-211).
//
// A candidate reserves nothing (P-212). At the revision of the state, each candidate can be claimed
// (P-203).
#ifndef BERTH_PLACEMENT_SEARCH_SEARCH_H_
#define BERTH_PLACEMENT_SEARCH_SEARCH_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "placement/search/budget.h"
#include "placement/state/state.h"
#include "placement/values/candidate.h"

namespace berth::placement {

// What a search returns in addition to its candidates.
struct SearchEnd {
  // The trees that provider summaries describe: each tree with a provider of a candidate, in order
  // of root (P-205). The trees belong to the state, and live as long as the state.
  std::vector<const Tree*> trees;
  bool truncated = false;  // a limit of the budget cut the result short (P-213, P-215)
  int64_t steps = 0;       // how many steps the search took
};

struct SearchResult : SearchEnd {
  // If the request has no order: first one candidate of each root in order of id, then a second one
  // of each root, and so on (P-209).
  std::vector<Candidate> candidates;
};

// Finds the candidates of `request`, at most as many as the request's limit and `budget` allow.
// Fails, in the order of P-175,
// - with INVALID_ARGUMENT, if the request is malformed;
// - with NOT_FOUND, which names all unknown classes and traits;
// - with DEADLINE_EXCEEDED / SEARCH_BUDGET_EXCEEDED, if the budget is spent before a candidate is
//   found.
absl::StatusOr<SearchResult> FindCandidates(const State& state, const CandidateRequest& request,
                                            const SearchBudget& budget,
                                            const SearchScope& scope = {});

// Like FindCandidates, but passes each candidate to `take` as soon as it is found. The candidate is
// valid until `take` returns. A search that fails has not called `take`.
absl::StatusOr<SearchEnd> ForEachCandidate(const State& state, const CandidateRequest& request,
                                           const SearchBudget& budget,
                                           absl::FunctionRef<void(const Candidate&)> take);

// Finds the first candidate of each root that has a candidate, in the order of the request, for at
// most `request.limit` roots. Roots that are served by the same sharing providers may have equal
// candidates. Fails like FindCandidates.
absl::StatusOr<SearchResult> FindRoots(const State& state, const CandidateRequest& request,
                                       const SearchBudget& budget, const SearchScope& scope = {});

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_SEARCH_H_
