// RunScript: runs the requests of a script and checks what no sender may break.
//
// Every request is converted as the edge does it, decided by the rules on one small world, and
// applied. Whatever the script holds: nothing crashes, the safety properties hold, each refusal has
// a reason, and each candidate of a search is encoded as it was found and can be claimed.
#ifndef BERTH_TESTS_FUZZ_SCRIPT_RUNNER_H_
#define BERTH_TESTS_FUZZ_SCRIPT_RUNNER_H_

#include "tests/fuzz/script.pb.h"

namespace berth::fuzz {

// What a script did, for tests that check that scripts have effects.
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
