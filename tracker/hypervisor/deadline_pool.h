// Runs calls that may hang on a few threads, and stops waiting for them at a deadline.
//
// Owns its threads. A call that overruns its deadline cannot be ended: its thread is left to it, counted,
// and replaced by another one as long as fewer than `hung_max` are lost. Thread-safe.
//
// Invariant: at most `threads_max` threads serve calls, besides those that hang.
#ifndef BERTH_TRACKER_HYPERVISOR_DEADLINE_POOL_H_
#define BERTH_TRACKER_HYPERVISOR_DEADLINE_POOL_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth::tracker {

class DeadlinePool {
 public:
  struct Options {
    int threads_max = 4;
    int hung_max = 16;
  };
  explicit DeadlinePool(Options options);
  // Waits for calls that are running and not overdue; hung ones keep their threads.
  ~DeadlinePool();
  DeadlinePool(const DeadlinePool&) = delete;
  DeadlinePool& operator=(const DeadlinePool&) = delete;

  // Runs `work` and waits for its end.
  //
  //   kDeadlineExceeded  `timeout` passed first: the work runs on, or never began
  //   kUnavailable       too many threads hang: nothing was done
  //
  // REQUIRES: `work` owns all that it touches: it may outlive the caller and the pool.
  absl::Status Run(absl::string_view name, std::function<void()> work, absl::Duration timeout);

  // The same for work with an answer.
  template <typename T>
  absl::StatusOr<T> Call(absl::string_view name, std::function<absl::StatusOr<T>()> work,
                         absl::Duration timeout);

  // Threads that were left to calls which still hang.
  int hung() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

template <typename T>
absl::StatusOr<T> DeadlinePool::Call(absl::string_view name,
                                     std::function<absl::StatusOr<T>()> work,
                                     absl::Duration timeout) {
  auto answer = std::make_shared<absl::StatusOr<T>>(absl::UnknownError("no answer"));
  const absl::Status ran = Run(
      name, [answer, work = std::move(work)] { *answer = work(); }, timeout);
  if (!ran.ok()) return ran;
  return *std::move(answer);
}

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_DEADLINE_POOL_H_
