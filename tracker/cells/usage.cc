#include "tracker/cells/usage.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/ground/status_macros.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {
namespace {

// More than any host has. In KiB it still fits into 64 bits.
constexpr int64_t kMemoryMibMax = int64_t{1} << 40;

absl::Status PinningError(const HostCell& cell, const CpuSet& cpus, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("CPUs ", cpus.ToString(), " of host cell ", cell.offer.id, ": ", why));
}

absl::Status PinCpus(const CpuSet& cpus, HostCell* host) {
  if (const CpuSet unknown = cpus.Without(host->offer.dedicated_cpus); !unknown.empty()) {
    return PinningError(*host, unknown,
                        "a guest is pinned to these CPUs, but they are not in cpu_dedicated_set");
  }
  if (const CpuSet taken = cpus.And(host->usage.pinned_cpus); !taken.empty()) {
    return PinningError(*host, taken, "these CPUs are already pinned to another guest");
  }
  host->usage.pinned_cpus = host->usage.pinned_cpus.Or(cpus);
  return absl::OkStatus();
}

absl::Status UnpinCpus(const CpuSet& cpus, HostCell* host) {
  if (const CpuSet unknown = cpus.Without(host->offer.dedicated_cpus); !unknown.empty()) {
    return PinningError(*host, unknown,
                        "a guest releases these CPUs, but they are not in cpu_dedicated_set");
  }
  if (const CpuSet free = cpus.Without(host->usage.pinned_cpus); !free.empty()) {
    return PinningError(*host, free,
                        "a guest releases these CPUs, but no guest was pinned to them");
  }
  host->usage.pinned_cpus = host->usage.pinned_cpus.Without(cpus);
  return absl::OkStatus();
}

void Move(int64_t by, int64_t* amount) { *amount = std::max<int64_t>(0, *amount + by); }

// Adds the pages of the guest cell, times `sign`, to the used pages. A guest that asks for no page
// size has pages of the smallest size. Pages that the host cell does not have are not counted.
void MovePages(const GuestCell& guest, int sign, HostCell* host) {
  int64_t size_kib = 0;
  for (const NumaPages& pages : host->offer.pages) {
    const bool wanted = guest.page_size_kib == kNoPageSize
                            ? size_kib == 0 || pages.size_kib < size_kib
                            : pages.size_kib == guest.page_size_kib;
    if (wanted) size_kib = pages.size_kib;
  }
  if (size_kib <= 0) return;
  Move(sign * (guest.memory_mib * 1024 / size_kib), &host->usage.pages_by_size_kib[size_kib]);
}

// Refuses impossible values of a broken record, because they would stay in the sums of the usage.
absl::Status CheckRecord(const GuestCell& guest, const HostCell& host) {
  for (const auto& [vcpu, cpu] : guest.pinning) {
    if (cpu >= 0 && cpu <= CpuSet::kMaxCpu) continue;
    return PinningError(host, CpuSet(),
                        absl::StrCat("a guest is pinned to CPU ", cpu, ", which cannot exist"));
  }
  if (guest.memory_mib >= 0 && guest.memory_mib <= kMemoryMibMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "placement's record of the instance is wrong: a NUMA cell has ", guest.memory_mib,
      " MiB of memory; InstanceService/SetInstance can correct the record"));
}

// Adds the guest to all its host cells if `sign` is 1, and removes it if `sign` is -1.
absl::Status Change(const GuestTopology& guest, int sign, std::vector<HostCell>* host) {
  std::vector<HostCell> changed = *host;
  for (HostCell& to : changed) {
    for (const GuestCell& cell : guest.cells) {
      if (cell.host_cell != to.offer.id) continue;
      BERTH_RETURN_IF_ERROR(CheckRecord(cell, to));
      const CpuSet cpus = CpusOf(cell, to);
      const absl::Status status = sign > 0 ? PinCpus(cpus, &to) : UnpinCpus(cpus, &to);
      if (!status.ok()) return status;
      Move(sign * cell.memory_mib, &to.usage.memory_mib);
      Move(sign * cell.shared_cpus.Count(), &to.usage.shared_cpus);
      MovePages(cell, sign, &to);
    }
  }
  *host = std::move(changed);
  return absl::OkStatus();
}

}  // namespace

CpuSet CpusOf(const GuestCell& guest, const HostCell& host) {
  CpuSet cpus = guest.reserved_cpus;
  for (const auto& [vcpu, cpu] : guest.pinning) {
    if (cpu >= 0 && cpu <= CpuSet::kMaxCpu) cpus.Insert(cpu);
  }
  if (guest.cpu_thread_policy != CpuThreadPolicy::kIsolate) return cpus;
  CpuSet cores;
  for (const CpuSet& siblings : host.offer.siblings) {
    if (!siblings.And(cpus).empty()) cores = cores.Or(siblings);
  }
  return cores;
}

std::vector<HostCell> UnusedCells(const NumaTopology& topology) {
  std::vector<HostCell> cells;
  for (const NumaCell& offer : topology.cells) cells.push_back({offer, {}});
  return cells;
}

absl::Status AddUsage(const GuestTopology& guest, std::vector<HostCell>* host) {
  return Change(guest, 1, host);
}

absl::Status RemoveUsage(const GuestTopology& guest, std::vector<HostCell>* host) {
  return Change(guest, -1, host);
}

}  // namespace berth::tracker
