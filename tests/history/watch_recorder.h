// WatchRecorder: somebody who watches everything and reconnects at random, and keeps a digest of what
// it was told of each revision.
//
// It resumes after the last revision that it knows to be complete, at either process. One thread, but
// for Stop.
#ifndef BERTH_TESTS_HISTORY_WATCH_RECORDER_H_
#define BERTH_TESTS_HISTORY_WATCH_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <random>

#include "placement/ground/mutex.h"
#include "tests/history/history.h"
#include "tests/history/servers.h"
#include "tests/processes/watch_mirror.h"

namespace berth::history {

class WatchRecorder {
 public:
  // Begins after `after`, of epoch 1.
  WatchRecorder(uint64_t seed, int64_t after, const Servers* servers, WatchLog* log);

  // Until Stop.
  void Work();
  void Stop();

 private:
  // One stream, for a while. The number of messages.
  int Follow();
  void Take(const placement::v1::WatchResponse& response);

  std::mt19937_64 random_;
  const Servers* const servers_;
  WatchLog* const log_;
  uint64_t digest_ = 0;  // of a revision that is not complete
  std::atomic<bool> stop_{false};
  placement::Mutex mutex_;
  e2e::Watch* watch_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the stream that is open
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_WATCH_RECORDER_H_
