// RunScript: what any sender of requests must not be able to do to placement.
//
// Every request is converted as the edge does it, decided by the rules on one small world and
// applied. Whatever the script says: nothing crashes, the safety properties hold, a refusal has a
// reason, and what a search finds is written as it was found and can be claimed.
#ifndef BERTH_TESTS_FUZZ_SCRIPT_RUNNER_H_
#define BERTH_TESTS_FUZZ_SCRIPT_RUNNER_H_

#include "tests/fuzz/script.pb.h"

namespace berth::fuzz {

// What came of a script, for those who want to know that scripts do something.
struct ScriptOutcome {
  int applied = 0;
  int refused = 0;
  int candidates = 0;
  int claimed = 0;
};

// Fails through GoogleTest, or ends the process.
ScriptOutcome RunScript(const Script& script);

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_SCRIPT_RUNNER_H_
