#include "services/report/snapshot_slots.h"

#include "placement/ground/check.h"

namespace berth::services {

using placement::BootTime;
using placement::ProviderId;

SnapshotSlots::SnapshotSlots(int slots_max, int host_max, absl::Duration use_within)
    : slots_max_(static_cast<size_t>(slots_max)),
      host_max_(static_cast<size_t>(host_max)),
      use_within_(use_within) {
  BERTH_CHECK(slots_max > 0 && host_max > 0);  // constants
}

bool SnapshotSlots::Ask(const std::string& host, ProviderId node, BootTime now) {
  if (slots_.contains(node)) return true;
  const auto waits = waiting_.find(node);
  if (waits != waiting_.end() && waits->second.host == host) return false;
  // The node may have waited for a host that had announced it wrongly, or to which it belonged.
  if (waits != waiting_.end()) Release(node);
  const auto known = hosts_.find(host);
  const size_t of_host = known == hosts_.end() ? 0 : known->second.slots;
  if (slots_.size() < slots_max_ && of_host < host_max_ && turns_.empty()) {
    Open(host, node, now);
    return true;
  }
  const int64_t number = ++last_number_;
  waiting_[node] = {host, number};
  hosts_[host].line[number] = node;
  Settle(host);
  return false;
}

void SnapshotSlots::Release(ProviderId node) {
  if (const auto slot = slots_.find(node); slot != slots_.end()) Free(slot);
  const auto waits = waiting_.find(node);
  if (waits == waiting_.end()) return;
  const Place place = waits->second;
  waiting_.erase(waits);
  hosts_[place.host].line.erase(place.number);
  Settle(place.host);
}

std::vector<ProviderId> SnapshotSlots::Due(BootTime now) {
  for (auto at = slots_.begin(); at != slots_.end();) {
    const auto slot = at++;
    if (slot->second.until <= now) Free(slot);
  }
  std::vector<ProviderId> due;
  while (slots_.size() < slots_max_ && !turns_.empty()) {
    const std::string name = turns_.front();
    turns_.pop_front();
    Host& host = hosts_[name];
    host.turn.reset();  // Settle gives it the last turn, if it has more
    const auto first = host.line.begin();
    BERTH_CHECK(first != host.line.end());  // who has a turn waits
    const ProviderId node = first->second;
    host.line.erase(first);
    waiting_.erase(node);
    Open(name, node, now);
    due.push_back(node);
  }
  return due;
}

void SnapshotSlots::Open(const std::string& host, ProviderId node, BootTime now) {
  slots_[node] = {host, now + use_within_};
  ++hosts_[host].slots;
  Settle(host);
}

void SnapshotSlots::Free(std::map<ProviderId, Slot>::iterator slot) {
  const std::string host = slot->second.host;
  slots_.erase(slot);
  --hosts_[host].slots;
  Settle(host);
}

void SnapshotSlots::Settle(const std::string& name) {
  const auto found = hosts_.find(name);
  Host& host = found->second;
  const bool may_have_turn = !host.line.empty() && host.slots < host_max_;
  if (may_have_turn && !host.turn) host.turn = turns_.insert(turns_.end(), name);
  if (!may_have_turn && host.turn) {
    turns_.erase(*host.turn);
    host.turn.reset();
  }
  if (host.slots == 0 && host.line.empty()) hosts_.erase(found);
}

}  // namespace berth::services
