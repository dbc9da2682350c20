// Nemesis: causes the faults of a run, one after the other: every kind once in random order, then
// again.
//
// For the main thread.
#ifndef BERTH_TESTS_HISTORY_NEMESIS_H_
#define BERTH_TESTS_HISTORY_NEMESIS_H_

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/history/client.h"
#include "tests/history/servers.h"

namespace berth::history {

class Nemesis {
 public:
  Nemesis(uint64_t seed, Servers* servers, const Run* run)
      : random_(seed), servers_(servers), run_(run) {}

  // Causes the next fault, ends it, and waits until clients complete operations again, or `until`.
  void Act(absl::Time until);
  // How often each fault was caused.
  std::string Count() const;

 private:
  void Kill(int which);
  void KillDatabase();
  void Cut(int which);
  void Pause(int which);
  void Hold(int which);

  // Waits until `more` further operations are done, at most `limit`.
  void Await(int64_t more, absl::Duration limit) const;
  int Upto(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }

  std::mt19937_64 random_;
  Servers* const servers_;
  const Run* const run_;
  std::vector<int> next_;
  std::map<std::string, int> count_;
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_NEMESIS_H_
