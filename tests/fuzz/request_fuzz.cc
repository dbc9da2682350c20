// libFuzzer over request messages: the wire conversion, the rules and the search.
//
//   request_fuzz -max_total_time=3600 CORPUS      searches; a finding is left as a file
//   request_fuzz FILE                             runs one input again
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/fuzz/script_mutator.h"
#include "tests/fuzz/script_runner.h"

namespace {

// Through what is not a script, libFuzzer finds no way; such bytes stand for the empty one.
berth::fuzz::Script Parsed(const uint8_t* data, size_t size) {
  berth::fuzz::Script script;
  if (!script.ParseFromArray(data, static_cast<int>(size))) script.Clear();
  return script;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  testing::InitGoogleTest(argc, *argv);
  GTEST_FLAG_SET(break_on_failure, true);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  berth::fuzz::Script script = Parsed(data, size);
  std::mt19937 random(seed);
  if (script.steps_size() == 0) script = berth::fuzz::ValidScript();
  berth::fuzz::Mutate(&script, random);
  const std::string bytes = script.SerializeAsString();
  if (bytes.size() > max_size) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::fuzz::RunScript(Parsed(data, size));
  return 0;
}
