// Check: whether a history is one that placement's promises allow.
//
// The ledger tells the order in which everything happened, so nothing is searched for: the order is
// followed once, and everything that anybody was told is held against it. That the replay is lawful
// and agrees with real time is strict serializability over all providers. Pure; O(n log n).
#ifndef BERTH_TESTS_HISTORY_CHECKER_H_
#define BERTH_TESTS_HISTORY_CHECKER_H_

#include "tests/history/findings.h"
#include "tests/history/history.h"

namespace berth::history {

Findings Check(const History& history);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_H_
