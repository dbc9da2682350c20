// How long to wait before trying again: full jitter, doubling up to a cap.
//
// Not thread-safe. The same seed gives the same waits.
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

  // The wait before the next attempt: anything up to base * 2^attempts, and up to the cap (T-230).
  std::chrono::milliseconds Next() {
    const int64_t limit =
        std::min(options_.cap.count(), options_.base.count() << std::min(attempts_, 30));
    ++attempts_;
    return std::chrono::milliseconds(random_() % static_cast<uint64_t>(limit + 1));
  }
  // After a success.
  void Reset() { attempts_ = 0; }

 private:
  const Options options_;
  std::mt19937_64 random_;
  int attempts_ = 0;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_UPLINK_BACKOFF_H_
