#include "tests/history/checker/checker.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/history/checker/effect.h"
#include "tests/history/checker/push_check.h"
#include "tests/history/checker/real_time.h"
#include "tests/history/checker/replay.h"

namespace berth::history {
namespace {

class Checker {
 public:
  explicit Checker(const History& history)
      : history_(history), replay_(history, &findings_), timeline_(replay_.timeline()) {}

  Findings Run() {
    replay_.Run();
    const RealTime real_time(history_, replay_);
    for (uint16_t c = 0; c < history_.clients.size(); ++c) {
      for (uint32_t n = 0; n < history_.clients[c].operations.size(); ++n) {
        const Place place = {c, n};
        CheckOrder(place, real_time.Of(place));
        if (IsRead(replay_.At(place).kind)) CheckRead(place, real_time.Of(place));
        if (replay_.At(place).outcome == Outcome::kRefused) {
          CheckRefusal(place, real_time.Of(place));
        }
      }
    }
    for (const WatchLog& watch : history_.watches) CheckWatch(watch);
    CheckPushes(history_, replay_, &findings_);
    CheckEnd();
    return std::move(findings_);
  }

 private:
  void Add(int rule, const char* words, const Place& place, uint32_t step) {
    findings_.Add(
        rule, absl::StrCat(words, ":\n  ", replay_.Describe(place), replay_.Window(step, place)));
  }

  void CheckOrder(const Place& place, const Bounds& bounds);
  void CheckRead(const Place& place, const Bounds& bounds);
  void CheckLaterPage(const Place& place, const Bounds& bounds);
  bool Shows(const Place& place, uint32_t at) const;
  bool ShowsRecords(const Operation& operation, const ClientLog& log, uint32_t at) const;
  void CheckRefusal(const Place& place, const Bounds& bounds);
  std::set<uint32_t> StepsToTry(const Place& place, const Bounds& bounds) const;
  void AddProviderSteps(uint16_t provider, const Bounds& bounds, std::set<uint32_t>* steps) const;
  uint64_t DigestOf(uint32_t first, uint32_t end) const;
  void CheckWatch(const WatchLog& watch);
  void CheckEnd();
  void CheckConsumersAtEnd(uint32_t end);

