#include "tests/history/checker/timeline.h"

#include <algorithm>

namespace berth::history {
namespace {

bool StartsAfter(uint32_t step, const ProviderPoint& point) { return step < point.step; }

}  // namespace

Timeline::Timeline(const Dump& begin) {
  for (const ProviderState& state : begin.providers) providers_.push_back({{0, state}});
  for (const ConsumerState& consumer : begin.consumers) {
    PutConsumer(consumer.consumer, 0, consumer.generation, consumer.rows, consumer.lease_end_us);
  }
}

void Timeline::PutProvider(uint16_t provider, uint32_t step, const ProviderState& state) {
  std::vector<ProviderPoint>& points = providers_[provider];
  if (points.back().step == step) {
    points.back().state = state;
  } else {
    points.push_back({step, state});
  }
}

void Timeline::PutConsumer(uint64_t consumer, uint32_t step, int64_t generation,
                           const std::vector<Row>& rows, int64_t lease_end_us) {
  places_[consumer].push_back(static_cast<uint32_t>(consumers_.size()));
  consumers_.push_back({step, generation, static_cast<uint32_t>(rows_.size()),
                        static_cast<uint32_t>(rows.size()), lease_end_us});
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  if (!IsRecord(consumer)) return;
  for (const Row& row : rows) on_host_[{IsMigration(consumer), row.provider}].insert(consumer);
}

const ProviderState& Timeline::ProviderAt(uint16_t provider, uint32_t step) const {
  const std::vector<ProviderPoint>& points = providers_[provider];
  return std::prev(std::upper_bound(points.begin(), points.end(), step, StartsAfter))->state;
}

std::pair<size_t, size_t> Timeline::PointsWithin(uint16_t provider, uint32_t first,
                                                 uint32_t last) const {
  const std::vector<ProviderPoint>& points = providers_[provider];
  const auto begin = std::upper_bound(points.begin(), points.end(), first, StartsAfter);
  const auto end = std::upper_bound(points.begin(), points.end(), last, StartsAfter);
  return {static_cast<size_t>(begin - points.begin()) - 1,
          static_cast<size_t>(end - points.begin())};
}

Timeline::Places::const_iterator Timeline::After(const Places& places, uint32_t step) const {
  return std::partition_point(places.begin(), places.end(),
                              [&](uint32_t place) { return consumers_[place].step <= step; });
}

const ConsumerPoint* Timeline::ConsumerAt(uint64_t consumer, uint32_t step) const {
  const auto places = places_.find(consumer);
  if (places == places_.end()) return nullptr;
  const auto after = After(places->second, step);
  return after == places->second.begin() ? nullptr : &consumers_[*std::prev(after)];
}

int64_t Timeline::HighestGeneration(uint64_t consumer, uint32_t step) const {
  const auto places = places_.find(consumer);
  if (places == places_.end()) return 0;
  // They rise, and a release that has none stands between two that have.
  for (auto after = After(places->second, step); after != places->second.begin(); --after) {
    const int64_t generation = consumers_[*std::prev(after)].generation;
    if (generation != 0) return generation;
  }
  return 0;
}

std::vector<uint32_t> Timeline::ConsumerSteps(uint64_t consumer, uint32_t first,
                                              uint32_t last) const {
  std::vector<uint32_t> steps;
  const auto places = places_.find(consumer);
  if (places == places_.end()) return steps;
  for (auto place = After(places->second, first);
       place != places->second.end() && consumers_[*place].step <= last; ++place) {
    steps.push_back(consumers_[*place].step);
  }
  return steps;
}

std::vector<std::pair<uint64_t, const ConsumerPoint*>> Timeline::RecordsOn(bool migrations,
                                                                           uint16_t host,
                                                                           uint32_t step) const {
  std::vector<std::pair<uint64_t, const ConsumerPoint*>> there;
  const auto candidates = on_host_.find({migrations, host});
  if (candidates == on_host_.end()) return there;
  for (const uint64_t record : candidates->second) {
    const ConsumerPoint* point = ConsumerAt(record, step);
    if (point == nullptr || point->generation == 0) continue;
    if (IsOn(host, RowsOf(*point))) there.emplace_back(record, point);
  }
  return there;
}

std::set<uint32_t> Timeline::RecordSteps(bool migrations, uint16_t host, uint32_t first,
                                         uint32_t last) const {
  std::set<uint32_t> steps;
  const auto candidates = on_host_.find({migrations, host});
  if (candidates == on_host_.end()) return steps;
  for (const uint64_t record : candidates->second) {
    const std::vector<uint32_t> changed = ConsumerSteps(record, first, last);
    steps.insert(changed.begin(), changed.end());
  }
  return steps;
}

int64_t Timeline::CountHolders() const {
  return std::count_if(places_.begin(), places_.end(), [this](const auto& entry) {
    return consumers_[entry.second.back()].generation != 0;
  });
}

std::vector<uint64_t> Timeline::Leased() const {
  std::vector<uint64_t> leased;
  for (const auto& [consumer, places] : places_) {
    if (consumers_[places.back()].lease_end_us != 0) leased.push_back(consumer);
  }
  std::sort(leased.begin(), leased.end());
  return leased;
}

std::vector<Row> Timeline::RowsOf(const ConsumerPoint& point) const {
  return {rows_.begin() + point.first_row, rows_.begin() + point.first_row + point.rows};
}

}  // namespace berth::history
