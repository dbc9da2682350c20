#include "services/report/snapshot_slots.h"

namespace berth::services {

using placement::ProviderId;

bool SnapshotSlots::Ask(ProviderId node, placement::BootTime now) {
  if (slots_.contains(node)) return true;
  if (static_cast<int>(slots_.size()) < slots_max_ && queued_.empty()) {
    slots_[node] = now + use_within_;
    return true;
  }
  if (queued_.insert(node).second) queue_.push_back(node);
  return false;
}

void SnapshotSlots::Release(ProviderId node) {
  slots_.erase(node);
  queued_.erase(node);  // Due ignores the entry in queue_
}

std::vector<ProviderId> SnapshotSlots::Due(placement::BootTime now) {
  std::erase_if(slots_, [now](const auto& slot) { return slot.second <= now; });
  std::vector<ProviderId> due;
  while (static_cast<int>(slots_.size()) < slots_max_ && !queue_.empty()) {
    const ProviderId node = queue_.front();
    queue_.pop_front();
    if (queued_.erase(node) == 0) continue;
    slots_[node] = now + use_within_;
    due.push_back(node);
  }
  return due;
}

}  // namespace berth::services
