// MostFree: for each class and each chunk of roots, the most that one provider of the chunk has
// free.
//
// The amounts of one class are side by side in memory, so that a search can pass over a chunk
// without touching the chunk's own memory. A value with shared rows: copying it copies one pointer
// per class, and a change copies one row once.
//
// Invariant: each row, i.e. the amounts of one class, has an amount above 0. So a class that no
// provider offers any more costs nothing.
#ifndef BERTH_PLACEMENT_STATE_MOST_FREE_H_
#define BERTH_PLACEMENT_STATE_MOST_FREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "placement/state/counted.h"
#include "placement/values/types.h"

namespace berth::placement {

class MostFree {
 public:
  // The largest free amount of the class in each chunk, 0 to kAmountMax. Empty if all are 0.
  absl::Span<const int32_t> Of(ClassId resource_class) const;

  // Sets the largest free amount of the class in `chunk`. REQUIRES: the chunk exists.
  void Set(ClassId resource_class, size_t chunk, int32_t amount);
  // Inserts a chunk without amounts; the chunks at `chunk` and above move up by one.
  void Insert(size_t chunk);
  // Removes `chunk`; the chunks above it move down by one. REQUIRES: the chunk exists.
  void Erase(size_t chunk);

 private:
  using Amounts = std::vector<int32_t>;
  struct Row {
    ClassId resource_class{};
    Counted<Amounts> amounts;
  };

  // The index of the first row whose class is not less than `resource_class`.
  size_t PlaceOf(ClassId resource_class) const;
  static bool IsZero(const Row& row);

  std::vector<Row> rows_;  // sorted by class
  size_t chunk_count_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_MOST_FREE_H_
