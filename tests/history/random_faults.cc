// The ways to spoil a random history.

#include <algorithm>
#include <set>
#include <utility>

#include "tests/history/random_history.h"

namespace berth::history {
namespace {

using Random = std::mt19937_64;

// A random one of `sequence` for which `fits`; null: there is none.
template <typename Sequence, typename Fits>
auto* PickOf(Random& random, Sequence& sequence, const Fits& fits) {
  std::vector<decltype(&*sequence.begin())> all;
  for (auto& one : sequence) {
    if (fits(one)) all.push_back(&one);
  }
  return all.empty() ? nullptr : all[random() % all.size()];
}

template <typename Fits>
Operation* PickOperation(Random& random, History* history, const Fits& fits) {
  std::vector<Operation*> all;
  for (ClientLog& log : history->clients) {
    if (Operation* one = PickOf(random, log.operations, fits)) all.push_back(one);
  }
  return all.empty() ? nullptr : all[random() % all.size()];
}

Operation& OperationOf(History* history, const Step& step) {
  return history->clients[step.client].operations[step.number];
}

// The place of a step of a client whose operation `fits`; -1: there is none.
template <typename Fits>
int PickStep(Random& random, History* history, const Fits& fits) {
  std::vector<int> all;
  for (size_t s = 0; s < history->story.steps.size(); ++s) {
    const Step& step = history->story.steps[s];
    if (step.client != kNobody && fits(OperationOf(history, step))) {
      all.push_back(static_cast<int>(s));
    }
  }
  return all.empty() ? -1 : all[random() % all.size()];
}

bool IsDone(const Operation& operation) { return operation.outcome == Outcome::kDone; }
bool IsDoneRead(const Operation& operation) {
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
  Operation* read = PickOperation(random, history, IsDoneRead);
  if (read == nullptr) return false;
  ++history->clients[read->client].rows[read->first_row].amount;
  return true;
}

bool ReadThePast(Random& random, History* history) {
  Operation* read = PickOperation(random, history, [&](const Operation& operation) {
    return IsDoneRead(operation) && operation.revision > history->begin.revision + 20;
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

bool OverwriteWhatHasChanged(Random& random, History* history) {
  Operation* write = PickOperation(random, history, [](const Operation& operation) {
    return IsDone(operation) &&
           (operation.kind == Kind::kSetInstance || operation.kind == Kind::kUpdateMigration);
  });
  if (write == nullptr) return false;
  ++history->clients[write->client].parts[write->first_part].expected;
  return true;
}

bool KeepMigration(Random& random, History* history) {
  Step* step = PickOf(random, history->story.steps, [&](const Step& one) {
    return one.client != kNobody && one.parts > 1 &&
           OperationOf(history, one).kind == Kind::kDeleteInstance;
  });
  if (step == nullptr) return false;
  ++step->first_part;
  --step->parts;
  return true;
}

Operation* PickList(Random& random, History* history) {
  return PickOperation(random, history, [](const Operation& operation) {
    return IsList(operation.kind) && operation.parts > 0;
  });
}

bool ListTooFew(Random& random, History* history) {
  Operation* list = PickList(random, history);
  if (list == nullptr) return false;
  --list->parts;
  return true;
}

bool ListOldState(Random& random, History* history) {
  Operation* list = PickList(random, history);
  if (list == nullptr) return false;
  --history->clients[list->client].parts[list->first_part].generation;
  return true;
}

}  // namespace

const std::vector<Fault>& Faults() {
  static const auto& faults = *new std::vector<Fault>{
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
      {"a record is overwritten that has changed", 2, OverwriteWhatHasChanged},
      {"a deleted instance leaves a migration", 2, KeepMigration},
      {"a list leaves a record out", 4, ListTooFew},
      {"a list shows an old record", 4, ListOldState},
      {"a provider's row differs in the end", 9, SpoilTable},
      {"a consumer's row is missing in the end", 9, LoseConsumer},
  };
  return faults;
}

}  // namespace berth::history
