// libFuzzer over request messages: the wire conversion, the rules and the search.
#include "tests/fuzz/fuzz_entry.h"
#include "tests/fuzz/script_mutator.h"
#include "tests/fuzz/script_runner.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  return berth::fuzz::InitializeTests(argc, *argv);
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return berth::fuzz::MutateBytes<berth::fuzz::Script>(data, size, max_size, seed,
                                                       berth::fuzz::ValidScript);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::fuzz::RunScript(berth::fuzz::Parsed<berth::fuzz::Script>(data, size));
  return 0;
}
