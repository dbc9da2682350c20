// Timeline: the state of every provider and consumer after each command of a ledger.
//
// "After step n" means after the first n commands; 0 is the state that the history begins with.
// Filled by one thread in rising order of steps, then read by anybody.
#ifndef BERTH_TESTS_HISTORY_CHECKER_TIMELINE_H_
#define BERTH_TESTS_HISTORY_CHECKER_TIMELINE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "tests/history/history.h"

namespace berth::history {

struct ProviderPoint {
  uint32_t step = 0;
  ProviderState state;
};

struct ConsumerPoint {
  uint32_t step = 0;
  int64_t generation = 0;  // 0: it holds nothing
  uint32_t first_row = 0;
  uint32_t rows = 0;
  int64_t lease_end_us = 0;  // 0: no lease
};

class Timeline {
 public:
  explicit Timeline(const Dump& begin);

  void PutProvider(uint16_t provider, uint32_t step, const ProviderState& state);
  // Generation 0: the consumer holds nothing after `step`.
  void PutConsumer(uint64_t consumer, uint32_t step, int64_t generation,
                   const std::vector<Row>& rows, int64_t lease_end_us = 0);

  size_t providers() const { return providers_.size(); }
  const ProviderState& ProviderAt(uint16_t provider, uint32_t step) const;
  // The indexes in points(provider) of the points that are valid at some step of `first` to `last`.
  std::pair<size_t, size_t> PointsWithin(uint16_t provider, uint32_t first, uint32_t last) const;
  const std::vector<ProviderPoint>& points(uint16_t provider) const { return providers_[provider]; }

  // Null: the consumer never held anything up to then.
  const ConsumerPoint* ConsumerAt(uint64_t consumer, uint32_t step) const;
  // The consumer's highest generation up to `step`; 0: none.
  int64_t HighestGeneration(uint64_t consumer, uint32_t step) const;
  // The steps above `first` and up to `last` that changed the consumer.
  std::vector<uint32_t> ConsumerSteps(uint64_t consumer, uint32_t first, uint32_t last) const;
  std::vector<Row> RowsOf(const ConsumerPoint& point) const;
  // The migrations from or to `host`, or the instances on it, after `step`, by rising number.
  std::vector<std::pair<uint64_t, const ConsumerPoint*>> RecordsOn(bool migrations, uint16_t host,
                                                                   uint32_t step) const;
  // The steps above `first` and up to `last` that changed a record which was at some time on `host`.
  std::set<uint32_t> RecordSteps(bool migrations, uint16_t host, uint32_t first,
                                 uint32_t last) const;
  // The number of consumers that hold something in the end, plus the number of records.
  int64_t CountHolders() const;
  // The consumers that have a lease in the end, by rising number.
  std::vector<uint64_t> Leased() const;

 private:
  // Indexes of points in consumers_, rising. Most consumers have few.
  using Places = absl::InlinedVector<uint32_t, 4>;
  // The first of `places` above `step`.
  Places::const_iterator After(const Places& places, uint32_t step) const;

  std::vector<std::vector<ProviderPoint>> providers_;
  std::deque<ConsumerPoint> consumers_;
  absl::flat_hash_map<uint64_t, Places> places_;
  std::deque<Row> rows_;
  // The records that were at some time on a host, for migrations and instances.
  std::map<std::pair<bool, uint16_t>, std::set<uint64_t>> on_host_;
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_CHECKER_TIMELINE_H_
