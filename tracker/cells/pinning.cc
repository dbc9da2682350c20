#include "tracker/cells/pinning.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth::tracker {
namespace {

// CPUs of one core, ascending.
using Core = std::vector<int>;

// Returns the free dedicated CPUs of each core of the cell, without cores that have none.
std::vector<Core> FreeCores(const HostCell& host) {
  const CpuSet free = FreeDedicatedCpus(host);
  std::vector<Core> cores;
  for (const CpuSet& siblings : host.offer.siblings) {
    Core core = siblings.And(free).Cpus();
    if (!core.empty()) cores.push_back(std::move(core));
  }
  return cores;
}

// Returns the number of threads of the core that has the most. Shared CPUs count too.
size_t ThreadsPerCore(const HostCell& host) {
  int threads = 1;
  for (const CpuSet& siblings : host.offer.siblings) {
    threads = std::max(threads, siblings.Count());
  }
  return static_cast<size_t>(threads);
}

// Returns `needed` CPUs, taken in order from the cores that have at least `threads` CPUs, and at
// most `threads` of each core. Returns nothing if there are fewer than `needed`.
std::optional<std::vector<int>> TakeThreads(const std::vector<Core>& cores, size_t threads,
                                            size_t needed) {
  std::vector<int> taken;
  for (const Core& core : cores) {
    if (core.size() < threads) continue;
    for (size_t i = 0; i < threads && taken.size() < needed; ++i) taken.push_back(core[i]);
  }
  if (taken.size() < needed) return std::nullopt;
  return taken;
}

std::vector<int> Joined(const std::vector<Core>& cores) {
  std::vector<int> cpus;
  for (const Core& core : cores) cpus.insert(cpus.end(), core.begin(), core.end());
  return cpus;
}

// Returns the first free CPU that is not taken, in the order of the cores. With `isolate`, skips
// the cores that have a taken CPU.
std::optional<int> FirstNotTaken(const std::vector<Core>& cores, const std::vector<int>& taken,
                                 bool isolate) {
  const auto is_taken = [&taken](int cpu) {
    return std::find(taken.begin(), taken.end(), cpu) != taken.end();
  };
  for (const Core& core : cores) {
    if (isolate && std::any_of(core.begin(), core.end(), is_taken)) continue;
    const auto cpu = std::find_if_not(core.begin(), core.end(), is_taken);
    if (cpu != core.end()) return *cpu;
  }
  return std::nullopt;
}

// The wishes of one guest cell, and the free cores of one host cell.
struct Packing {
  const std::vector<Core>& cores;
  std::vector<int> vcpus;  // ascending
  bool reserve = false;
  bool isolate = false;

  // Pins the vCPUs to the first of `cpus`, in order. Returns nothing if `cpus` is absent or too
  // short, or if a CPU must be reserved and none is free.
  std::optional<Pinning> On(const std::optional<std::vector<int>>& cpus) const {
    if (!cpus || cpus->size() < vcpus.size()) return std::nullopt;
    const std::vector<int> taken(cpus->begin(),
                                 cpus->begin() + static_cast<std::ptrdiff_t>(vcpus.size()));
    Pinning pinning;
    for (size_t i = 0; i < taken.size(); ++i) pinning.cpu_by_vcpu[vcpus[i]] = taken[i];
    if (!reserve) return pinning;
    const std::optional<int> reserved = FirstNotTaken(cores, taken, isolate);
    if (!reserved) return std::nullopt;
    pinning.reserved.Insert(*reserved);
    return pinning;
  }
};

// Tries to use `threads_max` threads of each core, then fewer and fewer, so that few cores are used
// up. If nothing fits: with policy `prefer`, tries any free CPUs; with `require`, returns nothing.
std::optional<Pinning> PackOnCores(const Packing& packing, CpuThreadPolicy policy,
                                   size_t threads_max) {
  const size_t threads_min = policy == CpuThreadPolicy::kRequire ? 2 : 1;
  for (size_t threads = threads_max; threads >= threads_min; --threads) {
    const auto pinning = packing.On(TakeThreads(packing.cores, threads, packing.vcpus.size()));
    if (pinning) return pinning;
  }
  if (policy == CpuThreadPolicy::kRequire) return std::nullopt;
  return packing.On(Joined(packing.cores));
}

}  // namespace

CpuSet FreeDedicatedCpus(const HostCell& host) {
  return host.offer.dedicated_cpus.Without(host.usage.pinned_cpus);
}

std::optional<Pinning> Pin(const HostCell& host, const GuestCell& guest, bool reserve) {
  if (guest.pinned_cpus.empty()) return std::nullopt;
  const CpuThreadPolicy policy = guest.cpu_thread_policy.value_or(CpuThreadPolicy::kPrefer);
  const size_t threads = ThreadsPerCore(host);
  const bool isolate = policy == CpuThreadPolicy::kIsolate;
  const std::vector<Core> cores = FreeCores(host);
  const Packing packing{cores, guest.pinned_cpus.Cpus(), reserve, isolate};
  if (policy == CpuThreadPolicy::kRequire && threads == 1) return std::nullopt;
  if (!isolate) return PackOnCores(packing, policy, threads);
  // Isolate blocks whole cores, but other guests would go on using a core's shared CPUs.
  if (threads > 1 && host.offer.dedicated_cpus != host.offer.cpus) return std::nullopt;
  std::vector<int> firsts;
  for (const Core& core : cores) {
    if (core.size() == threads) firsts.push_back(core.front());
  }
  return packing.On(firsts);
}

}  // namespace berth::tracker
