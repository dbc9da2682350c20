// What the trackers of a HistoryMaker report, and what is pushed to them.
#include "tests/history/checker/timeline.h"
#include "tests/history/faults/history_maker.h"

namespace berth::history {

void HistoryMaker::Report() {
  operation_.kind = Kind::kReport;
  operation_.provider = AnyHost();
  const bool is_stale = Upto(4) == 0;
  Step step = NewStep();
  for (const uint16_t provider : {operation_.provider, kHosts}) {
    ProviderState& state = providers_[provider];
    const Amounts totals = {static_cast<int64_t>(4 + Upto(12)), static_cast<int64_t>(4 + Upto(12))};
    Ask(kProviderBit | provider, state.generation - (is_stale ? 1 : 0),
        {{provider, 0, static_cast<int32_t>(totals[0])},
         {provider, 1, static_cast<int32_t>(totals[1])}});
    if (is_stale) continue;
    if (state.capacity != totals) {
      state = {state.generation + 1, state.allocation_generation, totals, state.used};
      ++step.configs;
      history_.story.configs.push_back({provider, state.generation, totals});
    }
    log_->parts.back().generation = state.generation;
  }
  if (is_stale) {
    return End(Outcome::kRefused, Reason::kProviderConflict, providers_[kHosts].generation);
  }
  steps_.push_back(step);
  Done();
}

// For each host a complete push of some revision, then pushes of what changed since the last one. Now
// and then the tracker has started anew, and gets everything.
void HistoryMaker::Push() {
  const Story& story = history_.story;
  Timeline timeline(history_.begin);
  for (uint32_t s = 0; s < story.steps.size(); ++s) {
    const Step& step = story.steps[s];
    for (uint32_t p = step.first_part; p < step.first_part + step.parts; ++p) {
      const Part& part = story.parts[p];
      const auto first = story.rows.begin() + part.first_row;
      timeline.PutConsumer(part.consumer, s + 1, part.generation, {first, first + part.rows});
    }
  }
  const NodeViews views(story, timeline);
  for (uint16_t host = 0; host < kHosts; ++host) {
    PushLog& log = history_.pushes.emplace_back();
    log.host = host;
    log.wanted = revision_;
    uint32_t told = 0;
    for (const RevisionRow& row : story.revisions) {
      if (row.revision != revision_ && Upto(5) != 0) continue;
      const bool complete = told == 0 || Upto(6) == 0;
      AddPush(host, row.revision, complete, views.Changed(host, complete ? 0 : told, row.steps_end),
              views, row.steps_end);
      log.pushes.back().restarts = complete && Upto(2) == 0;
      told = row.steps_end;
    }
  }
}

void HistoryMaker::AddPush(uint16_t host, int64_t revision, bool complete,
                           const std::set<uint64_t>& numbers, const NodeViews& views,
                           uint32_t step) {
  PushLog& log = history_.pushes.back();
  history::Push push = {revision, complete, false, 0, static_cast<uint32_t>(log.parts.size())};
  for (const uint64_t number : numbers) {
    const Sight sight = views.At(host, number, step);
    if (complete && sight.generation == 0) continue;
    ++push.parts;
    log.parts.push_back({number, 0, sight.generation, static_cast<uint32_t>(log.rows.size()),
                         static_cast<uint32_t>(sight.generation == 0 ? 0 : sight.rows.size())});
    if (sight.generation == 0) continue;
    log.rows.insert(log.rows.end(), sight.rows.begin(), sight.rows.end());
  }
  log.pushes.push_back(push);
}

}  // namespace berth::history
