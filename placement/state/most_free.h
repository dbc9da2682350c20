// MostFree: for each class and each chunk of roots, the most that one provider of the chunk has free.
//
// The numbers of one class stand side by side, so that a search passes over a chunk without touching
// it. A value with shared rows: copying costs one pointer per class, a change copies one row once.
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
  // By chunk, in 0..kAmountMax; empty where no chunk has ever offered the class.
  absl::Span<const int32_t> Of(ClassId resource_class) const;

  // REQUIRES: there is such a chunk.
  void Set(ClassId resource_class, size_t chunk, int32_t amount);
  // A chunk that offers nothing yet; those at `chunk` and behind it move up.
  void Insert(size_t chunk);
  // REQUIRES: there is such a chunk.
  void Erase(size_t chunk);

 private:
  using Amounts = std::vector<int32_t>;
  struct Row {
    ClassId resource_class{};
    Shared<Amounts> amounts;
  };

  // The first row whose class is not below `resource_class`, by index.
  size_t PlaceOf(ClassId resource_class) const;

  std::vector<Row> rows_;  // rising by class
  size_t chunk_count_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_MOST_FREE_H_
