// Effect: what one operation changes in a given state, or why it is refused. A second, small
// implementation of the rules of allocations and of records, which shares no code with the product.
// Pure.
#ifndef BERTH_TESTS_HISTORY_CHECKER_EFFECT_H_
#define BERTH_TESTS_HISTORY_CHECKER_EFFECT_H_

#include <cstdint>
#include <map>
#include <vector>

#include "tests/history/checker/timeline.h"
#include "tests/history/history.h"

namespace berth::history {

// Instead of a provider: the claim finds one itself.
inline constexpr uint16_t kUnplaced = 0xFFFF;
// Instead of a generation: any generation that the consumer never had.
inline constexpr int64_t kFresh = -2;

struct ConsumerAfter {
  int64_t generation = 0;  // 0: it holds nothing, or the record does not exist
  std::vector<Row> rows;
  int64_t lease_end_us = 0;  // 0: no lease
  int64_t lease_s = 0;       // not 0: the lease lasts so long from the command on
};

struct Effect {
  // Why the operation is refused; kNone: it is done.
  Reason reason = Reason::kNone;
  // The values that a refusal may report: a present generation, or an amount in use. Any one of
  // them.
  std::vector<int64_t> there;
  std::map<uint64_t, ConsumerAfter> consumers;  // and records
  std::map<uint16_t, ProviderState> providers;  // those whose state changes
};

// The effect of `operation` of `log` on the state after `step`. REQUIRES: it is a write. If the
// rows of a claim name a provider, the claim was placed there.
Effect EffectOf(const Timeline& timeline, uint32_t step, const ClientLog& log,
                const Operation& operation);

// Sorts by provider, then class: the order of rows everywhere in a history.
void SortRows(std::vector<Row>* rows);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_EFFECT_H_
