// WatchRecorder: a watcher of everything that reconnects at random and keeps a digest of each
// revision.
//
// It resumes, at either process, after the last revision that it received completely. One thread;
// Stop may be called from any.
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
  // Begins after revision `after` of epoch 1.
  WatchRecorder(uint64_t seed, int64_t after, const Servers* servers, WatchLog* log);

  // Watches until Stop.
  void Work();
  void Stop();

 private:
  // Reads one stream for a while. Returns the number of messages.
  int Follow();
  void Take(const placement::v1::WatchResponse& response);

  std::mt19937_64 random_;
  const Servers* const servers_;
  WatchLog* const log_;
  uint64_t digest_ = 0;  // of the revision that is not complete yet
  std::atomic<bool> stop_{false};
  placement::Mutex mutex_;
  e2e::Watch* watch_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the open stream
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_WATCH_RECORDER_H_
