// Backoff: computes how long to wait before the next attempt.
//
// Each wait is drawn at random between zero and a limit. The limit doubles with every failed
// attempt, up to a cap, and is no longer than twice the time since the last success, unless that is
// less than the first limit. So a tracker that happens to draw short waits does not stay away for much
// longer than placement did. The same seed gives the same waits. Not thread-safe.
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

  // Returns a wait between 0 and min(cap, base * 2^n, max(base, 2 * failing)), where n counts the
  // calls of Next() since the last Reset() (T-230), and `failing` is the time since the last attempt
  // that succeeded.
  std::chrono::milliseconds Next(std::chrono::milliseconds failing) {
    const auto doubled = options_.base * (int64_t{1} << std::min(attempts_, 30));
    const auto limit = std::min({options_.cap, doubled, std::max(options_.base, 2 * failing)});
    ++attempts_;
    return std::chrono::milliseconds(random_() % static_cast<uint64_t>(limit.count() + 1));
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
