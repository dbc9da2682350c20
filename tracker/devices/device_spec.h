// DeviceSpecs: the operator's `device_spec` options. They say which PCI devices guests may get, and
// which tags these devices have.
//
// A plain value and pure functions. In the comments, PF is a physical function and VF a virtual
// function of a device.
#ifndef BERTH_TRACKER_DEVICES_DEVICE_SPEC_H_
#define BERTH_TRACKER_DEVICES_DEVICE_SPEC_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/devices/address.h"
#include "tracker/devices/properties.h"
#include "tracker/facts/node_devices.h"

namespace berth::tracker {

// Network interfaces by name, each with the address of its PCI device.
using InterfaceAddresses = std::map<std::string, std::string>;
InterfaceAddresses InterfacesOf(const std::vector<PciDevice>& devices);

// One specification.
struct DeviceSpec {
  std::string where;       // the option that it comes from, for example `device_spec[0][2]`
  std::string vendor_id;   // four lower-case digits; empty: any
  std::string product_id;  // four lower-case digits; empty: any
  AddressPattern address;
  // The name of a network interface. If it is present, it selects the device, and `address` is not
  // used.
  std::optional<std::string> interface_name;
  // All other keys, including resource_class and traits. managed, live_migratable and one_time_use
  // are `true` or `false`, however the operator wrote them.
  DeviceProperties tags;

  bool Says(absl::string_view tag) const { return BooleanOf(TextOf(tags, tag)).value_or(false); }
  bool remote_managed() const { return Says("remote_managed"); }
  bool one_time_use() const { return Says("one_time_use"); }

  // Whether the specification matches `device` by vendor, product and address (T-235). A full
  // address, or the name of an interface, also matches the VFs of the PF that it names. A
  // remote_managed specification matches only devices with a card serial number. An interface that
  // `interfaces` does not have matches nothing.
  bool Matches(const PciDevice& device, const InterfaceAddresses& interfaces) const;
};

// What specifications may ask for on this host (T-236).
struct DeviceSpecLimits {
  bool report_in_placement = false;  // one_time_use needs it
  bool live_migration = false;       // live_migratable needs it: see OffersDeviceLiveMigration
};

// Whether a host with these versions can migrate guests with PCI devices (T-236).
bool OffersDeviceLiveMigration(int64_t libvirt_version, int64_t qemu_version);

class DeviceSpecs {
 public:
  // No specification: no device is tracked.
  DeviceSpecs() = default;

  // Reads the values of the option `device_spec`, each a JSON object or a list of objects (T-233).
  //
  // InvalidArgument, which names the option, the entry and the key, for the first entry that is
  // wrong: text that is not JSON (with the position of the error) or has another form; an id or an
  // address that is malformed; `address` together with `devname`; a tag that is an object or has no
  // lawful value. A tag that is null becomes an empty text; numbers and booleans become texts.
  // FailedPrecondition, likewise, if an entry asks for something that `limits` excludes (T-236).
  static absl::StatusOr<DeviceSpecs> Parse(const std::vector<std::string>& options,
                                           const DeviceSpecLimits& limits);

  // Checks the specifications against the devices of the host at the start of the tracker.
  //
  // FailedPrecondition if a remote_managed specification names an interface that does not exist, or
  // selects a PF by full address or by interface (T-235). The message names the specification.
  absl::Status CheckRemoteManaged(const std::vector<PciDevice>& devices) const;

  // Returns the first specification that matches `device`, or null. A device with an address that
  // SplitAddress refuses matches none (T-236). The pointer is valid as long as this object.
  const DeviceSpec* Find(const PciDevice& device, const InterfaceAddresses& interfaces) const;

  // Returns a warning for each specification that names an interface not in `interfaces` (T-235).
  std::vector<std::string> Warnings(const InterfaceAddresses& interfaces) const;

  const std::vector<DeviceSpec>& specs() const { return specs_; }

 private:
  std::vector<DeviceSpec> specs_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_DEVICES_DEVICE_SPEC_H_
