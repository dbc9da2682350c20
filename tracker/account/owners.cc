#include "tracker/account/owners.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/cells/usage.h"
#include "tracker/ground/check.h"

namespace berth::tracker {
namespace {

// Whether two cells are used alike. A page size without used pages may be absent or 0.
bool SameUse(const HostCell& one, const HostCell& other) {
  CellUsage uses[] = {one.usage, other.usage};
  for (CellUsage& use : uses) {
    std::erase_if(use.pages_by_size_kib, [](const auto& pages) { return pages.second == 0; });
  }
  return one.offer.id == other.offer.id && uses[0] == uses[1];
}

}  // namespace

Owners::Owners(const std::optional<NumaTopology>& topology) {
  if (topology.has_value()) cells_ = UnusedCells(*topology);
}

std::vector<std::string> Owners::Take(const Uuid& instance_uuid, const Assigned& assigned) {
  std::vector<std::string> refused;
  if (assigned.topology.has_value()) {
    const absl::Status added = AddUsage(*assigned.topology, &cells_);
    if (!added.ok()) {
      refused.push_back(std::string(added.message()));
      Block(*assigned.topology);
    }
  }
  const auto take = [&](const auto& parts, auto* owners, auto* contested, const auto& text_of) {
    std::string text;
    int left_out = 0;
    for (const auto& part : parts) {
      const auto [owner, taken] = owners->emplace(part, instance_uuid);
      if (taken) continue;
      contested->insert(part);
      if (++left_out > 1) continue;
      text = absl::StrCat(text_of(part), " belongs to ", owner->second.ToString());
    }
    if (left_out > 1) absl::StrAppend(&text, ", and likewise ", left_out - 1, " more");
    if (left_out > 0) refused.push_back(std::move(text));
  };
  take(assigned.devices, &by_device_, &contested_devices_,
       [](const std::string& address) { return absl::StrCat("device ", address); });
  take(assigned.units, &by_unit_, &contested_units_, [](const NamedUnit& unit) {
    return absl::StrCat("unit ", unit.name, " of ", unit.resource_class);
  });
  return refused;
}

bool Owners::IsContested(const Assigned& assigned) const {
  for (const std::string& address : assigned.devices) {
    if (contested_devices_.contains(address)) return true;
  }
  for (const NamedUnit& unit : assigned.units) {
    if (contested_units_.contains(unit)) return true;
  }
  if (blocked_.empty() || !assigned.topology.has_value()) return false;
  for (const HostCell& host : cells_) {
    const auto blocked = blocked_.find(host.offer.id);
    if (blocked == blocked_.end()) continue;
    for (const GuestCell& cell : assigned.topology->cells) {
      if (cell.host_cell != host.offer.id) continue;
      if (!CpusOf(cell, host).And(blocked->second).empty()) return true;
    }
  }
  return false;
}

void Owners::Block(const GuestTopology& topology) {
  for (const HostCell& host : cells_) {
    for (const GuestCell& cell : topology.cells) {
      if (cell.host_cell != host.offer.id) continue;
      CpuSet& blocked = blocked_[host.offer.id];
      blocked = blocked.Or(CpusOf(cell, host));
    }
  }
}

std::vector<HostCell> Owners::OfferedCells() const {
  std::vector<HostCell> offered = cells_;
  for (HostCell& cell : offered) {
    const auto blocked = blocked_.find(cell.offer.id);
    if (blocked == blocked_.end()) continue;
    cell.usage.pinned_cpus =
        cell.usage.pinned_cpus.Or(blocked->second.And(cell.offer.dedicated_cpus));
  }
  return offered;
}

void Owners::GiveBack(const Uuid& instance_uuid, const Assigned& assigned) {
  // NodeAccount gives back only what Take has taken as a whole. If Take has left something of it
  // out, NodeAccount counts all owners anew instead.
  if (assigned.topology.has_value()) {
    BERTH_CHECK(RemoveUsage(*assigned.topology, &cells_).ok());
  }
  for (const std::string& address : assigned.devices) {
    BERTH_CHECK(by_device_[address] == instance_uuid);
    by_device_.erase(address);
  }
  for (const NamedUnit& unit : assigned.units) {
    BERTH_CHECK(by_unit_[unit] == instance_uuid);
    by_unit_.erase(unit);
  }
}

bool operator==(const Owners& a, const Owners& b) {
  return a.by_device_ == b.by_device_ && a.by_unit_ == b.by_unit_ && a.blocked_ == b.blocked_ &&
         std::equal(a.cells_.begin(), a.cells_.end(), b.cells_.begin(), b.cells_.end(), SameUse);
}

}  // namespace berth::tracker
