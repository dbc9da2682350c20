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
#include <string>
#include <vector>

#include "tracker/account/records.h"
#include "tracker/cells/topology.h"

namespace berth::tracker {

class Owners {
 public:
  Owners() = default;
  // `topology` is what the host offers. Absent: the host has no NUMA cells.
  explicit Owners(const std::optional<NumaTopology>& topology);

  // Makes the instance the owner of what `assigned` names: all CPUs as one part, each device and
  // each unit. Returns an error text for each part that cannot be taken: for the CPUs, if another
  // holder has or the host lacks one of them; for a device or unit, if another holder has it. The
  // other parts are taken (T-284).
  std::vector<std::string> Take(const std::string& instance_uuid, const Assigned& assigned);

  // Undoes a call of Take with the same arguments.
  //
  // REQUIRES: this call of Take returned no text.
  void GiveBack(const std::string& instance_uuid, const Assigned& assigned);

  // The cells of the host, with what guests use of them (T-283). A guest without a topology uses
  // nothing of a cell (T-285).
  const std::vector<HostCell>& cells() const { return cells_; }
  const std::map<std::string, std::string>& by_device() const { return by_device_; }
  const std::map<NamedUnit, std::string>& by_unit() const { return by_unit_; }

  friend bool operator==(const Owners& a, const Owners& b);

 private:
  std::vector<HostCell> cells_;
  std::map<std::string, std::string> by_device_;  // the instance, by the address of the device
  std::map<NamedUnit, std::string> by_unit_;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_OWNERS_H_
