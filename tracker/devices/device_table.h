// DeviceTable: the PCI devices of a node that guests may get, and who has them.
//
// Owns the records of the devices. Not thread-safe; the node's lock protects it. Pools and owners
// are computed from the records, and are not stored a second time.
//
// A table can be made in three ways: by Sync and claims step by step; from complete records (Load);
// from the listed devices and the records of owned devices alone (Rebuild). A rebuilt table equals
// the one that was changed step by step, with an exception that concerns only devices without an
// owner (see Rebuild). No device of a table is ever freed: who gives a device back is no owner in
// the table that is rebuilt afterwards.
//
// In the comments, PF is a physical function and VF a virtual function of a device; a relative of a
// device is its PF or one of its VFs.
//
// Invariants:
//   1. A device has an owner exactly if it is claimed or allocated. None has two owners (T-395).
//   2. A device is in a pool exactly if it is available and a specification matches it (T-396);
//      OfferOnly leaves some of them out.
#ifndef BERTH_TRACKER_DEVICES_DEVICE_TABLE_H_
#define BERTH_TRACKER_DEVICES_DEVICE_TABLE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tracker/devices/device_spec.h"
#include "tracker/devices/pool.h"
#include "tracker/devices/request.h"
#include "tracker/facts/node_devices.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

enum class DeviceStatus {
  kAvailable,
  kClaimed,      // promised to its owner
  kAllocated,    // its owner has it
  kUnclaimable,  // a relative is claimed
  kUnavailable,  // a relative is allocated, or a guest that the table does not know uses the device
};
absl::string_view DeviceStatusName(DeviceStatus status);

// One tracked device (T-237).
struct DeviceRecord {
  PciDevice device;
  DeviceStatus status = DeviceStatus::kAvailable;
  Uuid instance_uuid;      // the owner; nil: none
  std::string request_id;  // the request for which the owner has it
};

// Who has a device, or why nobody may get it.
struct DeviceUse {
  std::string address;
  DeviceStatus status = DeviceStatus::kAvailable;
  Uuid instance_uuid;      // the owner; nil: none
  std::string request_id;  // see DeviceRecord
};

// A device that a claim took.
struct ClaimedDevice {
  size_t request = 0;  // index of the request
  std::string address;
};

// What a Sync changed. The lists of addresses are sorted.
struct DeviceSync {
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::vector<std::string> updated;
  // Devices with an owner that are no longer listed or that no specification matches any more. A
  // table that is rebuilt without their owner does not have them.
  std::vector<std::string> kept;
};

class DeviceTable {
 public:
  DeviceTable() = default;
  explicit DeviceTable(DeviceSpecs specs);

  // Makes a table from complete records, for example after a restart (T-238). `interfaces` are the
  // network interfaces that specifications may name.
  static DeviceTable Load(DeviceSpecs specs, const std::vector<DeviceRecord>& records,
                          InterfaceAddresses interfaces);

  // Makes a table from the devices that the host lists and from the records of the devices that
  // instances own. Records without an owner are ignored; of two records with one address the first
  // counts. An owned device of which only the address is known gets its properties from `listed`. So
  // a change of the device is seen here before the owner has gone; the report to placement keeps the
  // class that the owner holds (see device_children.h).
  //
  // A status can differ from a table that was changed step by step: a device that was added while
  // a relative was taken is not available here; there it is.
  static DeviceTable Rebuild(DeviceSpecs specs, const std::vector<PciDevice>& listed,
                             const std::vector<DeviceRecord>& owned);

  // Makes the table follow the devices that the host lists (T-239 to T-241):
  //   a listed device that is unknown and that a specification matches becomes available;
  //   a known device without an owner gets the listed properties;
  //   a known device with an owner keeps its properties; if the table has its address alone, as the
  //   tables of an account do, it gets the listed ones;
  //   a known device that is not listed, or that no specification matches, is removed; if it has an
  //   owner, it is kept.
  DeviceSync Sync(const std::vector<PciDevice>& listed);

