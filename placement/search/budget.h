// SearchBudget: the limits of the work of one search. A plain value.
#ifndef BERTH_PLACEMENT_SEARCH_BUDGET_H_
#define BERTH_PLACEMENT_SEARCH_BUDGET_H_

#include <cstdint>

namespace berth::placement {

struct SearchBudget {
  // The search ends when it has found this many candidates (P-213).
  int64_t candidates_max = 100'000;
  // The search ends when it has taken this many steps. A step is one test of a provider, or one
  // choice of a provider for a slot. A result that is cut short by this limit is marked as
  // truncated; if nothing was found, the search fails instead (P-215).
  int64_t steps_max = 5'000'000;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_BUDGET_H_
