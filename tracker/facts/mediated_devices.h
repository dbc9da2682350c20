// Finds the physical devices that offer mediated devices, which are virtual GPUs for guests.
//
// A plain value and a pure function.
#ifndef BERTH_TRACKER_FACTS_MEDIATED_DEVICES_H_
#define BERTH_TRACKER_FACTS_MEDIATED_DEVICES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tracker/facts/node_devices.h"

namespace berth::tracker {

// A physical device that offers mediated devices of one or several types.
struct MediatedParent {
  std::string address;  // 0000:84:00.0
  // By type: how many mediated devices exist, and how many more the device can make now.
  std::map<std::string, int64_t> existing;
  std::map<std::string, int64_t> available;

  friend bool operator==(const MediatedParent&, const MediatedParent&) = default;
};

// Returns the physical devices among `devices` that offer mediated devices or have some, sorted by
// address.
std::vector<MediatedParent> FindMediatedParents(const std::vector<const NodeDevice*>& devices);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_MEDIATED_DEVICES_H_
