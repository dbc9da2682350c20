// Fault: one kind of wrong thing that a test puts into a lawful history, and how to choose the place
// for it. All functions return the same for the same random numbers.
#ifndef BERTH_TESTS_HISTORY_FAULTS_FAULT_H_
#define BERTH_TESTS_HISTORY_FAULTS_FAULT_H_

#include <cstdint>
#include <random>
#include <vector>

#include "tests/history/history.h"

namespace berth::history {

// `spoil` puts the fault into the history and returns true. It returns false if the history has no
// place for the fault.
struct Fault {
  const char* name;
  int rule;  // the rule that must find it; others may find it too
  bool (*spoil)(std::mt19937_64& random, History* history);
};

// The faults of leases, of moves, of pushes and reports, and of records.
std::vector<Fault> LeaseFaults();
std::vector<Fault> MoveFaults();
std::vector<Fault> TrackerFaults();
std::vector<Fault> RecordFaults();

// A random element of `sequence` for which `fits` is true; null: there is none.
template <typename Sequence, typename Fits>
auto* PickOf(std::mt19937_64& random, Sequence& sequence, const Fits& fits) {
  std::vector<decltype(&*sequence.begin())> all;
  for (auto& one : sequence) {
    if (fits(one)) all.push_back(&one);
  }
  return all.empty() ? nullptr : all[random() % all.size()];
}

template <typename Fits>
Operation* PickOperation(std::mt19937_64& random, History* history, const Fits& fits) {
  std::vector<Operation*> all;
  for (ClientLog& log : history->clients) {
    if (Operation* one = PickOf(random, log.operations, fits)) all.push_back(one);
  }
  return all.empty() ? nullptr : all[random() % all.size()];
}

inline bool IsDone(const Operation& operation) { return operation.outcome == Outcome::kDone; }

// The operation of `step`. REQUIRES: the step is of a client's request with an id.
inline Operation& OperationOf(History* history, const Step& step) {
  return history->clients[step.client].operations[step.number];
}

// The index of a step of a client whose operation `fits`; -1: there is none.
template <typename Fits>
int PickStep(std::mt19937_64& random, History* history, const Fits& fits) {
  std::vector<int> all;
  for (size_t s = 0; s < history->story.steps.size(); ++s) {
    const Step& step = history->story.steps[s];
    if (step.client != kNobody && fits(OperationOf(history, step))) {
      all.push_back(static_cast<int>(s));
    }
  }
  return all.empty() ? -1 : all[random() % all.size()];
}

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_FAULTS_FAULT_H_