  const History& history_;
  Findings findings_;
  Replay replay_;
  const Timeline& timeline_;
};

void Checker::CheckOrder(const Place& place, const Bounds& bounds) {
  const uint32_t step = replay_.StepOf(place);
  if (step == 0 || step > bounds.first) return;
  const Step& later = history_.story.steps[bounds.first - 1];
  const std::string words =
      absl::StrCat("stands in the ledger before step ", bounds.first, " (client ", later.client,
                   " #", later.number, "), which was known before it began");
  Add(6, words.c_str(), place, step);
}

void Checker::CheckRead(const Place& place, const Bounds& bounds) {
  const Operation& operation = replay_.At(place);
  if (operation.outcome != Outcome::kDone || replay_.IsLost(operation)) return;
  if (operation.cursor != 0) return CheckLaterPage(place, bounds);
  const auto& rows = history_.story.revisions;
  const auto row =
      std::lower_bound(rows.begin(), rows.end(), operation.revision,
                       [](const RevisionRow& at, int64_t wanted) { return at.revision < wanted; });
  const bool there =
      row != rows.end() && row->revision == operation.revision && row->epoch == operation.epoch;
  if (!there && operation.revision != history_.begin.revision) {
    return Add(4, "is of a revision that the ledger does not have", place, 0);
  }
  const uint32_t at = replay_.EndOf(operation.revision);
  if (operation.revision < operation.minimum) return Add(4, "is older than asked for", place, at);
  if (at < bounds.process) {
    return Add(4, "is older than what its process had told before", place, bounds.process);
  }
  if (at < bounds.settled) {
    const int64_t told = history_.story.steps[bounds.settled - 1].revision;
    const std::string words = absl::StrCat("is older than a state may be: revision ", told,
                                           " had been told for longer than that");
    return Add(4, words.c_str(), place, bounds.settled);
  }
  if (at > bounds.last) return Add(4, "shows what began after it had ended", place, at);
  if (!Shows(place, at)) Add(4, "shows what was not so at its revision", place, at);
}

// Whether what was read is how things stood after step `at`.
bool Checker::Shows(const Place& place, uint32_t at) const {
  const Operation& operation = replay_.At(place);
  const ClientLog& log = history_.clients[place.client];
  if (operation.kind == Kind::kReadInventory) {
    ProviderState shown;
    shown.generation = operation.generation;
    shown.allocation_generation = operation.allocation_generation;
    for (uint16_t c = 0; c < kClasses && 2 * c + 1 < operation.rows; ++c) {
      shown.used[c] = log.rows[operation.first_row + 2 * c].amount;
      shown.capacity[c] = log.rows[operation.first_row + 2 * c + 1].amount;
    }
    return shown == timeline_.ProviderAt(operation.provider, at);
  }
  if (IsList(operation.kind)) return ShowsRecords(operation, log, at);
  const Part& shown = log.parts[operation.first_part];
  const ConsumerPoint* point = timeline_.ConsumerAt(shown.consumer, at);
  if (point == nullptr) return shown.generation == 0;
  const std::vector<Row> rows = timeline_.RowsOf(*point);
  return point->generation == shown.generation &&
         std::equal(rows.begin(), rows.end(), log.rows.begin() + shown.first_row,
                    log.rows.begin() + shown.first_row + shown.rows);
}

// A later page names the revision of the first page. It shows the state of any revision from there
// on that its process may answer with.
void Checker::CheckLaterPage(const Place& place, const Bounds& bounds) {
  const Operation& operation = replay_.At(place);
  const ClientLog& log = history_.clients[place.client];
  const Operation& before = replay_.At({place.client, place.number - 1});
  if (operation.revision != before.revision || operation.epoch != before.epoch) {
    return Add(4, "names another revision than the page before it", place, 0);
  }
  const uint32_t first =
      std::max({bounds.process, bounds.settled, replay_.EndOf(operation.revision)});
  std::set<uint32_t> steps = timeline_.RecordSteps(operation.kind == Kind::kListMigrations,
                                                   operation.provider, first, bounds.last);
  steps.insert(first);
  for (const uint32_t step : steps) {
    if (ShowsRecords(operation, log, step)) return;
  }
  Add(4, "shows what was not so at any revision that it may have", place, bounds.last);
}

// Whether a page of a list holds every record of its host once, as it was after step `at`, in order,
// from the first record after its cursor up to its limit.
bool Checker::ShowsRecords(const Operation& operation, const ClientLog& log, uint32_t at) const {
  const auto records =
      timeline_.RecordsOn(operation.kind == Kind::kListMigrations, operation.provider, at);
  const auto begin = std::find_if(records.begin(), records.end(), [&](const auto& record) {
    return record.first > operation.cursor;
  });
  const bool more = operation.limit != 0 && records.end() - begin > operation.limit;
  const auto end = more ? begin + operation.limit : records.end();
  return more == operation.more &&
         std::equal(begin, end, log.parts.begin() + operation.first_part,
                    log.parts.begin() + operation.first_part + operation.parts,
                    [&](const auto& record, const Part& shown) {
                      const std::vector<Row> rows = timeline_.RowsOf(*record.second);
                      const auto first = log.rows.begin() + shown.first_row;
                      return record.first == shown.consumer &&
                             record.second->generation == shown.generation &&
                             std::equal(rows.begin(), rows.end(), first, first + shown.rows);
                    });
}

// A refusal was right at some moment between its call and its answer.
void Checker::CheckRefusal(const Place& place, const Bounds& bounds) {
  const Operation& operation = replay_.At(place);
  if (operation.begin_ns < history_.epoch_began_ns || operation.kind == Kind::kRepeat) return;
  // Nothing that a read of this history asks for can be missing.
  if (operation.reason == Reason::kOther || IsRead(operation.kind)) {
    return Add(5, "was refused for no lawful reason", place, bounds.last);
  }
  const ClientLog& log = history_.clients[place.client];
  for (const uint32_t step : StepsToTry(place, bounds)) {
    const Effect effect = EffectOf(timeline_, step, log, operation);
    if (effect.reason != operation.reason) continue;
    const bool named = effect.there.empty() ||
                       std::find(effect.there.begin(), effect.there.end(), operation.generation) !=
                           effect.there.end();
    if (named) return;
  }
  Add(5, "was refused for what was at no moment so", place, bounds.last);
}

void Checker::AddProviderSteps(uint16_t provider, const Bounds& bounds,
                               std::set<uint32_t>* steps) const {
  const auto [first, last] = timeline_.PointsWithin(provider, bounds.first, bounds.last);
  for (size_t p = first; p < last; ++p) {
    steps->insert(std::max(bounds.first, timeline_.points(provider)[p].step));
  }
}

// Where anything that the operation is about changed.
std::set<uint32_t> Checker::StepsToTry(const Place& place, const Bounds& bounds) const {
  const Operation& operation = replay_.At(place);
  const ClientLog& log = history_.clients[place.client];
  std::set<uint32_t> steps = {bounds.first};
  if (operation.kind == Kind::kInventory) AddProviderSteps(operation.provider, bounds, &steps);
  if (operation.kind == Kind::kClaim) {
    for (uint16_t p = 0; p < timeline_.providers(); ++p) AddProviderSteps(p, bounds, &steps);
  }
  for (uint16_t p = 0; p < operation.parts; ++p) {
    const Part& part = log.parts[operation.first_part + p];
    const auto add_steps = [&](uint64_t consumer) {
      const auto changed = timeline_.ConsumerSteps(consumer, bounds.first, bounds.last);
      steps.insert(changed.begin(), changed.end());
    };
    add_steps(part.consumer);
    if (IsRecord(part.consumer)) {
      for (const uint64_t relative : RelativesOf(part.consumer)) add_steps(relative);
      continue;
    }
    for (uint32_t r = part.first_row; r < part.first_row + part.rows; ++r) {
      if (log.rows[r].provider == kUnplaced) continue;
      AddProviderSteps(log.rows[r].provider, bounds, &steps);
    }
  }
  return steps;
}

// Of what the steps from `first` up to `end` changed; 0: nothing.
uint64_t Checker::DigestOf(uint32_t first, uint32_t end) const {
  uint64_t digest = 0;
  for (uint32_t s = first; s < end; ++s) {
    digest = FoldStep(digest, history_.story, history_.story.steps[s]);
  }
  return digest;
}

// Each revision once, in order, from where it began to where it ended, and as it was.
void Checker::CheckWatch(const WatchLog& watch) {
  auto told = watch.told.begin();
  uint32_t first = 0;
  for (const RevisionRow& row : history_.story.revisions) {
    const uint64_t digest = row.steps_end == first ? 0 : DigestOf(first, row.steps_end);
    first = row.steps_end;
    if (row.revision <= watch.after || row.revision > watch.until || digest == 0) continue;
    const bool same =
        told != watch.told.end() && told->revision == row.revision && told->digest == digest;
    if (!same) {
      const std::string instead =
          told == watch.told.end() ? "nothing" : absl::StrCat("revision ", told->revision);
      findings_.Add(
          8, absl::StrCat(
                 "the watcher that began after revision ", watch.after, " was told ", instead,
                 told != watch.told.end() && told->revision == row.revision ? " otherwise" : "",
                 " where revision ", row.revision, " comes next:", replay_.Commands(row.revision)));
      return;
    }
    ++told;
  }
  if (told != watch.told.end()) {
    findings_.Add(8, absl::StrCat("a watcher was told of revision ", told->revision,
                                  ", which the ledger does not have there"));
  }
}

void Checker::CheckEnd() {
  const auto end = static_cast<uint32_t>(history_.story.steps.size());
  for (uint16_t p = 0; p < timeline_.providers() && p < history_.end.providers.size(); ++p) {
    if (history_.end.providers[p] == timeline_.ProviderAt(p, end)) continue;
    findings_.Add(9, absl::StrCat("in the end provider ", p, " is not as the ledger tells"));
  }
  CheckConsumersAtEnd(end);
  std::vector<Amounts> used(history_.end.providers.size());
  for (const ConsumerState& consumer : history_.end.consumers) {
    if (IsRecord(consumer.consumer)) continue;
    for (const Row& row : consumer.rows) used[row.provider][row.resource_class] += row.amount;
  }
  for (size_t p = 0; p < used.size(); ++p) {
    if (used[p] == history_.end.providers[p].used) continue;
    findings_.Add(9, absl::StrCat("in the end what is used of provider ", p,
                                  " is not the sum of what is held"));
  }
}

void Checker::CheckConsumersAtEnd(uint32_t end) {
  const int64_t expected = timeline_.CountHolders();
  bool same = expected == static_cast<int64_t>(history_.end.consumers.size());
  for (const ConsumerState& held : history_.end.consumers) {
    const ConsumerPoint* point = timeline_.ConsumerAt(held.consumer, end);
    if (point != nullptr && point->generation == held.generation &&
        timeline_.RowsOf(*point) == held.rows && point->lease_end_us == held.lease_end_us) {
      continue;
    }
    same = false;
    findings_.Add(9, absl::StrCat("in the end consumer ", absl::Hex(held.consumer),
                                  " is not as the ledger tells"));
  }
  if (!same) {
    findings_.Add(9, absl::StrCat("in the end ", history_.end.consumers.size(),
                                  " consumers and records exist, by the ledger ", expected));
  }
}

}  // namespace

Findings Check(const History& history) { return Checker(history).Run(); }

}  // namespace berth::history
