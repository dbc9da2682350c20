// Check: whether a history is one that placement's promises allow.
//
// The ledger's log gives the order of all commands. The check replays that order once and compares
// it with everything that clients and watchers were told. A lawful replay that also agrees with
// real time shows strict serializability over all providers. Pure; O(n log n).
#ifndef BERTH_TESTS_HISTORY_CHECKER_CHECKER_H_
#define BERTH_TESTS_HISTORY_CHECKER_CHECKER_H_

#include "tests/history/checker/findings.h"
#include "tests/history/history.h"

namespace berth::history {

Findings Check(const History& history);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_CHECKER_H_
