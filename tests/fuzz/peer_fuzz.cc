// libFuzzer over what peers send: the messages of sessions to placement, and claims to a tracker.
#include "tests/fuzz/fuzz_entry.h"
#include "tests/fuzz/peer_mutator.h"
#include "tests/fuzz/peer_runner.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  return berth::fuzz::InitializeTests(argc, *argv);
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return berth::fuzz::MutateBytes<berth::fuzz::PeerScript>(data, size, max_size, seed,
                                                           berth::fuzz::ValidPeerScript);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::fuzz::RunPeerScript(berth::fuzz::Parsed<berth::fuzz::PeerScript>(data, size));
  return 0;
}
