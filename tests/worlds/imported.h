// What would have to be imported to have a state again: an export, without its wire.
#ifndef BERTH_TESTS_WORLDS_IMPORTED_H_
#define BERTH_TESTS_WORLDS_IMPORTED_H_

#include "placement/commands/command.h"
#include "placement/state/state.h"

namespace berth::placement {

// Custom names, providers with parents first, consumers, services, nodes, aggregates, server
// groups, instances, migrations, numbered in this order.
ImportLedger ImportOf(const State& state);

// A ledger that has the standard names of `state`, and nothing else.
State EmptyLike(const State& state);

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_IMPORTED_H_
