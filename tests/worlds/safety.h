// The safety properties of placement's state, which every random test checks.
#ifndef BERTH_TESTS_WORLDS_SAFETY_H_
#define BERTH_TESTS_WORLDS_SAFETY_H_

#include "placement/state/state.h"

namespace berth::placement {

// Fails the test for each property that `state` breaks; recounts everything from the allocations.
//   P-1  parents form a forest, and every provider stands in the tree of its topmost ancestor
//   P-2  every allocation has its provider, class and inventory; used is the sum of allocations
//   P-3  a consumer is there if and only if it holds something
//   and what the state keeps to be quick (names, uses, owners, consumers by provider) agrees.
void CheckSafety(const State& state);

// Fails the test where one command that led from `before` to `after` broke what no command may
// break.
//   P-4  no use rose to a value above capacity
//   P-5  no generation fell, none rose by more than 1, a new entity begins at `fresh`
void CheckStep(const State& before, const State& after, Generation fresh);

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_SAFETY_H_
