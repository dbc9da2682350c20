#include "tests/history/checker/replay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace berth::history {
Replay::Replay(const History& history, Findings* findings)
    : history_(history),
      findings_(findings),
      timeline_(history.begin),
      commands_end_(history.begin.command_count) {
  for (uint16_t c = 0; c < history.clients.size(); ++c) {
    const ClientLog& log = history.clients[c];
    steps_.emplace_back(log.operations.size(), 0);
    for (uint32_t n = 0; n < log.operations.size(); ++n) {
      const Operation& operation = log.operations[n];
      if (operation.with_id || operation.parts == 0) continue;
      without_id_[log.parts[operation.first_part].consumer].push_back({c, n});
    }
  }
}

void Replay::Run() {
  for (const std::string& words : history_.story.breaks) findings_->Add(1, words);
  uint32_t at = 0;
  for (const RevisionRow& row : history_.story.revisions) {
    commands_before_ = commands_end_;
    commands_end_ = row.command_count;
    time_us_ = row.time_us;
    epoch_ = row.epoch;
    for (; at < row.steps_end; ++at) {
      const Step& step = history_.story.steps[at];
      Place place;
      if (step.expires && step.client == kNobody) {
        Compare(step, AddExpiry(step), at);
      } else if (Match(step, at, &place)) {
        CheckMatch(step, place, at);
        Compare(step, place, at);
        if (step.expires) {
          findings_->Add(7, absl::StrCat("is in the log as the ledger's own command:\n  ",
                                         Describe(place), Window(at + 1, place)));
        }
        steps_[place.client][place.number] = at + 1;
      } else {
        findings_->Add(7, absl::StrCat("revision ", step.revision,
                                       " holds a change that no client asked for (client ",
                                       step.client, " #", step.number, ")"));
      }
      Believe(step, at);
    }
  }
  CheckAnswered();
  CheckLeasesEnd();
}

void Replay::CheckLeasesEnd() {
  for (const uint64_t consumer : timeline_.Leased()) {
    findings_->Add(
        2, absl::StrCat("the ledger did not end the lease of consumer ", absl::Hex(consumer)));
  }
}

Place Replay::AddExpiry(const Step& step) {
  Operation operation;
  operation.kind = Kind::kExpire;
  operation.expected = time_us_;
  operation.client = static_cast<uint16_t>(history_.clients.size());
  operation.number = static_cast<uint32_t>(own_.operations.size());
  operation.first_part = static_cast<uint32_t>(own_.parts.size());
  operation.parts = static_cast<uint16_t>(step.parts);
  for (uint32_t p = step.first_part; p < step.first_part + step.parts; ++p) {
    own_.parts.push_back({history_.story.parts[p].consumer, kAny});
  }
  own_.operations.push_back(operation);
  return {operation.client, operation.number};
}

bool Replay::Match(const Step& step, uint32_t at, Place* place) {
  if (step.client == kNobody) return MatchWithoutId(step, at, place);
  if (step.client >= static_cast<int>(history_.clients.size())) return false;
  *place = {static_cast<uint16_t>(step.client), step.number};
  return step.number < steps_[step.client].size() && !IsRead(At(*place).kind);
}

// Whether the command, done after step `at`, leaves its consumer with the rows of `told`.
bool Replay::Leaves(const Place& place, uint32_t at, const Part& told) const {
  const Effect effect = EffectOf(timeline_, at, LogOf(place), At(place));
  const auto after = effect.consumers.find(told.consumer);
  const auto rows = history_.story.rows.begin() + told.first_row;
  return effect.reason == Reason::kNone && after != effect.consumers.end() &&
         std::equal(after->second.rows.begin(), after->second.rows.end(), rows, rows + told.rows);
}

// Without an id a command is known by its consumer, and by its revision where that was told; a new
// epoch may use the number of a revision that was lost. Where no revision was told, several clients
// may have asked for the same consumer: then by its effect.
bool Replay::MatchWithoutId(const Step& step, uint32_t at, Place* place) {
  if (step.parts == 0) return false;
  const auto asked = without_id_.find(history_.story.parts[step.first_part].consumer);
  if (asked == without_id_.end()) return false;
  enum { kNone, kUntold, kFits } found = kNone;
  for (const Place& candidate : asked->second) {
    if (StepOf(candidate) != 0) continue;
    const Operation& operation = At(candidate);
    if (operation.outcome == Outcome::kDone && operation.revision == step.revision &&
        operation.epoch == epoch_) {
      *place = candidate;
      return true;
    }
    if (operation.outcome != Outcome::kUnknown || found == kFits) continue;
    const bool fits = Leaves(candidate, at, history_.story.parts[step.first_part]);
    if (found == kUntold && !fits) continue;
    *place = candidate;
    found = fits ? kFits : kUntold;
  }
  return found != kNone;
}

