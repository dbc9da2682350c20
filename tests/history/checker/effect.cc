#include "tests/history/checker/effect.h"

#include <algorithm>
#include <tuple>

#include "tests/history/checker/record_effect.h"

namespace berth::history {
namespace {

// Finds out the effect of one write of allocations or of a lease.
class Writing {
 public:
  Writing(const Timeline& timeline, uint32_t step, const ClientLog& log, const Operation& operation)
      : timeline_(timeline), step_(step), log_(log), operation_(operation) {}

  Effect Run() {
    for (uint16_t p = 0; p < operation_.parts; ++p) Expect(Part(p));
    for (uint16_t p = 0; effect_.reason == Reason::kNone && p < operation_.parts; ++p) {
      Write(Part(p));
    }
    if (effect_.reason == Reason::kNone) CheckRoom();
    if (effect_.reason == Reason::kNone) CloseProviders();
    return std::move(effect_);
  }

 private:
  const history::Part& Part(uint16_t p) const { return log_.parts[operation_.first_part + p]; }

  std::vector<Row> RowsOf(const history::Part& part) const {
    std::vector<Row> rows(log_.rows.begin() + part.first_row,
                          log_.rows.begin() + part.first_row + part.rows);
    SortRows(&rows);
    return rows;
  }

  int64_t GenerationOf(uint64_t consumer) const {
    const ConsumerPoint* point = timeline_.ConsumerAt(consumer, step_);
    return point == nullptr ? 0 : point->generation;
  }

  void Expect(const history::Part& part) {
    const int64_t actual = GenerationOf(part.consumer);
    const bool must_be = operation_.kind == Kind::kRelease || operation_.kind == Kind::kAdjust ||
                         operation_.kind == Kind::kLease || operation_.kind == Kind::kExpire;
    if (must_be && actual == 0) {
      effect_.reason = Reason::kConsumerNotFound;
    } else if (operation_.kind == Kind::kExpire && !HasEnded(part.consumer)) {
      effect_.reason = Reason::kLeaseLasts;
    } else if (part.expected != kAny && part.expected != actual) {
      if (effect_.reason == Reason::kNone) effect_.there.push_back(actual);
      effect_.reason = Reason::kConsumerConflict;
    }
  }

  // Whether the lease of the consumer ends at the time of the kExpire or earlier.
  bool HasEnded(uint64_t consumer) const {
    const int64_t end = timeline_.ConsumerAt(consumer, step_)->lease_end_us;
    return end != 0 && end <= operation_.expected;
  }

  void Write(const history::Part& part) {
    const ConsumerPoint* before = timeline_.ConsumerAt(part.consumer, step_);
    const bool was_there = before != nullptr && before->generation != 0;
    std::vector<Row> held;
    if (was_there) held = timeline_.RowsOf(*before);
    std::vector<Row> wanted = RowsOf(part);
    if (operation_.kind == Kind::kAdjust) wanted = Merged(held, wanted);
    if (operation_.kind == Kind::kLease) {
      effect_.consumers[part.consumer] = {before->generation + 1, held, 0, operation_.lease_s};
      return;
    }
    for (const Row& row : held) Add(row, -1);
    for (const Row& row : wanted) Add(row, 1);
    ConsumerAfter after;
    if (!wanted.empty()) after.generation = was_there ? before->generation + 1 : kFresh;
    after.rows = std::move(wanted);
    if (operation_.kind == Kind::kAdjust && was_there && after.generation != 0) {
      after.lease_end_us = before->lease_end_us;
    }
    if (was_there || after.generation != 0) effect_.consumers[part.consumer] = std::move(after);
  }

  std::vector<Row> Merged(std::vector<Row> held, const std::vector<Row>& added) {
    for (const Row& row : added) {
      const auto same = std::find_if(held.begin(), held.end(), [&row](const Row& other) {
        return other.provider == row.provider && other.resource_class == row.resource_class;
      });
      if (same == held.end()) {
        held.push_back(row);
      } else {
        same->amount += row.amount;
      }
    }
    for (const Row& row : held) {
      if (row.amount < 0) effect_.reason = Reason::kNegative;
    }
    held.erase(std::remove_if(held.begin(), held.end(), [](const Row& r) { return r.amount == 0; }),
               held.end());
    SortRows(&held);
    return held;
  }

  // Counts `row` in, or out.
  void Add(const Row& row, int sign) {
    const auto [place, is_new] = effect_.providers.try_emplace(row.provider);
    if (is_new) place->second = timeline_.ProviderAt(row.provider, step_);
    place->second.used[row.resource_class] += sign * row.amount;
    if (sign > 0) asked_[{row.provider, row.resource_class}] += row.amount;
  }

