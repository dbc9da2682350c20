// DevicePool: free PCI devices that are alike, and whether pools can serve requests.
//
// Plain values and pure functions.
#ifndef BERTH_TRACKER_DEVICES_POOL_H_
#define BERTH_TRACKER_DEVICES_POOL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tracker/devices/device_spec.h"
#include "tracker/devices/properties.h"
#include "tracker/devices/request.h"
#include "tracker/facts/node_devices.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// What the devices of a pool have in common (T-242).
struct DevicePoolKey {
  // Has the keys vendor_id, product_id, dev_type, address (for a virtual function, the address of
  // its physical function), parent_ifname if known, remote_managed for virtual and physical
  // functions, and every tag of the device specification except resource_class and traits.
  DeviceProperties properties;
  std::optional<int> numa_node;  // absent: the device has no NUMA information

  friend bool operator==(const DevicePoolKey&, const DevicePoolKey&) = default;
};

DevicePoolKey PoolKeyOf(const PciDevice& device, const DeviceSpec& spec);

// Whether pool `a` is used before `b`: pools with fewer properties first, so that plain devices
// come before tagged ones (T-242), then in the order of properties and NUMA nodes.
bool PoolComesBefore(const DevicePoolKey& a, const DevicePoolKey& b);

struct DevicePool {
  DevicePoolKey key;
  int64_t count = 0;
  // The free devices, sorted. The first is used first. Empty in a pool that was read from a record:
  // such a pool can only be counted.
  std::vector<std::string> addresses;
  // The provider in placement that counts these devices. Nil: none. It is not part of the key.
  Uuid provider_uuid;
};

// Where a guest is, for the NUMA affinity of its devices.
struct GuestAffinity {
  std::set<int> cells;  // ids of the host cells of the guest; empty: the guest has no topology
  std::map<int, std::optional<int>> sockets;  // of every host cell; an absent socket is unknown
};

// Whether the devices of the pool are what the request asks for, whatever their provider and their
// NUMA node: the filters of T-246 for properties and kinds. A pool without a value of
// live_migratable meets neither a request for `true` nor one for `false`.
bool HasWhatIsAsked(const DevicePool& pool, const DeviceRequest& request);

// Returns the indexes of the pools that may serve `request`, in the order in which they are used
// (T-246 to T-248). Returns nothing if they have fewer devices than the request asks for.
//
// The NUMA policy is applied last. Otherwise `preferred` might choose near pools that another
// filter then drops, although that filter accepts far pools (T-247).
std::vector<size_t> PoolsFor(const DeviceRequest& request, const std::vector<DevicePool>& pools,
                             const GuestAffinity& affinity);

// Returns how many devices `request` takes from `pool`. PoolsFor returned this pool; it has `free`
// devices. The request still needs `missing` devices. If placement chose providers, the result is
// at most the number that placement allocated from the pool's provider (T-249).
int64_t DevicesToDraw(const DeviceRequest& request, const DevicePool& pool, int64_t free,
                      int64_t missing);

// Whether pools can serve all requests of a guest together, for many choices of host cells. A claim
// may still fail, because a device that is taken also takes its PF or VFs out of the pools.
//
// The constructor compares properties, once. Supports() computes only what depends on the cells.
class PoolSupport {
 public:
  // `pools` and `requests` must outlive the object.
  //
  // REQUIRES: each request asks for at least 1 device.
  PoolSupport(const std::vector<DevicePool>& pools, const std::vector<DeviceRequest>& requests);

  bool Supports(const GuestAffinity& affinity) const;

 private:
  const std::vector<DevicePool>& pools_;
  const std::vector<DeviceRequest>& requests_;
  std::vector<int64_t> counts_;                  // free devices of each pool
  std::vector<std::vector<size_t>> candidates_;  // by request: pools with its properties
};

// Whether the pools can serve all requests together of a guest with this affinity: see PoolSupport.
bool SupportsRequests(const std::vector<DevicePool>& pools,
                      const std::vector<DeviceRequest>& requests, const GuestAffinity& affinity);

// Returns the pools as they are published: a JSON list of objects with vendor_id, product_id,
// numa_node, count, and all other properties as `tags` (T-243).
std::string DevicePoolsJson(const std::vector<DevicePool>& pools);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_DEVICES_POOL_H_
