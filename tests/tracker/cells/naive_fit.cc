#include "tests/tracker/cells/naive_fit.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace berth::tracker {
namespace {

using Set = std::set<int>;

Set Plain(const CpuSet& cpus) {
  const std::vector<int> list = cpus.Cpus();
  return {list.begin(), list.end()};
}

bool Dedicated(const GuestCell& cell) { return cell.cpu_policy == CpuPolicy::kDedicated; }
bool Mixed(const GuestCell& cell) { return cell.cpu_policy == CpuPolicy::kMixed; }

int64_t Used(const HostCell& host, int64_t size) {
  const auto& pages = host.usage.pages_by_size_kib;
  return pages.count(size) ? pages.at(size) : 0;
}

Set Free(const HostCell& host) {
  Set free;
  const Set pinned = Plain(host.usage.pinned_cpus);
  for (const int cpu : Plain(host.offer.dedicated_cpus)) {
    if (!pinned.count(cpu)) free.insert(cpu);
  }
  return free;
}

// T-278: the chosen size, 0 if none fits.
int64_t NaivePages(const HostCell& host, const GuestCell& guest) {
  std::map<int64_t, NumaPages> sizes;
  for (const NumaPages& pages : host.offer.pages) sizes[pages.size_kib] = pages;
  int64_t chosen = 0;
  for (const auto& [size, pages] : sizes) {
    const bool smallest = size == sizes.begin()->first;
    const int64_t wish = guest.page_size_kib;
    if (wish > 0 && wish != size) continue;
    if (wish == kSmallPages && !smallest) continue;
    if (wish == kLargePages && smallest) continue;
    const int64_t free = (pages.total - Used(host, size) - pages.reserved) * size;
    if (guest.memory_mib * 1024 % size == 0 && guest.memory_mib * 1024 <= free) chosen = size;
  }
  return chosen;
}

struct NaivePins {
  std::map<int, int> pins;
  Set reserved;
};

// Takes `cpus` for the vCPUs and, if asked, one more out of `cores`. Empty pins: impossible.
NaivePins Take(const std::vector<Set>& cores, const std::vector<int>& cpus, const Set& vcpus,
               bool reserve, bool isolate) {
  NaivePins result;
  if (cpus.size() < vcpus.size()) return {};
  size_t next = 0;
  Set taken;
  for (const int vcpu : vcpus) {
    taken.insert(cpus[next]);
    result.pins[vcpu] = cpus[next++];
  }
  for (const Set& core : cores) {
    bool used = false;
    for (const int cpu : core) used = used || taken.count(cpu);
    if (isolate && used) continue;
    for (const int cpu : core) {
      if (reserve && result.reserved.empty() && !taken.count(cpu)) result.reserved.insert(cpu);
    }
  }
  if (reserve && result.reserved.empty()) return {};
  return result;
}

// T-279 to T-281. Empty pins: impossible.
NaivePins NaivePin(const HostCell& host, const GuestCell& guest, bool reserve) {
  std::vector<Set> cores;
  size_t largest = 1;
  const Set free = Free(host);
  for (const CpuSet& siblings : host.offer.siblings) {
    Set core;
    for (const int cpu : Plain(siblings)) {
      if (free.count(cpu)) core.insert(cpu);
    }
    largest = std::max(largest, Plain(siblings).size());
    if (!core.empty()) cores.push_back(core);
  }
  const Set vcpus = Plain(guest.pinned_cpus);
  if (guest.cpu_thread_policy == CpuThreadPolicy::kIsolate) {
    if (largest > 1 && !(host.offer.cpus == host.offer.dedicated_cpus)) return {};
    std::vector<int> cpus;
    for (const Set& core : cores) {
      if (core.size() == largest) cpus.push_back(*core.begin());
    }
    return Take(cores, cpus, vcpus, reserve, true);
  }
  const bool require = guest.cpu_thread_policy == CpuThreadPolicy::kRequire;
  for (size_t threads = largest; threads > (require ? 1 : 0); --threads) {
    std::vector<int> cpus;
    for (const Set& core : cores) {
      if (core.size() < threads) continue;
      const std::vector<int> list(core.begin(), core.end());
      cpus.insert(cpus.end(), list.begin(), list.begin() + static_cast<long>(threads));
    }
    NaivePins pins = Take(cores, cpus, vcpus, reserve, false);
    if (!pins.pins.empty()) return pins;
  }
  std::vector<int> all;
  for (const Set& core : cores) all.insert(all.end(), core.begin(), core.end());
  return require ? NaivePins() : Take(cores, all, vcpus, reserve, false);
}

// T-277: the memory of the pair. `size` becomes the chosen page size.
bool NaiveMemory(const HostCell& host, const GuestCell& guest, int64_t* size) {
  const bool pinned = Dedicated(guest) || Mixed(guest);
  if (guest.memory_mib > host.offer.memory_mib) return false;
  if (pinned && guest.memory_mib + host.usage.memory_mib > host.offer.memory_mib) return false;
  if (guest.page_size_kib != kNoPageSize) return (*size = NaivePages(host, guest)) != 0;
  if (host.offer.pages.empty()) return true;
  NumaPages small = host.offer.pages[0];
  for (const NumaPages& pages : host.offer.pages) {
    if (pages.size_kib < small.size_kib) small = pages;
  }
  int64_t pages = small.total;
  if (pinned) pages -= small.reserved + Used(host, small.size_kib);
  const int64_t kib = guest.memory_mib * 1024;
  return kib % small.size_kib == 0 && kib <= pages * small.size_kib;
}

// T-277: one pair.
std::optional<GuestCell> NaivePair(const HostCell& host, const GuestCell& guest, bool reserve,
                                   const FitOptions& options) {
  GuestCell placed = guest;
  placed.host_cell = host.offer.id;
  const int shared = guest.shared_cpus.Count();
  if (!NaiveMemory(host, guest, &placed.page_size_kib)) return std::nullopt;
  if (shared > host.offer.cpus.Count()) return std::nullopt;
  if (options.limits && !Dedicated(guest)) {
    const double cpus = host.offer.cpus.Count() * options.limits->cpu_allocation_ratio;
    const double memory =
        static_cast<double>(host.offer.memory_mib) * options.limits->ram_allocation_ratio;
    if (static_cast<double>(host.usage.shared_cpus + shared) > cpus) return std::nullopt;
    if (static_cast<double>(host.usage.memory_mib + guest.memory_mib) > memory) return std::nullopt;
  }
  if (!Dedicated(guest) && !Mixed(guest)) return placed;
  const size_t needed = Plain(guest.pinned_cpus).size() + (reserve ? 1 : 0);
  if (needed > Free(host).size()) return std::nullopt;
  const NaivePins pins = NaivePin(host, guest, reserve);
  if (pins.pins.empty()) return std::nullopt;
  placed.pinning = pins.pins;
  for (const int cpu : pins.reserved) placed.reserved_cpus.Insert(cpu);
  return placed;
}

// T-274: what the chosen cells must have besides room.
bool NaiveAccepts(const std::vector<HostCell>& host, const std::vector<int>& chosen,
                  const FitOptions& options) {
  std::vector<int> ids;
  for (const int index : chosen) ids.push_back(host[static_cast<size_t>(index)].offer.id);
  if (options.devices && options.devices->requested && !options.devices->satisfiable(ids)) {
    return false;
  }
  if (!options.networks) return true;
  std::set<std::string> wanted = options.networks->physnets;
  if (options.networks->tunneled) wanted.insert("(tunnel)");
  for (const std::string& network : wanted) {
    bool declared = false;
    bool near = false;
    for (const HostCell& cell : host) {
      const bool has = network == "(tunnel)" ? cell.offer.networks.tunneled
                                             : cell.offer.networks.physnets.count(network) > 0;
      declared = declared || has;
      near = near || (has && std::count(ids.begin(), ids.end(), cell.offer.id));
    }
    if (declared && !near) return false;
  }
  return true;
}

// T-273: a tuple of keys, the last sort first; the position keeps the sort stable.
std::vector<int> NaiveOrder(const std::vector<HostCell>& host, const GuestTopology& guest,
                            const FitOptions& options) {
  std::vector<std::vector<int64_t>> keys;
  for (size_t i = 0; i < host.size(); ++i) {
    const HostCell& cell = host[i];
    const int64_t spread = options.pack ? 1 : -1;
    const bool pinned = Dedicated(guest.cells[0]) || Mixed(guest.cells[0]);
    int64_t devices = 0;
    if (options.devices && options.devices->free_by_cell.count(cell.offer.id)) {
      devices = options.devices->free_by_cell.at(cell.offer.id);
      if (options.devices->requested) devices = -devices;
    }
    const int64_t cpus = pinned ? spread * static_cast<int64_t>(Free(cell).size())
                                : -spread * cell.usage.shared_cpus;
    const int64_t memory = spread * (cell.offer.memory_mib - cell.usage.memory_mib);
    keys.push_back({devices, cpus, memory, static_cast<int64_t>(i)});
  }
  if (host.size() > guest.cells.size()) std::sort(keys.begin(), keys.end());
  std::vector<int> order;
  for (const auto& key : keys) order.push_back(static_cast<int>(key[3]));
  return order;
}

}  // namespace

std::optional<GuestTopology> NaiveFit(const std::vector<HostCell>& host, const GuestTopology& guest,
                                      const FitOptions& options) {
  if (guest.cells.size() > host.size()) return std::nullopt;
  const std::vector<int> order = NaiveOrder(host, guest, options);
  std::vector<size_t> positions(order.size());
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = i;
  do {
    std::vector<int> chosen;
    GuestTopology placed = guest;
    for (size_t i = 0; i < guest.cells.size(); ++i) {
      chosen.push_back(order[positions[i]]);
      const bool reserve =
          i == 0 && guest.emulator_threads_policy == EmulatorThreadsPolicy::kIsolate;
      const auto pair =
          NaivePair(host[static_cast<size_t>(chosen[i])], guest.cells[i], reserve, options);
      if (!pair) break;
      placed.cells[i] = *pair;
      if (i + 1 == guest.cells.size() && NaiveAccepts(host, chosen, options)) return placed;
    }
  } while (std::next_permutation(positions.begin(), positions.end()));
  return std::nullopt;
}

}  // namespace berth::tracker