  // No class of a provider of which something is wanted may be over its capacity and worse than
  // before.
  void CheckRoom() {
    for (const auto& [key, amount] : asked_) {
      const auto& [provider, resource_class] = key;
      const ProviderState& after = effect_.providers.at(provider);
      const ProviderState& before = timeline_.ProviderAt(provider, step_);
      const int64_t used = after.used[resource_class];
      if (used <= after.capacity[resource_class] || used <= before.used[resource_class]) continue;
      effect_.reason = Reason::kNoRoom;
      effect_.there.push_back(used - amount);
    }
  }

  // An adjustment moves only what it changes; everything else moves all that it names.
  void CloseProviders() {
    for (auto place = effect_.providers.begin(); place != effect_.providers.end();) {
      const ProviderState& before = timeline_.ProviderAt(place->first, step_);
      if (operation_.kind == Kind::kAdjust && place->second.used == before.used) {
        place = effect_.providers.erase(place);
        continue;
      }
      ++place->second.allocation_generation;
      ++place;
    }
  }

  const Timeline& timeline_;
  const uint32_t step_;
  const ClientLog& log_;
  const Operation& operation_;
  std::map<std::pair<uint16_t, uint8_t>, int64_t> asked_;
  Effect effect_;
};

Effect InventoryEffect(const Timeline& timeline, uint32_t step, const ClientLog& log,
                       const Operation& operation) {
  Effect effect;
  ProviderState state = timeline.ProviderAt(operation.provider, step);
  if (state.generation != operation.expected) {
    effect.reason = Reason::kProviderConflict;
    effect.there.push_back(state.generation);
    return effect;
  }
  ++state.generation;
  for (uint16_t r = 0; r < operation.rows; ++r) {
    const Row& row = log.rows[operation.first_row + r];
    state.capacity[row.resource_class] = row.amount;
  }
  effect.providers[operation.provider] = state;
  return effect;
}

// A report is refused if a provider that it names has changed since the tracker last saw it. A
// provider that has these totals already keeps its generation.
Effect ReportEffect(const Timeline& timeline, uint32_t step, const ClientLog& log,
                    const Operation& operation) {
  Effect effect;
  for (uint32_t p = operation.first_part; p < operation.first_part + operation.parts; ++p) {
    const Part& part = log.parts[p];
    const auto provider = static_cast<uint16_t>(part.consumer & ~kProviderBit);
    const ProviderState& before = timeline.ProviderAt(provider, step);
    if (part.expected != before.generation) {
      effect.reason = Reason::kProviderConflict;
      effect.there.push_back(before.generation);
    }
    ProviderState& after = effect.providers[provider] = before;
    for (uint32_t r = part.first_row; r < part.first_row + part.rows; ++r) {
      after.capacity[log.rows[r].resource_class] = log.rows[r].amount;
    }
    if (after.capacity != before.capacity) ++after.generation;
  }
  if (effect.reason != Reason::kNone) effect.providers.clear();
  return effect;
}

// How often the rows of `part` fit over all providers, each taking what is left by those before.
int64_t TimesThatFit(const Timeline& timeline, uint32_t step, const ClientLog& log,
                     const Part& part) {
  int64_t times = 0;
  for (uint16_t provider = 0; provider < timeline.providers(); ++provider) {
    const ProviderState& state = timeline.ProviderAt(provider, step);
    int64_t here = INT64_MAX;
    for (uint32_t r = 0; r < part.rows; ++r) {
      const Row& row = log.rows[part.first_row + r];
      const int64_t free = state.capacity[row.resource_class] - state.used[row.resource_class];
      here = std::min(here, free < row.amount ? 0 : free / row.amount);
    }
    times += here;
  }
  return times;
}

}  // namespace

void SortRows(std::vector<Row>* rows) {
  std::sort(rows->begin(), rows->end(), [](const Row& a, const Row& b) {
    return std::tie(a.provider, a.resource_class) < std::tie(b.provider, b.resource_class);
  });
}

Effect EffectOf(const Timeline& timeline, uint32_t step, const ClientLog& log,
                const Operation& operation) {
  if (operation.kind == Kind::kInventory) return InventoryEffect(timeline, step, log, operation);
  if (operation.kind == Kind::kReport) return ReportEffect(timeline, step, log, operation);
  if (IsOfRecords(operation.kind)) return RecordEffect(timeline, step, log, operation);
  const Part* first = operation.parts == 0 ? nullptr : &log.parts[operation.first_part];
  const bool searches = operation.kind == Kind::kClaim && first != nullptr && first->rows > 0 &&
                        log.rows[first->first_row].provider == kUnplaced;
  if (!searches) return Writing(timeline, step, log, operation).Run();
  // Not placed: whether it should have been. All of its parts ask for the same.
  Effect effect;
  if (TimesThatFit(timeline, step, log, *first) < operation.parts) {
    effect.reason = Reason::kNoCandidate;
  }
  return effect;
}

}  // namespace berth::history
