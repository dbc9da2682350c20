// The values of recorded lives of PCI devices, to the values of tracker/devices and back.
//
// Pure functions. A recording in another form ends the process with an exception.
#ifndef BERTH_TESTS_ORACLE_NOVA_PCI_FORM_H_
#define BERTH_TESTS_ORACLE_NOVA_PCI_FORM_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tracker/devices/device_table.h"

namespace berth::oracle::nova {

using PciJson = nlohmann::json;

// `netdevs` has addresses by the name of the network interface.
tracker::PciDevice DeviceOf(const PciJson& from, const PciJson& netdevs);
tracker::DeviceRequest RequestOf(const PciJson& from);
tracker::DeviceStatus StatusOf(const std::string& name);

PciJson JsonOf(const tracker::DeviceRequest& request);
PciJson JsonOf(const std::vector<tracker::DeviceProperties>& alternatives);
// What the devices of a pool have in common, without their address: the recorded Nova has it not
// among the properties of a pool (T-242).
PciJson KindOf(const tracker::DevicePoolKey& key);

// How many free devices there are of each kind. Pools of one kind are added, and pools without
// devices are left out.
using PoolCounts = std::map<std::string, int64_t>;
PoolCounts CountPools(const std::vector<tracker::DevicePool>& pools);
PoolCounts CountPools(const PciJson& recorded);
std::string Text(const PoolCounts& counts);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_PCI_FORM_H_
