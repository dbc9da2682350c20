// Mutate: changes a script a little, in the words that placement understands.
//
// Bytes changed at random seldom make another valid message, and a random uuid never names
// anything. This changes fields by reflection, mostly to values that mean something to the world
// that scripts run on.
#ifndef BERTH_TESTS_FUZZ_SCRIPT_MUTATOR_H_
#define BERTH_TESTS_FUZZ_SCRIPT_MUTATOR_H_

#include <random>

#include "tests/fuzz/script.pb.h"

namespace berth::fuzz {

// A few requests that placement grants, for others to begin with.
Script ValidScript();

void Mutate(Script* script, std::mt19937& random);

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_SCRIPT_MUTATOR_H_
