// SearchBudget: how much work one search may do. A plain value.
#ifndef BERTH_PLACEMENT_SEARCH_BUDGET_H_
#define BERTH_PLACEMENT_SEARCH_BUDGET_H_

#include <cstdint>

namespace berth::placement {

struct SearchBudget {
  int64_t candidates_max = 100'000;  // stop generating after so many (P-213)
  // Provider tests and choices; then `truncated`, or nothing found (P-215).
  int64_t steps_max = 5'000'000;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_SEARCH_BUDGET_H_
