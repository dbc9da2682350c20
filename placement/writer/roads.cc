#include "placement/writer/roads.h"

#include <algorithm>
#include <utility>

namespace berth::placement {

Road Roads::Next(bool wrote_last, bool looks_up) {
  const bool failed = std::exchange(failed_, false);
  if (allowed_ == LedgerRoads::kLong || failed) return Road::kLong;
  if (allowed_ == LedgerRoads::kShortFirst) return Road::kShort;
  if (!wrote_last) long_batches_left_ = kLongBatches;
  return long_batches_left_ > 0 || looks_up ? Road::kLong : Road::kShort;
}

void Roads::SawHead(bool moved) {
  long_batches_left_ = moved ? kLongBatches : std::max(0, long_batches_left_ - 1);
}

}  // namespace berth::placement
