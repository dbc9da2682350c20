#include "tests/history/checker/node_views.h"

#include <algorithm>

#include "tests/history/checker/move.h"

namespace berth::history {
namespace {

// What a migration is to a host.
enum class Concern { kNone, kLeftover, kMoves };

Concern ConcernOf(uint16_t host, const std::vector<Row>& migration) {
  if (migration.empty() || !IsOn(host, migration)) return Concern::kNone;
  const std::optional<End> ended = EndIn(migration[0].amount);
  if (!ended) return Concern::kMoves;
  const bool is_left = ended == End::kDone && migration[0].provider == host;
  return is_left ? Concern::kLeftover : Concern::kNone;
}

}  // namespace

NodeViews::NodeViews(const Story& story, const Timeline& timeline) : timeline_(timeline) {
  for (uint32_t s = 0; s < story.steps.size(); ++s) {
    const Step& step = story.steps[s];
    for (uint32_t p = step.first_part; p < step.first_part + step.parts; ++p) {
      Note(s + 1, story.parts[p].consumer);
    }
  }
}

std::vector<Row> NodeViews::RowsAt(uint64_t number, uint32_t step) const {
  const ConsumerPoint* point = timeline_.ConsumerAt(number, step);
  if (point == nullptr || point->generation == 0) return {};
  return timeline_.RowsOf(*point);
}

// Notes the change for each host that it may concern, before it or after it.
void NodeViews::Note(uint32_t step, uint64_t number) {
  std::set<uint16_t> hosts;
  const std::vector<uint64_t> related =
      IsRecord(number) ? RelativesOf(number) : std::vector<uint64_t>{number};
  for (const uint64_t relative : related) {
    if (IsRecord(number) && !IsRecord(relative)) continue;
    for (const uint32_t at : {step - 1, step}) {
      for (const Row& row : RowsAt(relative, at)) {
        if (const auto node = NodeAbove(row.provider)) hosts.insert(*node);
      }
    }
  }
  for (const uint16_t host : hosts) {
    changes_[host].emplace_back(step, number);
    if (IsRecord(number)) changes_[host].emplace_back(step, InstanceOf(number));
  }
}

Sight NodeViews::At(uint16_t host, uint64_t number, uint32_t step) const {
  return IsRecord(number) ? RecordAt(host, number, step) : ConsumerAt(host, number, step);
}

Sight NodeViews::ConsumerAt(uint16_t host, uint64_t number, uint32_t step) const {
  Sight sight;
  for (const Row& row : RowsAt(number, step)) {
    if (NodeAbove(row.provider) == host) sight.rows.push_back(row);
  }
  if (!sight.rows.empty()) sight.generation = timeline_.ConsumerAt(number, step)->generation;
  return sight;
}

Sight NodeViews::RecordAt(uint16_t host, uint64_t number, uint32_t step) const {
  Sight sight = {0, RowsAt(number, step)};
  if (sight.rows.empty()) return sight;
  Concern concern = Concern::kNone;
  if (IsMigration(number)) {
    concern = ConcernOf(host, sight.rows);
  } else if (sight.rows[0].provider == host) {
    concern = Concern::kMoves;
  } else {
    for (uint64_t which = 0; which < kMigrationsMax; ++which) {
      concern = std::max(concern, ConcernOf(host, RowsAt(MigrationOf(number, which), step)));
    }
    sight.may_be_old = concern == Concern::kLeftover;
  }
  if (concern == Concern::kNone) return {};
  sight.generation = timeline_.ConsumerAt(number, step)->generation;
  return sight;
}

std::set<uint64_t> NodeViews::Changed(uint16_t host, uint32_t one, uint32_t other) const {
  const auto& all = changes_[host];
  const auto after = [&all](uint32_t step) {
    return std::partition_point(all.begin(), all.end(),
                                [step](const auto& change) { return change.first <= step; });
  };
  std::set<uint64_t> numbers;
  for (auto at = after(std::min(one, other)); at != after(std::max(one, other)); ++at) {
    numbers.insert(at->second);
  }
  return numbers;
}

bool NodeViews::Shows(uint16_t host, uint64_t number, const Sight& seen, uint32_t step,
                      uint32_t last) const {
  std::set<uint32_t> steps = {step};
  const std::vector<uint64_t> related =
      IsRecord(number) ? RelativesOf(number) : std::vector<uint64_t>{number};
  for (const uint64_t relative : related) {
    const std::vector<uint32_t> changed = timeline_.ConsumerSteps(relative, step, last);
    steps.insert(changed.begin(), changed.end());
  }
  return std::any_of(steps.begin(), steps.end(), [&](uint32_t at) {
    const Sight sight = At(host, number, at);
    if (sight.generation == 0 || seen.generation == 0) return sight.generation == seen.generation;
    return sight.may_be_old || (sight.generation == seen.generation && sight.rows == seen.rows);
  });
}

}  // namespace berth::history
