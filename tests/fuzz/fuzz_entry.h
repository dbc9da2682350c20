// What the entries of libFuzzer do, for scripts of any kind.
//
//   NAME_fuzz -max_total_time=3600 CORPUS      searches; a finding is left as a file
//   NAME_fuzz FILE                             runs one input again
#ifndef BERTH_TESTS_FUZZ_FUZZ_ENTRY_H_
#define BERTH_TESTS_FUZZ_FUZZ_ENTRY_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace berth::fuzz {

// Through what is not a script, libFuzzer finds no way; such bytes stand for the empty one.
template <typename Script>
Script Parsed(const uint8_t* data, size_t size) {
  Script script;
  if (!script.ParseFromArray(data, static_cast<int>(size))) script.Clear();
  return script;
}

// Replaces the script in `data` by a mutated one, or the empty script by one of `valid`.
template <typename Script, typename Valid>
size_t MutateBytes(uint8_t* data, size_t size, size_t max_size, unsigned int seed, Valid valid) {
  Script script = Parsed<Script>(data, size);
  std::mt19937 random(seed);
  if (script.steps_size() == 0) script = valid();
  Mutate(&script, random);
  const std::string bytes = script.SerializeAsString();
  if (bytes.size() > max_size) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

// A test that fails ends the process, so that libFuzzer keeps the input.
inline int InitializeTests(int* argc, char** argv) {
  testing::InitGoogleTest(argc, argv);
  GTEST_FLAG_SET(break_on_failure, true);
  return 0;
}

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_FUZZ_ENTRY_H_
