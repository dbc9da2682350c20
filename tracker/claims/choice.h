// Tests whether a node has what a guest needs, and chooses cells, devices and units for the guest.
//
// Pure functions.
#ifndef BERTH_TRACKER_CLAIMS_CHOICE_H_
#define BERTH_TRACKER_CLAIMS_CHOICE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tracker/account/account.h"
#include "tracker/claims/terms.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// What a claim asks for.
struct ClaimNeeds {
  Uuid instance_uuid;
  Amounts amounts;
  std::optional<GuestTopology> topology;
  std::vector<DeviceRequest> devices;
  bool devices_elsewhere = false;  // true: devices are tested, but not taken
  std::vector<UnitAmount> units;   // what placement has allocated
  ClaimLimits limits;
};

// Returns what the guest gets. If `units` has devices of this node, then devices that placement
// counts are taken from the providers of these units only, at most as many of each (T-249);
// otherwise from any provider. Refuses with kResources and the reasons of all tests that failed; if
// none of them failed, with kResources if named units do not suffice (T-158, T-159).
absl::StatusOr<Assigned> ChooseResources(const ClaimSettings& settings, const NodeAccount& account,
                                         ClaimNeeds needs);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CLAIMS_CHOICE_H_
