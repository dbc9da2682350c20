// Backoff: computes how long to wait before the next attempt.
//
// Each wait is drawn at random between zero and a limit. The limit doubles with every failed
// attempt, up to a cap. The same seed gives the same waits. Not thread-safe.
#ifndef BERTH_TRACKER_UPLINK_BACKOFF_H_
#define BERTH_TRACKER_UPLINK_BACKOFF_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace berth::tracker {

class Backoff {
 public:
  struct Options {
    std::chrono::milliseconds base{1000};
    std::chrono::milliseconds cap{60000};
  };
  Backoff(Options options, uint64_t seed) : options_(options), random_(seed) {}

  // Returns a wait between 0 and min(cap, base * 2^n), where n counts the calls of Next() since the
  // last Reset() (T-230).
  std::chrono::milliseconds Next() {
    const int64_t limit =
        std::min(options_.cap.count(), options_.base.count() << std::min(attempts_, 30));
    ++attempts_;
    return std::chrono::milliseconds(random_() % static_cast<uint64_t>(limit + 1));
  }
  // Makes the next limit the smallest one. Must be called after an attempt that succeeded.
  void Reset() { attempts_ = 0; }

 private:
  const Options options_;
  std::mt19937_64 random_;
  int attempts_ = 0;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_BACKOFF_H_