void Replay::CheckMatch(const Step& step, const Place& place, uint32_t at) {
  const Operation& operation = At(place);
  if (StepOf(place) != 0) {
    findings_->Add(7, absl::StrCat("took effect twice, last at revision ", step.revision, ":\n  ",
                                   Describe(place), Window(at + 1, place)));
  }
  const bool in_time =
      operation.late ? operation.revision >= step.revision : operation.revision == step.revision;
  const bool may =
      operation.outcome == Outcome::kUnknown || (operation.outcome == Outcome::kDone && in_time);
  if (!may) {
    findings_->Add(7, absl::StrCat("took effect at revision ", step.revision, " against its answer",
                                   ":\n  ", Describe(place), Window(at + 1, place)));
  }
}

ClientLog Replay::Placed(const Step& step, const Place& place, Operation* operation) const {
  const ClientLog& log = LogOf(place);
  ClientLog placed;
  for (uint16_t p = 0; p < operation->parts; ++p) {
    Part part = log.parts[operation->first_part + p];
    const uint32_t first_row = part.first_row;
    part.first_row = static_cast<uint32_t>(placed.rows.size());
    for (uint32_t r = 0; r < part.rows; ++r) {
      Row row = log.rows[first_row + r];
      for (uint32_t s = 0; row.provider == kUnplaced && s < step.parts; ++s) {
        const Part& told = history_.story.parts[step.first_part + s];
        if (told.consumer == part.consumer && told.rows > 0) {
          row.provider = history_.story.rows[told.first_row].provider;
        }
      }
      placed.rows.push_back(row);
    }
    placed.parts.push_back(part);
  }
  operation->first_part = 0;
  return placed;
}

void Replay::Compare(const Step& step, const Place& place, uint32_t at) {
  Operation operation = At(place);
  Effect effect;
  if (operation.kind == Kind::kClaim) {
    const ClientLog placed = Placed(step, place, &operation);
    effect = EffectOf(timeline_, at, placed, operation);
  } else {
    effect = EffectOf(timeline_, at, LogOf(place), operation);
  }
  if (effect.reason != Reason::kNone) {
    findings_->Add(
        2, absl::StrCat("was done at revision ", step.revision, " and should be refused",
                        WordsFor(effect.reason), ":\n  ", Describe(place), Window(at + 1, place)));
    return;
  }
  CompareConsumers(step, place, at, effect);
  std::map<uint16_t, ProviderState> told;
  for (const auto& [provider, state] : effect.providers) {
    told[provider] = timeline_.ProviderAt(provider, at);
  }
  for (uint32_t u = step.first_use; u < step.first_use + step.uses; ++u) {
    const UseAfter& use = history_.story.uses[u];
    told[use.provider].allocation_generation = use.allocation_generation;
    told[use.provider].used = use.used;
  }
  for (uint32_t c = step.first_config; c < step.first_config + step.configs; ++c) {
    const ConfigAfter& config = history_.story.configs[c];
    told[config.provider].generation = config.generation;
    told[config.provider].capacity = config.capacity;
  }
  if (operation.kind == Kind::kReport) CheckAck(place, told);
  if (told == effect.providers) return;
  const bool same_amounts = std::equal(told.begin(), told.end(), effect.providers.begin(),
                                       effect.providers.end(), [](const auto& a, const auto& b) {
                                         return a.first == b.first &&
                                                a.second.used == b.second.used &&
                                                a.second.capacity == b.second.capacity;
                                       });
  findings_->Add(same_amounts ? 1 : 2,
                 absl::StrCat("left providers at revision ", step.revision,
                              same_amounts ? " at another generation" : " with other amounts",
                              " than it should:\n  ", Describe(place), Window(at, place)));
}

// An ack tells the generations that the providers of the report have after it.
void Replay::CheckAck(const Place& place, const std::map<uint16_t, ProviderState>& told) {
  const Operation& operation = At(place);
  if (operation.outcome != Outcome::kDone || operation.late) return;
  for (uint32_t p = operation.first_part; p < operation.first_part + operation.parts; ++p) {
    const Part& part = LogOf(place).parts[p];
    const auto after = told.find(static_cast<uint16_t>(part.consumer & ~kProviderBit));
    if (after != told.end() && after->second.generation == part.generation) continue;
    findings_->Add(1, absl::StrCat("got an ack that tells another generation than the ledger:\n  ",
                                   Describe(place)));
    return;
  }
}

bool Replay::HasLease(const Part& told, const ConsumerAfter& after) const {
  constexpr int64_t kSecond = 1'000'000;
  if (after.lease_s == 0) return told.lease_end_us == after.lease_end_us;
  return told.lease_end_us == time_us_ + after.lease_s * kSecond;
}

bool Replay::IsFresh(uint64_t consumer, int64_t generation, uint32_t at) const {
  if (generation <= timeline_.HighestGeneration(consumer, at)) return false;
  return generation > commands_before_ && generation <= commands_end_;
}