  // Claims devices for the requests of an instance, which keeps the devices that it has (T-249 to
  // T-253). The relatives of a claimed device leave the pools.
  //
  // ResourceExhausted (PciDeviceRequestFailed), which names the request, if the pools cannot serve
  // it. FailedPrecondition (PciDeviceVFInvalidStatus, PciDevicePFInvalidStatus) if a relative of a
  // chosen device has an owner. After a failure the table is as before (T-250).
  //
  // REQUIRES: each request asks for at least 1 device; `instance_uuid` is not nil.
  absl::StatusOr<std::vector<ClaimedDevice>> Claim(const Uuid& instance_uuid,
                                                   const std::vector<DeviceRequest>& requests,
                                                   const GuestAffinity& affinity);

  // Sets the addresses of the devices that the hypervisor has attached to guests (T-256). An
  // available device that is attached becomes unavailable, with its relatives, until it is
  // detached. Returns the attached devices without an owner.
  std::vector<std::string> SetAttached(const std::set<std::string>& attached);

  // Sets the uuids of the providers in placement that count devices. Each key is the address of a
  // device or, for VFs, of their PF (T-263). Other devices have no provider.
  void SetProviders(std::map<std::string, Uuid> provider_by_address);

  // Takes the devices of other providers than those of `allocated` out of the pools: placement
  // counts them, and has not allocated them. Devices without a provider stay.
  void OfferOnly(const ProviderAmounts& allocated);

  // Returns the pools of free devices, in the order in which they are used.
  std::vector<DevicePool> Pools() const;

  // Returns all records, sorted by address.
  std::vector<DeviceRecord> Records() const;
  // Returns the devices that are not available, sorted by address.
  std::vector<DeviceUse> Uses() const;
  // Returns one text for each device with an owner that the last Sync found no longer listed, with
  // advice, and one for each network interface of a specification that the host does not have.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Returns null if the device is not tracked. The pointer is valid until the next change.
  const DeviceRecord* Find(const std::string& address) const;

  const DeviceSpecs& specs() const { return *specs_; }

 private:
  struct Tracked {
    DeviceRecord record;
    // Null if no specification matches. Devices with equal keys share one object.
    std::shared_ptr<const DevicePoolKey> key;

    const PciDevice& device() const { return record.device; }
    bool owned() const { return !IsNil(record.instance_uuid); }
  };
  struct KeyOrder {
    bool operator()(const std::shared_ptr<const DevicePoolKey>& a,
                    const std::shared_ptr<const DevicePoolKey>& b) const {
      return PoolComesBefore(*a, *b);
    }
  };

  // Returns the relatives of a device: the VFs of a PF, or the PF of a VF if it is tracked.
  std::vector<Tracked*> Relatives(const Tracked& of);
  std::vector<const Tracked*> Relatives(const Tracked& of) const;
  // Sets the properties of `to` to `device`, and its key to the pool key that follows from them.
  void Describe(PciDevice device, Tracked* to);
  // Returns the status of a device without an owner, which follows from relatives and attachments.
  DeviceStatus StatusByRelatives(const Tracked& of) const;
  // Sets an unowned device to unavailable if it or a relative is attached, else to available.
  void Release(Tracked* device);

  void SyncKnown(const std::map<std::string, const PciDevice*>& wanted, DeviceSync* sync);
  std::vector<std::string> Warnings(const DeviceSync& sync) const;

  absl::StatusOr<std::vector<ClaimedDevice>> Choose(const std::vector<DeviceRequest>& requests,
                                                    const GuestAffinity& affinity) const;
  absl::Status CheckClaim(const Tracked& device) const;
  void Take(const Uuid& instance_uuid, const std::string& request_id, Tracked* device);

  std::shared_ptr<const DeviceSpecs> specs_ = std::make_shared<DeviceSpecs>();
  InterfaceAddresses interfaces_;
  std::map<std::string, Tracked> devices_;  // by address
  std::set<std::shared_ptr<const DevicePoolKey>, KeyOrder> keys_;
  std::set<std::string> attached_;  // the devices without an owner that are attached to guests
  std::map<std::string, Uuid> provider_by_address_;
  std::optional<std::set<Uuid>> offered_;  // absent: the devices of all providers are in the pools
  std::vector<std::string> warnings_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_DEVICES_DEVICE_TABLE_H_
