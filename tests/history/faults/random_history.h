// RandomHistory: a lawful history of some clients on an imagined ledger, and the kinds of faults that
// can be put into it. For tests of the checker. The same seed gives the same history.
#ifndef BERTH_TESTS_HISTORY_FAULTS_RANDOM_HISTORY_H_
#define BERTH_TESTS_HISTORY_FAULTS_RANDOM_HISTORY_H_

#include <cstdint>
#include <vector>

#include "tests/history/faults/fault.h"
#include "tests/history/history.h"

namespace berth::history {

// A few hundred operations of eight clients.
History RandomHistory(uint64_t seed);

// All kinds of faults.
std::vector<Fault> Faults();

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_FAULTS_RANDOM_HISTORY_H_
