// Computes what the account of a node counts from: what the node has, from its facts and settings.
//
// Pure functions.
#ifndef BERTH_TRACKER_AUDIT_RESOURCES_H_
#define BERTH_TRACKER_AUDIT_RESOURCES_H_

#include <string>

#include "absl/status/status.h"
#include "tracker/account/account.h"
#include "tracker/facts/facts.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

// A value that was not read counts as 0. Without units, devices and their specifications.
NodeResources ResourcesOf(const Facts& facts, const NodeConfiguration& configuration);
// Adds the namespaces of persistent memory that guests may get. Each is a unit of the root provider
// (T-149).
void AddUnits(const Facts& facts, const NodeConfiguration& configuration, const Uuid& node_uuid,
              NodeResources* resources);
// Finds out which of the PCI devices in `facts` guests may get, and sets their tags.
//
// Fails as DeviceSpecs::Parse does.
absl::Status TagDevices(const NodeConfiguration& configuration, Facts* facts);
// Adds the PCI devices that the node has, those that guests have, and those that guests may get.
//
// Fails as DeviceSpecs::Parse and CheckRemoteManaged do.
absl::Status AddDevices(const Facts& facts, const NodeConfiguration& configuration,
                        NodeResources* resources);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_RESOURCES_H_
