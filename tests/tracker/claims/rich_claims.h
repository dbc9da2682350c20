// A rich host and requests for claims on it, for the tests of claims.
#ifndef BERTH_TESTS_TRACKER_CLAIMS_RICH_CLAIMS_H_
#define BERTH_TESTS_TRACKER_CLAIMS_RICH_CLAIMS_H_

#include <string>
#include <utility>
#include <vector>

#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tracker/claims/claim.h"

namespace berth::tracker {

inline PciDevice MakeNic(std::string address) {
  PciDevice device;
  device.address = std::move(address);
  device.vendor_id = "8086";
  device.product_id = "1533";
  device.dev_type = "type-PCI";
  device.numa_node = 0;
  return device;
}

// A host with 8 dedicated CPUs, two network cards and two units of persistent memory.
inline NodeResources RichHost() {
  NodeResources resources;
  resources.total = {8, 4096, 100 * kMibPerGib};
  resources.topology = MakeTopology();
  resources.devices = {MakeNic("0000:81:00.0"), MakeNic("0000:81:01.0")};
  resources.device_specs = *DeviceSpecs::Parse({R"({"vendor_id": "8086"})"}, DeviceSpecLimits());
  resources.units = {{"node-1"_uuid, "PMEM", "ns0"}, {"node-1"_uuid, "PMEM", "ns1"}};
  return resources;
}

inline ClaimSettings Settings() {
  ClaimSettings settings;
  settings.device_aliases =
      *ParseDeviceAliases({R"({"name": "nic", "vendor_id": "8086", "product_id": "1533"})"});
  return settings;
}

// An instance that is on no node yet and wants two CPUs of its own, one card and one unit.
inline InstanceClaim RichRequest(const std::string& name) {
  InstanceClaim request;
  request.id = "claim-" + name;
  request.node_uuid = kHere.node_uuid;
  request.instance = MakeInstance(name, {}, MakeFlavor("f", 2, 512, 10));
  request.instance.vm_state = "building";
  GuestTopology wanted = MakePinned({0, 1});
  wanted.cells[0].host_cell.reset();
  wanted.cells[0].pinning.clear();
  request.instance.assigned.topology = wanted;
  request.instance.device_requests =
      *RequestsOfFlavor("nic:1", Settings().device_aliases, std::nullopt);
  request.units = {{"node-1"_uuid, "PMEM", 1}};
  return request;
}

inline std::vector<std::string> Reasons(const absl::Status& status) {
  const auto refusal = RefusalOf(status);
  return refusal.has_value() ? refusal->reasons : std::vector<std::string>{"no refusal"};
}

// A move of the instance `a`, which is on `on`, to a large flavor with two CPUs of its own, one card and
// one unit.
inline MoveClaim RichMove(MigrationType type, HostAndNode on) {
  MoveClaim request;
  request.id = "move";
  request.node_uuid = kHere.node_uuid;
  request.instance = MakeInstance("a", std::move(on), MakeFlavor("small", 1, 256, 1));
  request.instance.assigned.topology = MakePinned({0});
  request.migration = MakeMigration(request.instance, type, "accepted", request.instance.on, {});
  request.new_flavor = MakeFlavor("large", 2, 512, 10);
  request.new_flavor.extra_specs = {{"hw:cpu_policy", "dedicated"},
                                    {"pci_passthrough:alias", "nic:1"}};
  request.units = {{"node-1"_uuid, "PMEM", 1}};
  if (type == MigrationType::kLive) request.instance.flavor = request.new_flavor;
  return request;
}

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_CLAIMS_RICH_CLAIMS_H_
