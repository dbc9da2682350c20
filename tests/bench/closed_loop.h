// RunLoop: operations of one call or a few, so many in flight at any time, counted and timed.
//
// Requests and replies are bytes, so that the load costs as little as it can of the cores that it
// shares with what it measures: one thread receives all of it and begins what comes next. A call's
// time runs from its start until its reply is there, before anybody looks into it. At a given rate
// another thread begins them, half a millisecond at most after they are due, and a call's time runs
// from when it was due: who has to wait because others are slow waits, too. The connections are made
// before, with LoadCredentials.
#ifndef BERTH_TESTS_BENCH_CLOSED_LOOP_H_
#define BERTH_TESTS_BENCH_CLOSED_LOOP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace berth::bench {

// A further call of an operation.
struct NextCall {
  std::string method;
  std::string request;
};

struct LoopOptions {
  std::string address;
  std::string method;  // "/package.Service/Method"
  int in_flight = 1;
  int connections = 1;
  // The loop ends when either is reached; calls in flight are waited for.
  absl::Duration duration = absl::InfiniteDuration();
  int64_t calls_max = INT64_MAX;
  absl::Duration call_limit = absl::Seconds(20);
  // What ends within it counts as done, but not towards rate and times.
  absl::Duration warm_up;
  // Operations begun a second; 0: the next begins when one has ended.
  double rate = 0;
  // Makes the request of call `number`, the first being 0.
  std::function<std::string(int64_t number)> request;
  // Whether the answer to call `number` is right; empty: every OK is.
  std::function<bool(int64_t number, absl::string_view reply)> is_right;
  // Only every so many-th answer is put together and looked at; of others OK is enough.
  int64_t looked_at_each = 1;
  // In place of is_right where operations have several calls: looks at the answer to the last one
  // of operation `number`. None: the operation has ended well; an error: it has failed.
  std::function<absl::StatusOr<std::optional<NextCall>>(int64_t number, const grpc::Status& status,
                                                        absl::string_view reply)>
      next;
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
