#include "tracker/cells/fit.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <unordered_set>
#include <utility>

#include "absl/functional/function_ref.h"
#include "tracker/cells/pinning.h"

namespace berth::tracker {
namespace {

// Element [g][h] is the guest's cell g as it is placed on the h-th host cell in the order of
// CellOrder. It is absent if the guest's cell does not fit on this host cell.
using Pairs = std::vector<std::vector<std::optional<GuestCell>>>;

// A set of host cells: element h says whether the set has the h-th host cell in this order.
using CellSet = std::vector<bool>;

bool WantsDedicatedCpus(const GuestTopology& guest) {
  const std::optional<CpuPolicy> policy =
      guest.cells.empty() ? std::nullopt : guest.cells[0].cpu_policy;
  return policy == CpuPolicy::kDedicated || policy == CpuPolicy::kMixed;
}

// Sorts by `key`, the largest first if `descending`. Cells with equal keys keep their order.
template <typename Key>
void SortStably(std::vector<int>* order, bool descending, const Key& key) {
  std::stable_sort(order->begin(), order->end(),
                   [&](int a, int b) { return descending ? key(a) > key(b) : key(a) < key(b); });
}

// Whether each guest cell from `first` on can have a host cell of its own that is not in `used`.
class Matching {
 public:
  Matching(const Pairs& pairs, size_t first, const CellSet& used)
      : pairs_(pairs), used_(used), owner_(used.size(), kNobody), complete_(true) {
    for (size_t guest = first; guest < pairs.size() && complete_; ++guest) {
      CellSet visited(used.size());
      complete_ = Assign(guest, &visited);
    }
  }

  bool complete() const { return complete_; }

 private:
  static constexpr size_t kNobody = static_cast<size_t>(-1);

  // Gives `guest` a host cell, or returns false. A guest cell that has one may get another.
  bool Assign(size_t guest, CellSet* visited) {
    for (size_t host = 0; host < used_.size(); ++host) {
      if (used_[host] || (*visited)[host] || !pairs_[guest][host]) continue;
      (*visited)[host] = true;
      if (owner_[host] != kNobody && !Assign(owner_[host], visited)) continue;
      owner_[host] = guest;
      return true;
    }
    return false;
  }

  const Pairs& pairs_;
  const CellSet& used_;
  std::vector<size_t> owner_;  // the guest cell of each host cell
  bool complete_;
};

// Finds the first assignment that fits, in the lexicographic order of the host cells' numbers h.
//
// Whether the remaining guest cells can be assigned depends only on the set of host cells that are
// taken, and not on which guest cell has which of them. So no set is tried twice.
class Placement {
 public:
  Placement(const Pairs& pairs, size_t hosts, absl::FunctionRef<bool(const CellSet&)> accepts)
      : pairs_(pairs), accepts_(accepts), used_(hosts) {}

  // Returns the number h of each guest cell's host cell, or nothing if no assignment fits.
  std::optional<std::vector<size_t>> Find() {
    if (!CanFinish() || !Extend()) return std::nullopt;
    return chosen_;
  }

 private:
  // Assigns the remaining guest cells. If that fails, returns false, and `chosen_` is as before.
  bool Extend() {
    if (chosen_.size() == pairs_.size()) return accepts_(used_);
    for (size_t host = 0; host < used_.size(); ++host) {
      if (used_[host] || !pairs_[chosen_.size()][host]) continue;
      chosen_.push_back(host);
      used_[host] = true;
      if (IsNew() && CanFinish() && Extend()) return true;
      used_[host] = false;
      chosen_.pop_back();
    }
    return false;
  }

  // Whether each of the k guest cells that are not assigned yet can have a host cell of its own.
  // This is certain if each fits on k free host cells. Otherwise Matching decides.
  bool CanFinish() const {
    const size_t rest = pairs_.size() - chosen_.size();
    for (size_t guest = chosen_.size(); guest < pairs_.size(); ++guest) {
      size_t free = 0;
      for (size_t host = 0; host < used_.size() && free < rest; ++host) {
        if (!used_[host] && pairs_[guest][host]) ++free;
      }
      if (free < rest) return Matching(pairs_, chosen_.size(), used_).complete();
    }
    return true;
  }

  // Marks the set `used_` as tried. False if it was tried before, or if kSetsTriedMax sets were.
  bool IsNew() { return tried_.size() < kSetsTriedMax && tried_.insert(used_).second; }

