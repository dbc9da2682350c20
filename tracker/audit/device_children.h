// Describes the child providers of a node that count its PCI devices, if the settings ask for them
// (T-258).
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_DEVICE_CHILDREN_H_
#define BERTH_TRACKER_AUDIT_DEVICE_CHILDREN_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "tracker/account/account.h"
#include "tracker/audit/children.h"
#include "tracker/audit/records.h"
#include "tracker/devices/device_providers.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

struct DeviceChildren {
  ChildProviders children;
  DeviceProviderTree tree;  // what `children` was made of; empty if the settings ask for nothing
};

// A provider of devices that have gone offers only what consumers still hold of it. When they hold
// nothing, it is left out, and placement deletes it (T-260).
//
// If the class of devices changes, what consumers hold of the former class stays that class until it
// is free, and a problem says so (T-239). Placement would refuse a report without it, and with it
// all other changes of the node.
//
// If the settings contradict the devices, or do not ask for providers although placement has some,
// the providers stay as placement has them, and a problem says why (T-259). So they do if the
// devices could not be listed (`devices_known` is false): they are still there.
DeviceChildren DescribeDeviceChildren(const NodeConfiguration& configuration, const Uuid& node_uuid,
                                      absl::string_view node_name, const NodeAccount& account,
                                      bool devices_known, const Records* records);

// Returns the uuids of the providers of PCI devices that placement has, by the address of the device
// or, for virtual functions, of their physical function (T-263).
std::map<std::string, Uuid> DeviceProvidersOf(absl::string_view node_name, const Records& records);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_DEVICE_CHILDREN_H_
