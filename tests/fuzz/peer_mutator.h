// Mutate: changes a script of peers a little, by reflection; see MessageMutator.
#ifndef BERTH_TESTS_FUZZ_PEER_MUTATOR_H_
#define BERTH_TESTS_FUZZ_PEER_MUTATOR_H_

#include <random>

#include "tests/fuzz/peer.pb.h"

namespace berth::fuzz {

// A script whose messages are granted, as a start for mutations.
PeerScript ValidPeerScript();

void Mutate(PeerScript* script, std::mt19937& random);

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_PEER_MUTATOR_H_
