// Replay: follows the log command by command and compares it with the clients' requests.
//
// Each command must be one that a client sent. It must come at most once, be lawful in the state at
// its place in the log, and have the effect that the log tells. Otherwise there is a finding, and
// the replay continues from what the log tells, so that one fault gives one finding.
#ifndef BERTH_TESTS_HISTORY_CHECKER_REPLAY_H_
#define BERTH_TESTS_HISTORY_CHECKER_REPLAY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tests/history/checker/effect.h"
#include "tests/history/checker/findings.h"
#include "tests/history/checker/timeline.h"
#include "tests/history/history.h"

namespace berth::history {

// An operation, named by its client and its number among the client's operations.
struct Place {
  uint16_t client = 0;
  uint32_t number = 0;
};

// The reason as the end of a sentence.
const char* WordsFor(Reason reason);

class Replay {
 public:
  // Both must outlive it.
  Replay(const History& history, Findings* findings);

  // Checks rules 1, 2 and 7 (findings.h).
  void Run();

  const Timeline& timeline() const { return timeline_; }
  // The step in which `place` took effect, counted from 1; 0: it took no effect.
  uint32_t StepOf(const Place& place) const { return steps_[place.client][place.number]; }
  // The last step of `revision`, or of the revision before it if the log has no such revision.
  uint32_t EndOf(int64_t revision) const;
  // Whether the answer to `operation` names a revision that was lost with the end of its epoch.
  bool IsLost(const Operation& operation) const;

  const Operation& At(const Place& place) const { return LogOf(place).operations[place.number]; }
  // The client, the call, its time and its answer, as text.
  std::string Describe(const Place& place) const;
  // The clients' commands in `revision`, as text.
  std::string Commands(int64_t revision) const;
  // The last commands up to `step` that changed a provider or consumer of `place`.
  std::string Window(uint32_t step, const Place& place) const;

 private:
  // The log of the client of `place`, or of the ledger itself.
  const ClientLog& LogOf(const Place& place) const {
    return place.client < history_.clients.size() ? history_.clients[place.client] : own_;
  }
  // Adds the end of leases in `step` to the ledger's own operations.
  Place AddExpiry(const Step& step);
  bool Match(const Step& step, uint32_t at, Place* place);
  bool MatchWithoutId(const Step& step, uint32_t at, Place* place);
  bool Leaves(const Place& place, uint32_t at, const Part& told) const;
  void CheckMatch(const Step& step, const Place& place, uint32_t at);
  void Compare(const Step& step, const Place& place, uint32_t at);
  void CompareConsumers(const Step& step, const Place& place, uint32_t at, const Effect& effect);
  void CheckAck(const Place& place, const std::map<uint16_t, ProviderState>& told);
  bool HasLease(const Part& told, const ConsumerAfter& after) const;
  void CheckLeasesEnd();
  bool IsFresh(uint64_t consumer, int64_t generation, uint32_t at) const;
  void Believe(const Step& step, uint32_t at);
  // A claim that chose its own provider, with the provider that the log tells.
  ClientLog Placed(const Step& step, const Place& place, Operation* operation) const;
  void CheckAnswered();
  bool Touches(const Step& step, const Place& place) const;

  const History& history_;
  Findings* const findings_;
  Timeline timeline_;
  std::vector<std::vector<uint32_t>> steps_;                      // by client, then number
  absl::flat_hash_map<uint64_t, std::vector<Place>> without_id_;  // by consumer
  ClientLog own_;                                                 // what the ledger did by itself
  int64_t time_us_ = 0;                                           // of the replayed row
  int64_t epoch_ = 0;                                             // of the replayed row
  int64_t commands_before_ = 0;  // the replayed row has the commands above this number
  int64_t commands_end_ = 0;     // and up to this one
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_REPLAY_H_
