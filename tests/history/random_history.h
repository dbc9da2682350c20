// RandomHistory: a lawful history of some clients on an imagined ledger, and ways to put one fault
// into it. For tests of the checker. The same seed gives the same history.
#ifndef BERTH_TESTS_HISTORY_RANDOM_HISTORY_H_
#define BERTH_TESTS_HISTORY_RANDOM_HISTORY_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/history/history.h"

namespace berth::history {

// A few hundred operations of eight clients.
History RandomHistory(uint64_t seed);

// One kind of fault. `spoil` puts it into the history and returns true, or false if it cannot.
struct Fault {
  const char* name;
  int rule;  // the rule that must find it; others may find it too
  bool (*spoil)(std::mt19937_64& random, History* history);
};
const std::vector<Fault>& Faults();

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_RANDOM_HISTORY_H_
