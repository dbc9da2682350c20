// RealTime: between which commands of a ledger each operation can have happened, by the clock.
//
// A command whose effect was known before an operation began came before the operation. A command
// whose call began after the operation was answered came after it.
#ifndef BERTH_TESTS_HISTORY_CHECKER_REAL_TIME_H_
#define BERTH_TESTS_HISTORY_CHECKER_REAL_TIME_H_

#include <cstdint>
#include <vector>

#include "tests/history/checker/replay.h"

namespace berth::history {

struct Bounds {
  uint32_t first = 0;    // after this step at the earliest
  uint32_t last = 0;     // after this step at the latest
  uint32_t process = 0;  // the last step that the answering process had shown before
  uint32_t settled = 0;  // the last step shown longer ago than a state may be old
};

class RealTime {
 public:
  RealTime(const History& history, const Replay& replay);
  const Bounds& Of(const Place& place) const { return bounds_[place.client][place.number]; }

 private:
  std::vector<std::vector<Bounds>> bounds_;
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_REAL_TIME_H_