  const Pairs& pairs_;
  const absl::FunctionRef<bool(const CellSet&)> accepts_;
  CellSet used_;
  std::vector<size_t> chosen_;
  std::unordered_set<CellSet> tried_;
};

// Whether a chosen cell is near the network. Also true if no cell of the host is near it.
template <typename IsNear>
bool IsServed(absl::Span<const HostCell> host, const std::vector<int>& chosen,
              const IsNear& is_near) {
  const auto is_near_index = [&](int index) { return is_near(host[static_cast<size_t>(index)]); };
  return std::none_of(host.begin(), host.end(), is_near) ||
         std::any_of(chosen.begin(), chosen.end(), is_near_index);
}

bool NetworksAreNear(absl::Span<const HostCell> host, const std::vector<int>& chosen,
                     const CellNetworks& wanted) {
  for (const std::string& physnet : wanted.physnets) {
    if (!IsServed(host, chosen, [&](const HostCell& cell) {
          return cell.offer.networks.physnets.contains(physnet);
        })) {
      return false;
    }
  }
  return !wanted.tunneled ||
         IsServed(host, chosen, [](const HostCell& cell) { return cell.offer.networks.tunneled; });
}

// Whether devices and networks allow the guest to have the host cells with the indexes `chosen`.
bool Accepts(absl::Span<const HostCell> host, const std::vector<int>& chosen,
             const FitOptions& options) {
  if (options.networks && !NetworksAreNear(host, chosen, *options.networks)) return false;
  if (!options.devices || !options.devices->requested) return true;
  std::vector<int> ids;
  ids.reserve(chosen.size());
  for (const int index : chosen) ids.push_back(host[static_cast<size_t>(index)].offer.id);
  return options.devices->satisfiable(ids);
}

Pairs FitPairs(absl::Span<const HostCell> host, const std::vector<int>& order,
               const GuestTopology& guest, const FitOptions& options) {
  Pairs pairs(guest.cells.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const bool reserve = i == 0 && guest.emulator_threads_policy == EmulatorThreadsPolicy::kIsolate;
    for (const int index : order) {
      pairs[i].push_back(
          FitCell(host[static_cast<size_t>(index)], guest.cells[i], reserve, options.limits));
    }
  }
  return pairs;
}

}  // namespace

std::vector<int> CellOrder(absl::Span<const HostCell> host, const GuestTopology& guest,
                           const FitOptions& options) {
  std::vector<int> order(host.size());
  std::iota(order.begin(), order.end(), 0);
  if (host.size() <= guest.cells.size()) return order;
  const auto cell = [host](int index) -> const HostCell& {
    return host[static_cast<size_t>(index)];
  };
  SortStably(&order, !options.pack, [&](int index) {
    return cell(index).offer.memory_mib - cell(index).usage.memory_mib;
  });
  if (WantsDedicatedCpus(guest)) {
    SortStably(&order, !options.pack,
               [&](int index) { return FreeDedicatedCpus(cell(index)).Count(); });
  } else {
    SortStably(&order, options.pack, [&](int index) { return cell(index).usage.shared_cpus; });
  }
  if (options.devices) {
    SortStably(&order, options.devices->requested, [&](int index) {
      const auto free = options.devices->free_by_cell.find(cell(index).offer.id);
      return free == options.devices->free_by_cell.end() ? 0 : free->second;
    });
  }
  return order;
}

std::optional<GuestTopology> PlaceGuest(absl::Span<const HostCell> host, const GuestTopology& guest,
                                        const FitOptions& options) {
  if (guest.cells.size() > host.size()) return std::nullopt;
  const std::vector<int> order = CellOrder(host, guest, options);
  Pairs pairs = FitPairs(host, order, guest, options);
  const auto accepts = [&](const CellSet& used) {
    std::vector<int> chosen;
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i]) chosen.push_back(order[i]);
    }
    return Accepts(host, chosen, options);
  };
  const std::optional<std::vector<size_t>> places = Placement(pairs, host.size(), accepts).Find();
  if (!places) return std::nullopt;
  GuestTopology placed = guest;
  for (size_t i = 0; i < places->size(); ++i) placed.cells[i] = *std::move(pairs[i][(*places)[i]]);
  return placed;
}

}  // namespace berth::tracker
