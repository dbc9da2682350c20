// Search: which providers could serve a request, over one State. Pure: same state, same request,
// same answer (P-209, P-211).
//
// Candidates reserve nothing (P-212); at the state's revision each of them can be claimed (P-203).
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

// What a search comes to, beside the candidates.
struct SearchEnd {
  // Of the summaries: every tree with a mapped provider, rising by root (P-205). They are the
  // state's, and live as long as it does.
  std::vector<const Tree*> trees;
  bool truncated = false;  // the cap or the budget cut the result (P-213)
  int64_t steps = 0;       // of the budget, that it took
};

struct SearchResult : SearchEnd {
  std::vector<Candidate> candidates;  // roots rising, round-robin (P-209)
};

// Fails, in the order of P-175, with INVALID_ARGUMENT for a malformed request, NOT_FOUND for
// unknown classes and traits (all of them named), DEADLINE_EXCEEDED / SEARCH_BUDGET_EXCEEDED when
// the budget ended before anything was found.
absl::StatusOr<SearchResult> FindCandidates(const State& state, const CandidateRequest& request,
                                            const SearchBudget& budget,
                                            const SearchScope& scope = {});

// The same, handing each candidate to `take` as it is found; it stands until `take` returns. A
// search that fails has handed over none.
absl::StatusOr<SearchEnd> ForEachCandidate(const State& state, const CandidateRequest& request,
                                           const SearchBudget& budget,
                                           absl::FunctionRef<void(const Candidate&)> take);

// The roots that have a candidate, each with its first one, though other roots may have the same:
// those that the order prefers first, `request.limit` of them at most. Fails alike.
absl::StatusOr<SearchResult> FindRoots(const State& state, const CandidateRequest& request,
                                       const SearchBudget& budget);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_SEARCH_H_
