// What puts the bench's providers into placement. Each prints what came of it and returns the exit code.
#ifndef BERTH_TESTS_BENCH_LOADING_H_
#define BERTH_TESTS_BENCH_LOADING_H_

#include "tests/bench/settings.h"

namespace berth::bench {

// The hosts, many in a message, with trait and aggregate if asked for (`--marked`); and the hot one
// (`--hot`).
int LoadHosts(const Settings& settings);
// Trees of seven providers instead (`--nested`).
int LoadTrees(const Settings& settings);
// The host with devices below it.
int LoadDevices(const Settings& settings);
// Small hosts, more than half of which is taken.
int LoadBusyHosts(const Settings& settings);

// Registers hosts that were never there, with inventories, a trait and an aggregate: with the four
// calls that clients of the model make, or in one. Two calls register different hosts if
// `--first` of the second is `--first` plus `--count` of the first.
int Register(const Settings& settings);

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_LOADING_H_
