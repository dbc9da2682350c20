// What the bench measures, one workload a function. Each prints what came of it and returns the exit code.
#ifndef BERTH_TESTS_BENCH_WORKLOADS_H_
#define BERTH_TESTS_BENCH_WORKLOADS_H_

#include "tests/bench/settings.h"

namespace berth::bench {

// Claims on random hosts, on the hot one (`--hot`), of three providers of a tree (`--nested`), or
// many in a message (`--consumers`); operations are claims. With `--request-ids` each message on
// hosts has a request id of its own.
int Claim(const Settings& settings);
// A claim and its release, one operation.
int ClaimAndRelease(const Settings& settings);
// Claims wherever placement finds room.
int ClaimSearch(const Settings& settings);
// What a scheduler does: finds ten places, claims one of them by chance, and the next where another
// was faster. An operation is a claim that succeeded.
int Schedule(const Settings& settings);

// Searches: for a flat claim, for what fits nowhere (`--none`), for hosts with trait and aggregate
// (`--marked`), for a claim on a tree (`--nested`); with answers as messages or as a table
// (`--table`).
int FindCandidates(const Settings& settings);
// What OpenStack's gate repeats, nothing else in flight: finds five candidates, claims the first,
// searches twice with the limit and in the form that were told.
int GateSteps(const Settings& settings);
// Ways to take several devices of one host.
int FindDevices(const Settings& settings);

// The bare RPC.
int Echo(const Settings& settings);
// Has placement compare log, tables and memory.
int SelfCheck(const Settings& settings);

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_WORKLOADS_H_
