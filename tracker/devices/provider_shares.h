// From which providers in placement the devices of a guest come.
//
// Pure functions.
#ifndef BERTH_TRACKER_DEVICES_PROVIDER_SHARES_H_
#define BERTH_TRACKER_DEVICES_PROVIDER_SHARES_H_

#include <vector>

#include "tracker/devices/pool.h"
#include "tracker/devices/request.h"

namespace berth::tracker {

// Divides among the requests of a guest what placement has allocated to it (T-246, T-249). Returns
// the requests, and sets `providers` of some of them: the numbers of devices, by provider.
//
// A request gets a share if it comes from an alias, names no providers, and could be served by a
// pool of an allocated provider. Nobody says which request an allocation was made for, so the
// shares are chosen so that each request gets as many as it asks for, if the numbers allow that.
// What a pool has is compared with what a request asks for. NUMA policies, and how many devices of
// a pool are free, are looked at afterwards. If the allocations are too few, some shares are smaller
// than their requests, which PoolsFor then refuses.
//
// `allocated` is what the providers have given to all requests together, also to those that name
// their providers already.
std::vector<DeviceRequest> ShareProviders(const ProviderAmounts& allocated,
                                          const std::vector<DevicePool>& pools,
                                          std::vector<DeviceRequest> requests);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_DEVICES_PROVIDER_SHARES_H_
