// Effect: what an operation does to what is there, in the small arithmetic of the promises. Shares
// nothing with the product's rules. Pure.
#ifndef BERTH_TESTS_HISTORY_EFFECT_H_
#define BERTH_TESTS_HISTORY_EFFECT_H_

#include <cstdint>
#include <map>
#include <vector>

#include "tests/history/history.h"
#include "tests/history/timeline.h"

namespace berth::history {

// In place of a provider: the claim is to find one.
inline constexpr uint16_t kUnplaced = 0xFFFF;
// In place of a generation: any that the consumer never had.
inline constexpr int64_t kFresh = -2;

struct ConsumerAfter {
  int64_t generation = 0;  // 0: it holds nothing
  std::vector<Row> rows;
};

struct Effect {
  // Why it is refused; none: it is done.
  Reason reason = Reason::kNone;
  // What a refusal may name as there: a generation, or what is used besides. Any of them.
  std::vector<int64_t> there;
  std::map<uint64_t, ConsumerAfter> consumers;
  std::map<uint16_t, ProviderState> providers;  // those whose state changes
};

// What `operation` of `log` does to what stands after `step`. REQUIRES: it is a write. Rows of a
// claim that name a provider are where it was placed.
Effect EffectOf(const Timeline& timeline, uint32_t step, const ClientLog& log,
                const Operation& operation);

// In the order that everything here keeps.
void SortRows(std::vector<Row>* rows);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_EFFECT_H_
