#include "placement/state/most_free.h"

#include <algorithm>

#include "placement/ground/check.h"

namespace berth::placement {

size_t MostFree::PlaceOf(ClassId resource_class) const {
  const auto at =
      std::lower_bound(rows_.begin(), rows_.end(), resource_class,
                       [](const Row& row, ClassId wanted) { return row.resource_class < wanted; });
  return static_cast<size_t>(at - rows_.begin());
}

absl::Span<const int32_t> MostFree::Of(ClassId resource_class) const {
  const size_t at = PlaceOf(resource_class);
  if (at == rows_.size() || rows_[at].resource_class != resource_class) return {};
  return *rows_[at].amounts;
}

void MostFree::Set(ClassId resource_class, size_t chunk, int32_t amount) {
  BERTH_CHECK(chunk < chunk_count_);
  const size_t at = PlaceOf(resource_class);
  if (at == rows_.size() || rows_[at].resource_class != resource_class) {
    if (amount == 0) return;
    rows_.insert(rows_.begin() + static_cast<int64_t>(at),
                 Row{resource_class, Counted<Amounts>::Make(Amounts(chunk_count_))});
  }
  // Most claims do not change the largest free amount. Then nothing needs to be copied.
  if ((*rows_[at].amounts)[chunk] == amount) return;
  rows_[at].amounts.Own()[chunk] = amount;
  if (IsZero(rows_[at])) rows_.erase(rows_.begin() + static_cast<int64_t>(at));
}

bool MostFree::IsZero(const Row& row) {
  return std::all_of(row.amounts->begin(), row.amounts->end(),
                     [](int32_t amount) { return amount == 0; });
}

void MostFree::Insert(size_t chunk) {
  BERTH_CHECK(chunk <= chunk_count_);  // Roots has as many chunks
  for (Row& row : rows_) {
    Amounts& amounts = row.amounts.Own();
    amounts.insert(amounts.begin() + static_cast<int64_t>(chunk), 0);
  }
  ++chunk_count_;
}

void MostFree::Erase(size_t chunk) {
  BERTH_CHECK(chunk < chunk_count_);
  for (Row& row : rows_) {
    Amounts& amounts = row.amounts.Own();
    amounts.erase(amounts.begin() + static_cast<int64_t>(chunk));
  }
  --chunk_count_;
  std::erase_if(rows_, IsZero);
}

}  // namespace berth::placement
