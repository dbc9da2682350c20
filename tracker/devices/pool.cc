#include "tracker/devices/pool.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "tracker/ground/check.h"

namespace berth::tracker {
namespace {

constexpr absl::string_view kPhysicalFunction = "type-PF";
constexpr absl::string_view kVdpa = "vdpa";

using PoolIndexes = std::vector<size_t>;
using PoolCounts = std::vector<int64_t>;  // the free devices of each pool

// Whether some alternative of `request` asks for the value `text` of the property `key`.
bool Asks(const DeviceRequest& request, absl::string_view key, absl::string_view text) {
  return std::any_of(request.alternatives.begin(), request.alternatives.end(),
                     [&](const DeviceProperties& wanted) { return TextOf(wanted, key) == text; });
}

bool AsksForRemoteManaged(const DeviceRequest& request) {
  return std::any_of(request.alternatives.begin(), request.alternatives.end(),
                     [](const DeviceProperties& wanted) {
                       return BooleanOf(TextOf(wanted, "remote_managed")).value_or(false);
                     });
}

// Whether the request names no providers, or names the provider of the pool and the pool has at
// least as many free devices as placement allocated from this provider (T-246).
bool IsOfChosenProvider(const DevicePool& pool, int64_t free, const DeviceRequest& request) {
  if (!request.providers) return true;
  const auto wanted = request.providers->find(pool.provider_uuid);
  return wanted != request.providers->end() && free >= wanted->second;
}

// Whether the pools `chosen` have enough free devices. If placement chose providers, each of them
// must also have exactly one of these pools, because placement does not say which of several pools
// it means.
bool Suffice(const PoolIndexes& chosen, const std::vector<DevicePool>& pools,
             const PoolCounts& counts, const DeviceRequest& request) {
  int64_t count = 0;
  for (const size_t index : chosen) count += counts[index];
  if (count < request.count) return false;
  if (!request.providers) return true;
  std::map<Uuid, int64_t> pools_of_provider;
  for (const size_t index : chosen) ++pools_of_provider[pools[index].provider_uuid];
  return std::all_of(request.providers->begin(), request.providers->end(), [&](const auto& wanted) {
    const auto found = pools_of_provider.find(wanted.first);
    return found != pools_of_provider.end() && found->second == 1;
  });
}

template <typename Condition>
PoolIndexes Keep(const PoolIndexes& from, Condition condition) {
  PoolIndexes kept;
  std::copy_if(from.begin(), from.end(), std::back_inserter(kept), condition);
  return kept;
}

// The cells that share a socket with a cell of the guest. Empty if the socket of some cell is
// unknown.
std::set<int> CellsOnSockets(const GuestAffinity& affinity) {
  std::set<int> sockets;
  for (const auto& [cell, socket] : affinity.sockets) {
    if (!socket) return {};
    if (affinity.cells.count(cell) != 0) sockets.insert(*socket);
  }
  std::set<int> cells;
  for (const auto& [cell, socket] : affinity.sockets) {
    if (sockets.count(*socket) != 0) cells.insert(cell);
  }
  return cells;
}

// Returns the pools of `from` that the NUMA policy of the request allows (T-248).
PoolIndexes Affine(const PoolIndexes& from, const std::vector<DevicePool>& pools,
                   const PoolCounts& counts, const DeviceRequest& request,
                   const GuestAffinity& affinity) {
  if (affinity.cells.empty()) return from;
  const auto on = [&](const std::set<int>& cells, size_t index) {
    const std::optional<int>& node = pools[index].key.numa_node;
    return node && cells.count(*node) != 0;
  };
  PoolIndexes strict = Keep(from, [&](size_t index) { return on(affinity.cells, index); });
  if (request.numa_policy == DeviceNumaPolicy::kRequired) return strict;
  if (Suffice(strict, pools, counts, request)) return strict;
  if (request.numa_policy == DeviceNumaPolicy::kSocket) {
    const std::set<int> cells = CellsOnSockets(affinity);
    return Keep(from, [&](size_t index) { return on(cells, index); });
  }
  const auto near = [&](size_t index) {
    return !pools[index].key.numa_node || on(affinity.cells, index);
  };
  PoolIndexes nearby = Keep(from, near);
  if (request.numa_policy == DeviceNumaPolicy::kLegacy) return nearby;
  if (Suffice(nearby, pools, counts, request)) return nearby;
  PoolIndexes all = from;
  std::stable_partition(all.begin(), all.end(), near);
  return all;
}

// The pools with the properties that the request asks for.
PoolIndexes CandidatesFor(const DeviceRequest& request, const std::vector<DevicePool>& pools) {
  PoolIndexes all(pools.size());
  std::iota(all.begin(), all.end(), 0);
  return Keep(all, [&](size_t index) { return HasWhatIsAsked(pools[index], request); });
}

// Returns the candidates that may serve a guest with this affinity, or none if they do not suffice.
PoolIndexes ChoosePools(const PoolIndexes& candidates, const std::vector<DevicePool>& pools,
                        const PoolCounts& counts, const DeviceRequest& request,
                        const GuestAffinity& affinity) {
  const PoolIndexes lawful = Keep(candidates, [&](size_t index) {
    return IsOfChosenProvider(pools[index], counts[index], request);
  });
  PoolIndexes affine = Affine(lawful, pools, counts, request, affinity);
  if (!Suffice(affine, pools, counts, request)) affine.clear();
  return affine;
}

PoolCounts CountsOf(const std::vector<DevicePool>& pools) {
  PoolCounts counts;
  for (const DevicePool& pool : pools) counts.push_back(pool.count);
  return counts;
}

}  // namespace

bool HasWhatIsAsked(const DevicePool& pool, const DeviceRequest& request) {
  const DeviceProperties& offered = pool.key.properties;
  const absl::string_view type = TextOf(offered, "dev_type");
  if (type == kPhysicalFunction && !Asks(request, "dev_type", kPhysicalFunction)) return false;
  if (type == kVdpa && !Asks(request, "dev_type", kVdpa)) return false;
  if (BooleanOf(TextOf(offered, "remote_managed")).value_or(false) &&
      !AsksForRemoteManaged(request)) {
    return false;
  }
  return std::any_of(
      request.alternatives.begin(), request.alternatives.end(),
      [&](const DeviceProperties& wanted) { return HasProperties(offered, wanted); });
}

DevicePoolKey PoolKeyOf(const PciDevice& device, const DeviceSpec& spec) {
  const bool virtual_function = device.dev_type == "type-VF" || device.dev_type == kVdpa;
  DevicePoolKey key;
  key.numa_node = device.numa_node;
  key.properties = {{"vendor_id", device.vendor_id},
                    {"product_id", device.product_id},
                    {"dev_type", device.dev_type},
                    {"address", virtual_function && device.parent_address ? *device.parent_address
                                                                          : device.address}};
  if (device.parent_interface) key.properties["parent_ifname"] = *device.parent_interface;
  for (const auto& [tag, value] : spec.tags) {
    if (tag != "resource_class" && tag != "traits") key.properties.emplace(tag, value);
  }
  if (virtual_function || device.dev_type == kPhysicalFunction) {
    key.properties.emplace("remote_managed", std::string("false"));
  }
  return key;
}

bool PoolComesBefore(const DevicePoolKey& a, const DevicePoolKey& b) {
  if (a.properties.size() != b.properties.size()) return a.properties.size() < b.properties.size();
  if (a.properties != b.properties) return a.properties < b.properties;
  return a.numa_node < b.numa_node;
}

std::vector<size_t> PoolsFor(const DeviceRequest& request, const std::vector<DevicePool>& pools,
                             const GuestAffinity& affinity) {
  return ChoosePools(CandidatesFor(request, pools), pools, CountsOf(pools), request, affinity);
}

PoolSupport::PoolSupport(const std::vector<DevicePool>& pools,
                         const std::vector<DeviceRequest>& requests)
    : pools_(pools), requests_(requests), counts_(CountsOf(pools)) {
  for (const DeviceRequest& request : requests) {
    BERTH_CHECK(request.count >= 1);  // RecordReader and RequestsOfFlavor read no others
    candidates_.push_back(CandidatesFor(request, pools));
  }
}

bool PoolSupport::Supports(const GuestAffinity& affinity) const {
  PoolCounts counts = counts_;
  for (size_t i = 0; i < requests_.size(); ++i) {
    int64_t missing = requests_[i].count;
    for (const size_t index : ChoosePools(candidates_[i], pools_, counts, requests_[i], affinity)) {
      const int64_t taken = DevicesToDraw(requests_[i], pools_[index], counts[index], missing);
      counts[index] -= taken;
      missing -= taken;
    }
    if (missing > 0) return false;
  }
  return true;
}

bool SupportsRequests(const std::vector<DevicePool>& pools,
                      const std::vector<DeviceRequest>& requests, const GuestAffinity& affinity) {
  return PoolSupport(pools, requests).Supports(affinity);
}

int64_t DevicesToDraw(const DeviceRequest& request, const DevicePool& pool, int64_t free,
                      int64_t missing) {
  // ChoosePools keeps only pools of the request's providers.
  const int64_t wanted = request.providers ? request.providers->at(pool.provider_uuid) : missing;
  return std::min({wanted, missing, free});
}

std::string DevicePoolsJson(const std::vector<DevicePool>& pools) {
  nlohmann::json list = nlohmann::json::array();
  for (const DevicePool& pool : pools) {
    nlohmann::json item = {{"numa_node", nullptr}, {"count", pool.count}};
    if (pool.key.numa_node) item["numa_node"] = *pool.key.numa_node;
    nlohmann::json& tags = item["tags"] = nlohmann::json::object();
    for (const auto& [name, value] : pool.key.properties) {
      const bool id = name == "vendor_id" || name == "product_id";
      nlohmann::json& to = id ? item[name] : tags[name];
      std::visit([&](const auto& content) { to = content; }, value);
    }
    list.push_back(std::move(item));
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace berth::tracker
