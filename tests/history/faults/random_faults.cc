// The ways to spoil a random history, except the faults that are listed in fault.h.

#include <algorithm>
#include <set>
#include <utility>

#include "tests/history/faults/random_history.h"

namespace berth::history {
namespace {

using Random = std::mt19937_64;

bool IsDoneReadOfProvider(const Operation& operation) {
  return IsDone(operation) && operation.kind == Kind::kReadInventory;
}

void MoveEnds(History* history, int step, int by) {
  for (RevisionRow& row : history->story.revisions) {
    if (static_cast<int>(row.steps_end) > step) row.steps_end += by;
  }
}

bool LoseStep(Random& random, History* history) {
  const int step = PickStep(random, history, IsDone);
  if (step < 0) return false;
  history->story.steps.erase(history->story.steps.begin() + step);
  MoveEnds(history, step, -1);
  return true;
}

bool RepeatStep(Random& random, History* history) {
  const int step = PickStep(random, history, IsDone);
  if (step < 0) return false;
  const Step twice = history->story.steps[step];
  history->story.steps.insert(history->story.steps.begin() + step, twice);
  MoveEnds(history, step, 1);
  return true;
}

bool OrphanStep(Random& random, History* history) {
  const int step = PickStep(random, history, IsDone);
  if (step < 0) return false;
  history->story.steps[step].client = kNobody;
  return true;
}

bool KeepGeneration(Random& random, History* history) {
  --history->story.uses[random() % history->story.uses.size()].allocation_generation;
  return true;
}

bool MiscountUse(Random& random, History* history) {
  ++history->story.uses[random() % history->story.uses.size()].used[0];
  return true;
}

bool TellOtherGeneration(Random& random, History* history) {
  const int step = PickStep(random, history, [](const Operation& operation) {
    return IsDone(operation) && operation.kind == Kind::kSet;
  });
  if (step < 0) return false;
  const Step& chosen = history->story.steps[step];
  const Operation& operation = OperationOf(history, chosen);
  ++history->clients[chosen.client].parts[operation.first_part].generation;
  return true;
}

// True if an amount in use grows above one while its provider still has the capacity that it had at
// the beginning.
bool GrowsBeforeAnyChange(const History& history) {
  std::vector<Amounts> used;
  for (const ProviderState& state : history.begin.providers) used.push_back(state.used);
  std::set<uint16_t> changed;
  for (const Step& step : history.story.steps) {
    for (uint32_t u = step.first_use; u < step.first_use + step.uses; ++u) {
      const UseAfter& use = history.story.uses[u];
      Amounts& before = used[use.provider];
      for (size_t c = 0; c < before.size() && !changed.contains(use.provider); ++c) {
        if (use.used[c] > std::max<int64_t>(before[c], 1)) return true;
      }
      before = use.used;
    }
    for (uint32_t c = step.first_config; c < step.first_config + step.configs; ++c) {
      changed.insert(history.story.configs[c].provider);
    }
  }
  return false;
}

bool ShrinkCapacity(Random& random, History* history) {
  (void)random;
  if (!GrowsBeforeAnyChange(*history)) return false;
  for (ProviderState& state : history->begin.providers) state.capacity = {1, 1};
  return true;
}

bool DoWhatWasRefused(Random& random, History* history) {
  const int step = PickStep(random, history, IsDone);
  if (step < 0) return false;
  Operation& operation = OperationOf(history, history->story.steps[step]);
  operation.outcome = Outcome::kAbsent;
  return true;
}

bool ComeTooLate(Random& random, History* history) {
  const int steps = static_cast<int>(history->story.steps.size());
  const int step = PickStep(random, history, IsDone);
  if (step < 0 || step > steps / 2) return false;
  const Step& last = history->story.steps.back();
  if (last.client == kNobody || !IsDone(OperationOf(history, last))) return false;
  Operation& operation = OperationOf(history, history->story.steps[step]);
  operation.begin_ns = OperationOf(history, last).end_ns + 1;
  operation.end_ns = operation.begin_ns + 1;
  return true;
}

bool ReadOtherAmount(Random& random, History* history) {
  Operation* read = PickOperation(random, history, IsDoneReadOfProvider);
  if (read == nullptr) return false;
  ++history->clients[read->client].rows[read->first_row].amount;
  return true;
}

bool ReadThePast(Random& random, History* history) {
  Operation* read = PickOperation(random, history, [&](const Operation& operation) {
    return IsDoneReadOfProvider(operation) && operation.revision > history->begin.revision + 20;
  });
  if (read == nullptr) return false;
  // As it truly was then: only the clock tells.
  const ProviderState& state = history->begin.providers[read->provider];
  read->revision = history->begin.revision;
  read->generation = state.generation;
  read->allocation_generation = state.allocation_generation;
  for (uint16_t c = 0; c < kClasses; ++c) {
    std::deque<Row>& rows = history->clients[read->client].rows;
    rows[read->first_row + 2 * c].amount = static_cast<int32_t>(state.used[c]);
    rows[read->first_row + 2 * c + 1].amount = static_cast<int32_t>(state.capacity[c]);
  }
  return true;
}

bool RefuseWithoutCause(Random& random, History* history) {
  Operation* refused = PickOperation(random, history, [](const Operation& operation) {
    return operation.reason == Reason::kNoRoom;
  });
  if (refused == nullptr) return false;
  refused->generation += 1000;
  return true;
}

bool RefuseForNoReason(Random& random, History* history) {
  Operation* refused = PickOperation(random, history, [](const Operation& operation) {
    return operation.outcome == Outcome::kRefused;
  });
  if (refused == nullptr) return false;
  refused->reason = Reason::kOther;
  return true;
}

bool MissRevision(Random& random, History* history) {
  std::deque<ToldRow>& told = history->watches[0].told;
  if (told.empty()) return false;
  told.erase(told.begin() + static_cast<int64_t>(random() % told.size()));
  return true;
}

bool TellTwice(Random& random, History* history) {
  std::deque<ToldRow>& told = history->watches[0].told;
  if (told.empty()) return false;
  const ToldRow twice = told[random() % told.size()];
  told.insert(std::find_if(told.begin(), told.end(),
                           [&](const ToldRow& row) { return row.revision == twice.revision; }),
              twice);
  return true;
}

bool TellOtherwise(Random& random, History* history) {
  std::deque<ToldRow>& told = history->watches[0].told;
  if (told.empty()) return false;
  told[random() % told.size()].digest ^= 1;
  return true;
}

bool SpoilTable(Random& random, History* history) {
  ++history->end.providers[random() % history->end.providers.size()].used[0];
  return true;
}

bool LoseConsumer(Random& random, History* history) {
  std::vector<ConsumerState>& consumers = history->end.consumers;
  if (consumers.empty()) return false;
  consumers.erase(consumers.begin() + static_cast<int64_t>(random() % consumers.size()));
  return true;
}

}  // namespace

std::vector<Fault> Faults() {
  std::vector<Fault> faults = {
      {"an acknowledged write is not in the ledger", 7, LoseStep},
      {"a command took effect twice", 7, RepeatStep},
      {"a change that nobody asked for", 7, OrphanStep},
      {"what was told to be absent is there", 7, DoWhatWasRefused},
      {"a generation is not raised", 1, KeepGeneration},
      {"an answer tells another generation", 1, TellOtherGeneration},
      {"an amount in use is wrong", 2, MiscountUse},
      {"more is given away than there is", 2, ShrinkCapacity},
      {"a write stands before what it came after", 6, ComeTooLate},
      {"a read shows what never was", 4, ReadOtherAmount},
      {"a read shows what was before", 4, ReadThePast},
      {"a refusal names what was not there", 5, RefuseWithoutCause},
      {"a refusal has no reason", 5, RefuseForNoReason},
      {"a watcher misses a revision", 8, MissRevision},
      {"a watcher is told twice", 8, TellTwice},
      {"a watcher is told something else", 8, TellOtherwise},
      {"a provider's row differs in the end", 9, SpoilTable},
      {"a consumer's row is missing in the end", 9, LoseConsumer},
  };
  for (const auto& more : {LeaseFaults(), MoveFaults(), TrackerFaults(), RecordFaults()}) {
    faults.insert(faults.end(), more.begin(), more.end());
  }
  return faults;
}

}  // namespace berth::history
