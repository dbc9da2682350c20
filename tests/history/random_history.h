// RandomHistory: a legal history of some clients on an imagined ledger, and the same with one thing
// wrong. For tests of the checker; as deterministic as its seed.
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

// One way to spoil a history. `spoil` changes one thing and returns true, or finds nothing to change.
struct Fault {
  const char* name;
  int rule;  // by which it must be found, or by another as well
  bool (*spoil)(std::mt19937_64& random, History* history);
};
const std::vector<Fault>& Faults();

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_RANDOM_HISTORY_H_