void Replay::CompareConsumers(const Step& step, const Place& place, uint32_t at,
                              const Effect& effect) {
  const Operation& operation = At(place);
  const ClientLog& log = LogOf(place);
  size_t equal = 0;
  bool generations_hold = true;
  for (uint32_t s = step.first_part; s < step.first_part + step.parts; ++s) {
    const Part& told = history_.story.parts[s];
    const auto wanted = effect.consumers.find(told.consumer);
    if (wanted == effect.consumers.end()) continue;
    const ConsumerAfter& after = wanted->second;
    const bool same_rows = std::equal(after.rows.begin(), after.rows.end(),
                                      history_.story.rows.begin() + told.first_row,
                                      history_.story.rows.begin() + told.first_row + told.rows);
    if (same_rows && HasLease(told, after)) ++equal;
    generations_hold &= after.generation == kFresh ? IsFresh(told.consumer, told.generation, at)
                                                   : told.generation == after.generation;
    for (uint16_t p = 0; operation.outcome == Outcome::kDone && p < operation.parts; ++p) {
      const Part& answered = log.parts[operation.first_part + p];
      if (answered.consumer != told.consumer || answered.generation == 0) continue;
      generations_hold &= answered.generation == told.generation;
    }
  }
  if (equal != effect.consumers.size() || equal != step.parts) {
    findings_->Add(2, absl::StrCat("left consumers at revision ", step.revision,
                                   " with other amounts or leases than it should:\n  ",
                                   Describe(place), Window(at, place)));
  } else if (!generations_hold) {
    findings_->Add(1, absl::StrCat("gave a consumer at revision ", step.revision,
                                   " another generation than it should or told:\n  ",
                                   Describe(place), Window(at, place)));
  }
}

void Replay::Believe(const Step& step, uint32_t at) {
  const Story& story = history_.story;
  for (uint32_t p = step.first_part; p < step.first_part + step.parts; ++p) {
    const Part& part = story.parts[p];
    timeline_.PutConsumer(
        part.consumer, at + 1, part.generation,
        {story.rows.begin() + part.first_row, story.rows.begin() + part.first_row + part.rows},
        part.lease_end_us);
  }
  for (uint32_t u = step.first_use; u < step.first_use + step.uses; ++u) {
    ProviderState state = timeline_.ProviderAt(story.uses[u].provider, at + 1);
    state.allocation_generation = story.uses[u].allocation_generation;
    state.used = story.uses[u].used;
    timeline_.PutProvider(story.uses[u].provider, at + 1, state);
  }
  for (uint32_t c = step.first_config; c < step.first_config + step.configs; ++c) {
    ProviderState state = timeline_.ProviderAt(story.configs[c].provider, at + 1);
    state.generation = story.configs[c].generation;
    state.capacity = story.configs[c].capacity;
    timeline_.PutProvider(story.configs[c].provider, at + 1, state);
  }
}

// What was answered as done is in the ledger, and what is sent again is answered as before.
void Replay::CheckAnswered() {
  for (uint16_t c = 0; c < history_.clients.size(); ++c) {
    for (uint32_t n = 0; n < steps_[c].size(); ++n) {
      const Place place = {c, n};
      const Operation& operation = At(place);
      if (IsRead(operation.kind) || operation.outcome == Outcome::kUnknown) continue;
      if (operation.kind == Kind::kRepeat) {
        const Operation& first = At({c, operation.number});
        const bool refused = operation.outcome == Outcome::kRefused;
        const bool differs =
            operation.outcome == Outcome::kDone &&
            (operation.revision != first.revision || operation.epoch != first.epoch);
        if ((!refused && !differs) || IsLost(first)) continue;
        findings_->Add(7, absl::StrCat("was answered otherwise when it was sent again:\n  ",
                                       Describe({c, operation.number}), "\n  ", Describe(place)));
      } else if (operation.outcome == Outcome::kDone && StepOf(place) == 0 && !IsLost(operation)) {
        findings_->Add(7, absl::StrCat("was acknowledged and is not in the ledger:\n  ",
                                       Describe(place), Window(EndOf(operation.revision), place)));
      }
    }
  }
}

uint32_t Replay::EndOf(int64_t revision) const {
  const auto& rows = history_.story.revisions;
  const auto after = std::upper_bound(
      rows.begin(), rows.end(), revision,
      [](int64_t wanted, const RevisionRow& row) { return wanted < row.revision; });
  return after == rows.begin() ? 0 : std::prev(after)->steps_end;
}

bool Replay::IsLost(const Operation& operation) const {
  const auto& rows = history_.story.revisions;
  if (rows.empty() || operation.epoch >= rows.back().epoch || history_.epoch_began_ns == 0) {
    return false;
  }
  const auto next = std::partition_point(rows.begin(), rows.end(), [&](const RevisionRow& row) {
    return row.epoch <= operation.epoch;
  });
  return operation.revision >= next->revision;
}

}  // namespace berth::history
