// DeadlinePool: runs calls that may hang on a few threads, and stops waiting for them at a
// deadline.
//
// Owns its threads. A thread ends when it has had no call for a second. A call that overruns its
// deadline cannot be ended. Its thread stays with the call; the pool counts the call as hung, and
// another thread takes the calls that wait. While `hung_max` calls hang, the pool refuses new
// calls. So calls that share a pool can hinder each other: a call that hangs holds one of
// `threads_max` threads until its deadline, and counts as hung from then on. Thread-safe.
//
// Invariant: besides the threads of hung calls, at most `threads_max` threads exist.
#ifndef BERTH_TRACKER_HYPERVISOR_DEADLINE_POOL_H_
#define BERTH_TRACKER_HYPERVISOR_DEADLINE_POOL_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tracker/ground/status_macros.h"

namespace berth::tracker {

class DeadlinePool {
 public:
  struct Options {
    int threads_max = 4;
    int hung_max = 16;
  };
  explicit DeadlinePool(Options options);
  // Waits until the running calls end, except for the hung calls, which keep their threads.
  ~DeadlinePool();
  DeadlinePool(const DeadlinePool&) = delete;
  DeadlinePool& operator=(const DeadlinePool&) = delete;

  // Runs `work` and waits until it ends. `name` names the call in error messages.
  //
  //   kUnavailable       `hung_max` calls hang already: `work` did not run
  //   kDeadlineExceeded  `timeout` passed first: `work` goes on running, or never began
  //
  // REQUIRES: `work` owns everything that it uses, because it may outlive the caller and the pool.
  absl::Status Run(absl::string_view name, std::function<void()> work, absl::Duration timeout);
  // Runs all of `works`, at most `threads_max` at a time, and waits as Run does. `timeout` is the
  // time for all of them together. Returns one status for each work, in the order of `works`.
  std::vector<absl::Status> RunAll(absl::string_view name, std::vector<std::function<void()>> works,
                                   absl::Duration timeout);
  // Like Run, for a `work` that returns a value or an error: returns what `work` returned.
  template <typename T>
  absl::StatusOr<T> Call(absl::string_view name, std::function<absl::StatusOr<T>()> work,
                         absl::Duration timeout);

  // How many calls hang now.
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
  BERTH_RETURN_IF_ERROR(Run(
      name, [answer, work = std::move(work)] { *answer = work(); }, timeout));
  return std::move(*answer);
}

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_HYPERVISOR_DEADLINE_POOL_H_
