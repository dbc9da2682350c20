#include "tracker/cells/cell_fit.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tracker/cells/pinning.h"

namespace berth::tracker {
namespace {

bool WantsPins(const GuestCell& guest) {
  return guest.cpu_policy == CpuPolicy::kDedicated || guest.cpu_policy == CpuPolicy::kMixed;
}

int64_t UsedPages(const HostCell& host, int64_t size_kib) {
  const auto used = host.usage.pages_by_size_kib.find(size_kib);
  return used == host.usage.pages_by_size_kib.end() ? 0 : used->second;
}

// Whether the guest's memory is a whole number of pages of `size_kib`, and of at most `pages`
// pages. FitsMemory has checked that the memory is at most the memory of the host cell.
bool FitsPages(const GuestCell& guest, int64_t size_kib, int64_t pages) {
  const int64_t memory_kib = guest.memory_mib * 1024;
  return memory_kib % size_kib == 0 && memory_kib / size_kib <= pages;
}

// Returns the page sizes that the guest accepts on this host, best first.
std::vector<int64_t> PageSizes(const HostCell& host, int64_t wanted) {
  std::vector<int64_t> sizes;
  for (const NumaPages& pages : host.offer.pages) {
    if (pages.size_kib > 0) sizes.push_back(pages.size_kib);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  if (wanted == kAnyPages || sizes.empty()) return sizes;
  const int64_t smallest = sizes.back();
  if (wanted == kSmallPages) return {smallest};
  std::erase_if(sizes, [&](int64_t size) {
    return wanted == kLargePages ? size == smallest : size != wanted;
  });
  return sizes;
}

const NumaPages& PagesOf(const HostCell& host, int64_t size_kib) {
  return *std::find_if(host.offer.pages.begin(), host.offer.pages.end(),
                       [size_kib](const NumaPages& pages) { return pages.size_kib == size_kib; });
}

// Sets the page size of `placed`. Returns false if no size that the guest accepts has enough pages.
bool ChoosePages(const HostCell& host, const GuestCell& guest, GuestCell* placed) {
  for (const int64_t size_kib : PageSizes(host, guest.page_size_kib)) {
    const NumaPages& pages = PagesOf(host, size_kib);
    const int64_t free = pages.total - UsedPages(host, size_kib) - pages.reserved;
    if (!FitsPages(guest, size_kib, free)) continue;
    placed->page_size_kib = size_kib;
    return true;
  }
  return false;
}

// Whether the smallest pages of the host suffice for a guest that asks for no page size. A pinned
// guest needs free pages. Guests that share CPUs may together use more than all pages.
bool FitsSmallestPages(const HostCell& host, const GuestCell& guest) {
  const std::vector<int64_t> smallest = PageSizes(host, kSmallPages);
  if (smallest.empty()) return true;
  const NumaPages& pages = PagesOf(host, smallest[0]);
  const int64_t used = WantsPins(guest) ? UsedPages(host, smallest[0]) + pages.reserved : 0;
  return FitsPages(guest, smallest[0], pages.total - used);
}

bool FitsMemory(const HostCell& host, const GuestCell& guest, GuestCell* placed) {
  const int64_t used_mib = WantsPins(guest) ? host.usage.memory_mib : 0;
  if (guest.memory_mib > host.offer.memory_mib - used_mib) return false;
  if (guest.page_size_kib == kNoPageSize) return FitsSmallestPages(host, guest);
  return ChoosePages(host, guest, placed);
}

bool FitsLimits(const HostCell& host, const GuestCell& guest, const CellLimits& limits) {
  const auto cpus = static_cast<double>(host.usage.shared_cpus + guest.shared_cpus.Count());
  const auto memory = static_cast<double>(host.usage.memory_mib + guest.memory_mib);
  return cpus <= host.offer.cpus.Count() * limits.cpu_allocation_ratio &&
         memory <= static_cast<double>(host.offer.memory_mib) * limits.ram_allocation_ratio;
}

}  // namespace

std::optional<GuestCell> FitCell(const HostCell& host, const GuestCell& guest, bool reserve,
                                 const std::optional<CellLimits>& limits) {
  GuestCell placed = guest;
  placed.host_cell = host.offer.id;
  placed.pinning.clear();
  placed.reserved_cpus = CpuSet();
  if (!FitsMemory(host, guest, &placed)) return std::nullopt;
  if (guest.shared_cpus.Count() > host.offer.cpus.Count()) return std::nullopt;
  if (limits && guest.cpu_policy != CpuPolicy::kDedicated && !FitsLimits(host, guest, *limits)) {
    return std::nullopt;
  }
  if (!WantsPins(guest)) return placed;
  const int needed = guest.pinned_cpus.Count() + (reserve ? 1 : 0);
  if (needed > FreeDedicatedCpus(host).Count()) return std::nullopt;
  std::optional<Pinning> pinning = Pin(host, guest, reserve);
  if (!pinning) return std::nullopt;
  placed.pinning = std::move(pinning->cpu_by_vcpu);
  placed.reserved_cpus = std::move(pinning->reserved);
  return placed;
}

}  // namespace berth::tracker
