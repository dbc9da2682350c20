// RunPeerScript: runs the messages of a script of peers and checks what no peer may break.
//
// A hostile tracker sends placement the session messages, and a caller calls the tracker of an honest
// host. Whatever the script holds: nothing crashes, each refusal has a reason, what the honest
// tracker sends never ends its session, its account follows from the records, nothing has two owners,
// and no message of the hostile tracker changes a record or an allocation of the honest host.
#ifndef BERTH_TESTS_FUZZ_PEER_RUNNER_H_
#define BERTH_TESTS_FUZZ_PEER_RUNNER_H_

#include "tests/fuzz/peer.pb.h"

namespace berth::fuzz {

// What a script did, for tests that check that scripts have effects.
struct PeerOutcome {
  int granted = 0;  // calls of the tracker
  int refused = 0;
  int applied = 0;  // commands of placement
  int ended = 0;    // sessions of the hostile tracker
};

// Fails through GoogleTest, or ends the process.
PeerOutcome RunPeerScript(const PeerScript& script);

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_PEER_RUNNER_H_
