// Owners: which instance has which CPU of which NUMA cell, which PCI device and which named unit of
// a node.
//
// A plain value. It is computed from what instances hold, and is not recorded a second time.
//
// Invariants:
//   1. A CPU, a device or a unit has one owner at most (T-395).
#ifndef BERTH_TRACKER_ACCOUNT_OWNERS_H_
#define BERTH_TRACKER_ACCOUNT_OWNERS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tracker/account/records.h"
#include "tracker/cells/topology.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

class Owners {
 public:
  Owners() = default;
  // `topology` is what the host offers. Absent: the host has no NUMA cells.
  explicit Owners(const std::optional<NumaTopology>& topology);

  // Makes the instance the owner of all that `assigned` names. Leaves out what cannot be owned: all
  // CPUs if another holder has one of them or the host does not have it, and each device or unit
  // that another holder has (T-284). Returns one text for the CPUs, one for the devices and one for
  // the units, if something of the kind was left out. Nobody else is offered CPUs that were left
  // out. For example, a guest has the CPUs 4 and 7, and the host has lost CPU 7: no other guest
  // gets CPU 4.
  std::vector<std::string> Take(const Uuid& instance_uuid, const Assigned& assigned);

  // Undoes a call of Take with the same arguments.
  //
  // REQUIRES: this call of Take returned no text.
  void GiveBack(const Uuid& instance_uuid, const Assigned& assigned);

  // Whether `assigned` names something that a call of Take has left out. If not, taking or giving
  // back `assigned` changes nothing for those from whom something was left out.
  bool IsContested(const Assigned& assigned) const;

  // The cells of the host, with what guests use of them (T-283). A guest without a topology uses
  // nothing of a cell (T-285).
  const std::vector<HostCell>& cells() const { return cells_; }
  // The cells for the choice of CPUs: those that Take left out count as pinned, too.
  std::vector<HostCell> OfferedCells() const;
  const std::map<std::string, Uuid>& by_device() const { return by_device_; }
  const std::map<NamedUnit, Uuid>& by_unit() const { return by_unit_; }

  friend bool operator==(const Owners& a, const Owners& b);

 private:
  // Keeps the CPUs that the topology names from being offered.
  void Block(const GuestTopology& topology);

  std::vector<HostCell> cells_;
  std::map<int, CpuSet> blocked_;          // what Take has left out, by the id of the cell
  std::map<std::string, Uuid> by_device_;  // the instance, by the address of the device
  std::map<NamedUnit, Uuid> by_unit_;
  std::set<std::string> contested_devices_;  // what Take has left out
  std::set<NamedUnit> contested_units_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_OWNERS_H_
