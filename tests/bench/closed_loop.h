// RunLoop: calls to one method, so many in flight at any time, counted and timed.
//
// Requests and replies are bytes, so that the load costs as little as it can of the cores that it
// shares with what it measures: one thread sends and receives all of it. A call's time runs from
// its start until its reply is there, before anybody looks into it.
#ifndef BERTH_TESTS_BENCH_CLOSED_LOOP_H_
#define BERTH_TESTS_BENCH_CLOSED_LOOP_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth::bench {

struct LoopOptions {
  std::string address;
  std::string method;  // "/package.Service/Method"
  int in_flight = 1;
  int connections = 1;
  // The loop ends when either is reached; calls in flight are waited for.
  absl::Duration duration = absl::InfiniteDuration();
  int64_t calls_max = INT64_MAX;
  // What ends within it counts as done, but not towards rate and times.
  absl::Duration warm_up;
  // Makes the request of call `number`, the first being 0.
  std::function<std::string(int64_t number)> request;
  // Whether the answer to call `number` is right; empty: every OK is.
  std::function<bool(int64_t number, absl::string_view reply)> is_right;
};

struct LoopResult {
  int64_t done = 0;    // answered OK and right, warm-up included
  int64_t failed = 0;  // refused, lost or wrong
  std::string first_failure;
  double per_second = 0;
  double median_us = 0;
  double p99_us = 0;
};

LoopResult RunLoop(const LoopOptions& options);

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_CLOSED_LOOP_H_
