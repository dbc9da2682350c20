// CheckPushes: whether trackers were told all that they have to know, and nothing else. Pure.
//
// A push names a revision: the tracker has all changes up to it, across lost streams and new ones.
// What the tracker has may be newer. So after each push, everything that changed up to its revision,
// and everything that the push names, must be as it was at that revision or at a later one, but not
// as it became by a call that began after the push had come.
#ifndef BERTH_TESTS_HISTORY_CHECKER_PUSH_CHECK_H_
#define BERTH_TESTS_HISTORY_CHECKER_PUSH_CHECK_H_

#include "tests/history/checker/findings.h"
#include "tests/history/checker/replay.h"

namespace berth::history {

// Checks rule 10 (findings.h).
void CheckPushes(const History& history, const Replay& replay, Findings* findings);

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_PUSH_CHECK_H_
