#include "tracker/claims/choice.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tracker/claims/refusal.h"
#include "tracker/devices/provider_shares.h"

namespace berth::tracker {
namespace {

constexpr char kPciFailed[] = "Claim pci failed";

// One amount to be tested (T-159). `scale`: how many counted units, such as MiB, one `unit` has.
struct AmountTest {
  const char* type;
  const char* unit;
  int64_t scale;
  int64_t requested;
  int64_t used;
  std::optional<int64_t> limit;  // in `unit`
};

// Returns why the request does not fit; nothing if it fits. The use may reach the limit (T-161).
std::optional<std::string> ReasonOf(const AmountTest& test) {
  // A limit that no 64-bit amount can exceed is no limit.
  if (!test.limit.has_value() || *test.limit > INT64_MAX / test.scale) return std::nullopt;
  const int64_t free = *test.limit * test.scale - test.used;
  if (test.requested <= free) return std::nullopt;
  const double free_units = static_cast<double>(free) / static_cast<double>(test.scale);
  const int64_t requested_units = (test.requested + test.scale - 1) / test.scale;
  return absl::StrFormat("Free %s %.2f %s < requested %d %s", test.type, free_units, test.unit,
                         requested_units, test.unit);
}

std::vector<std::string> AmountReasons(const NodeAccount& account, const ClaimNeeds& needs) {
  const Amounts used = account.used();
  const AmountTest tests[] = {
      {"memory", "MB", 1, needs.amounts.memory_mib, used.memory_mib, needs.limits.memory_mib},
      {"disk", "GB", kMibPerGib, needs.amounts.disk_mib, used.disk_mib, needs.limits.disk_gib},
      {"vcpu", "VCPU", 1, needs.amounts.vcpus, used.vcpus, needs.limits.vcpus},
  };
  std::vector<std::string> reasons;
  for (const AmountTest& test : tests) {
    if (std::optional<std::string> reason = ReasonOf(test); reason.has_value()) {
      reasons.push_back(*std::move(reason));
    }
  }
  return reasons;
}

GuestAffinity AffinityOf(const NodeAccount& account, std::set<int> cells) {
  GuestAffinity affinity;
  affinity.cells = std::move(cells);
  for (const HostCell& cell : account.owners().cells()) {
    affinity.sockets.emplace(cell.offer.id, cell.offer.socket);
  }
  return affinity;
}

// Returns the guest as it is placed on the node's cells, or nothing if it does not fit.
std::optional<GuestTopology> Place(const ClaimSettings& settings, const NodeAccount& account,
                                   const ClaimNeeds& needs, const std::vector<DevicePool>& pools) {
  const PoolSupport support(pools, needs.devices);
  GuestAffinity affinity = AffinityOf(account, {});
  const auto satisfiable = [&](absl::Span<const int> cells) {
    affinity.cells = std::set<int>(cells.begin(), cells.end());
    return support.Supports(affinity);
  };
  FitOptions options;
  options.pack = settings.pack_cells;
  options.limits =
      needs.limits.cells.has_value() ? needs.limits.cells : settings.default_cell_limits;
  if (!needs.devices.empty()) {
    std::map<int, int64_t> free;
    for (const DevicePool& pool : pools) {
      if (pool.key.numa_node.has_value()) free[*pool.key.numa_node] += pool.count;
    }
    options.devices.emplace(CellDevices{std::move(free), true, satisfiable});
  }
  return PlaceGuest(account.owners().OfferedCells(), *needs.topology, options);
}

// Sets the topology of `chosen`, or returns why the topology that the guest needs does not fit.
std::optional<std::string> ChooseCells(const ClaimSettings& settings, const NodeAccount& account,
                                       const ClaimNeeds& needs,
                                       const std::vector<DevicePool>& pools, Assigned* chosen) {
  if (!needs.topology.has_value()) return std::nullopt;
  if (account.owners().cells().empty()) return "Host has no NUMA topology";
  chosen->topology = Place(settings, account, needs, pools);
  if (chosen->topology.has_value()) return std::nullopt;
  return absl::StrCat("Requested instance NUMA topology ",
                      needs.devices.empty() ? "" : "together with requested PCI devices ",
                      "cannot fit the given host NUMA topology");
}

// Returns how many devices of this node placement has allocated, by provider.
ProviderAmounts AllocatedDevices(const NodeAccount& account, const std::vector<UnitAmount>& units) {
  std::set<Uuid> counting;
  for (const auto& [address, provider] : account.device_providers()) counting.insert(provider);
  ProviderAmounts allocated;
  for (const UnitAmount& unit : units) {
    if (unit.amount <= 0 || counting.count(unit.provider_uuid) == 0) continue;
    allocated[unit.provider_uuid] += unit.amount;
  }
  return allocated;
}

// Returns the devices of the node. If placement has allocated some of them, then the table offers
// only these and those that placement does not count, and the requests say from which providers
// their devices come (T-246).
DeviceTable OfferDevices(const NodeAccount& account, const std::vector<UnitAmount>& units,
                         std::vector<DeviceRequest>* requests) {
  DeviceTable table = account.Devices();
  const ProviderAmounts allocated = AllocatedDevices(account, units);
  if (allocated.empty()) return table;
  table.OfferOnly(allocated);
  *requests = ShareProviders(allocated, table.Pools(), std::move(*requests));
  return table;
}

// Adds devices that suit the cells of `chosen`. Returns false if too few devices are free.
bool ChooseDevices(const NodeAccount& account, const ClaimNeeds& needs, DeviceTable* table,
                   Assigned* chosen) {
  std::set<int> cells;
  if (chosen->topology.has_value()) {
    for (const GuestCell& cell : chosen->topology->cells) cells.insert(*cell.host_cell);
  }
  const auto claimed =
      table->Claim(needs.instance_uuid, needs.devices, AffinityOf(account, std::move(cells)));
  if (!claimed.ok()) return false;
  for (const ClaimedDevice& device : *claimed) {
    chosen->devices.push_back(device.address);
    const std::string& id = needs.devices[device.request].request_id;
    if (!id.empty()) chosen->request_ids[device.address] = id;
  }
  return true;
}

// Adds named units to `chosen`, or returns why too few are free. Skips an amount if this node has
// no named units of its provider and class. For example, a guest that is evacuated to this node
// still has its allocations on the old node (T-158).
std::optional<std::string> ChooseUnits(const NodeAccount& account, const ClaimNeeds& needs,
                                       Assigned* chosen) {
  for (const UnitAmount& wanted : needs.units) {
    bool named = false;
    std::vector<NamedUnit> free;
    for (const NamedUnit& unit : account.resources().units) {
      if (unit.provider_uuid != wanted.provider_uuid ||
          unit.resource_class != wanted.resource_class) {
        continue;
      }
      named = true;
      const bool chosen_already =
          std::find(chosen->units.begin(), chosen->units.end(), unit) != chosen->units.end();
      if (account.owners().by_unit().count(unit) == 0 && !chosen_already) free.push_back(unit);
    }
    if (!named) continue;
    const int64_t available = static_cast<int64_t>(free.size());
    if (available < wanted.amount) {
      return absl::StrCat("Needed ", wanted.amount, " units of resource class ",
                          wanted.resource_class, ", but ", available, " are available.");
    }
    chosen->units.insert(chosen->units.end(), free.begin(), free.begin() + wanted.amount);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Assigned> ChooseResources(const ClaimSettings& settings, const NodeAccount& account,
                                         ClaimNeeds needs) {
  ClaimRefusal refusal;
  refusal.reasons = AmountReasons(account, needs);
  refusal.drift = !refusal.reasons.empty();
  std::optional<DeviceTable> table;
  std::vector<DevicePool> pools;
  if (!needs.devices.empty()) {
    table = OfferDevices(account, needs.units, &needs.devices);
    pools = table->Pools();
  }
  Assigned chosen;
  if (auto reason = ChooseCells(settings, account, needs, pools, &chosen); reason.has_value()) {
    refusal.reasons.push_back(*std::move(reason));
  }
  if (table.has_value() && !SupportsRequests(pools, needs.devices, AffinityOf(account, {}))) {
    refusal.reasons.push_back(kPciFailed);
  }
  if (refusal.reasons.empty() && table.has_value() && !needs.devices_elsewhere &&
      !ChooseDevices(account, needs, &*table, &chosen)) {
    refusal.reasons.push_back(kPciFailed);
  }
  if (!refusal.reasons.empty()) return RefuseClaim(refusal);
  if (auto reason = ChooseUnits(account, needs, &chosen); reason.has_value()) {
    refusal.reasons.push_back(*std::move(reason));
    return RefuseClaim(refusal);
  }
  return chosen;
}

}  // namespace berth::tracker
