// Replay: follows a ledger's story command by command, from what the clients asked for.
//
// Each command must be one that a client sent, at most once, lawful where it stands, and what the log
// says it did must be what it does. Where that does not hold a finding says so and the story is
// believed from there, so that one fault is told once.
#ifndef BERTH_TESTS_HISTORY_REPLAY_H_
#define BERTH_TESTS_HISTORY_REPLAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tests/history/effect.h"
#include "tests/history/findings.h"
#include "tests/history/history.h"
#include "tests/history/timeline.h"

namespace berth::history {

// An operation by its client and its number there.
struct Place {
  uint16_t client = 0;
  uint32_t number = 0;
};

// Why, for a sentence that ends with it.
const char* WordsFor(Reason reason);

class Replay {
 public:
  // Both must outlive it.
  Replay(const History& history, Findings* findings);

  // Rules 1, 2 and 7.
  void Run();

  const Timeline& timeline() const { return timeline_; }
  // The step that `place` is, counted from 1; 0: it took no effect.
  uint32_t StepOf(const Place& place) const { return steps_[place.client][place.number]; }
  // The last step of `revision`. That of the one before where the story has no such revision.
  uint32_t EndOf(int64_t revision) const;
  // Whether `operation` was answered by an epoch that ended, at a revision that went with it.
  bool IsLost(const Operation& operation) const;

  const Operation& At(const Place& place) const {
    return history_.clients[place.client].operations[place.number];
  }
  // In words: who asked for what, when, and what was answered.
  std::string Describe(const Place& place) const;
  // The last commands up to `step` that changed one of what `place` is about.
  std::string Window(uint32_t step, const Place& place) const;

 private:
  bool Match(const Step& step, Place* place);
  bool MatchWithoutId(const Step& step, Place* place);
  void CheckMatch(const Step& step, const Place& place, uint32_t at);
  void Compare(const Step& step, const Place& place, uint32_t at);
  void CompareConsumers(const Step& step, const Place& place, uint32_t at, const Effect& effect);
  bool IsFresh(uint64_t consumer, int64_t generation, uint32_t at) const;
  void Believe(const Step& step, uint32_t at);
  // The operation of `place` with the rows of the story, where nobody was told where it was placed.
  ClientLog Placed(const Step& step, const Place& place, Operation* operation) const;
  void CheckAnswered();
  bool Touches(const Step& step, const Place& place) const;

  const History& history_;
  Findings* const findings_;
  Timeline timeline_;
  std::vector<std::vector<uint32_t>> steps_;                      // by client, then number
  absl::flat_hash_map<uint64_t, std::vector<Place>> without_id_;  // by consumer
  int64_t commands_before_ = 0;  // of the row that is replayed: it holds those above this
  int64_t commands_end_ = 0;     // up to this
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_REPLAY_H_
