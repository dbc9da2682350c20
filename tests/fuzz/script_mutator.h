// Mutate: changes a script a little, so that most requests remain meaningful.
//
// Bytes changed at random seldom make another valid message, and a random uuid never names an
// entity. So this changes fields by reflection, mostly to values that exist in the world of the
// script.
#ifndef BERTH_TESTS_FUZZ_SCRIPT_MUTATOR_H_
#define BERTH_TESTS_FUZZ_SCRIPT_MUTATOR_H_

#include <random>

#include "tests/fuzz/script.pb.h"

namespace berth::fuzz {

// A script of a few requests that placement grants, as a start for mutations.
Script ValidScript();

void Mutate(Script* script, std::mt19937& random);

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_SCRIPT_MUTATOR_H_
