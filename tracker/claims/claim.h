// Claims on a node what an instance or a move needs: tests first, then opens the claim (T-150).
//
// Functions on a NodeAccount, which the node's lock protects; no function waits for anything. A
// claim is complete or it is refused, and a refused claim leaves the account as it was (T-156).
#ifndef BERTH_TRACKER_CLAIMS_CLAIM_H_
#define BERTH_TRACKER_CLAIMS_CLAIM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tracker/account/account.h"
#include "tracker/claims/refusal.h"
#include "tracker/claims/terms.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

struct InstanceClaim {
  std::string id;  // empty: the request is never a repeat
  Uuid node_uuid;
  // Its topology is wanted, and not placed yet. Without one, flavor and image say what is wanted.
  // If none of its device requests comes from an alias, the flavor says which devices are wanted.
  Instance instance;
  ClaimLimits limits;
  std::vector<UnitAmount> units;
  std::string body{};  // see OpenClaim
};

struct MoveClaim {
  std::string id;  // empty: the request is never a repeat
  Uuid node_uuid;
  Instance instance;    // as recorded
  Migration migration;  // as recorded
  Flavor new_flavor;    // only a resize has another one than the instance
  ClaimLimits limits;
  std::vector<UnitAmount> units;
  std::string body{};  // see OpenClaim
};

// Claims what an instance needs on the node where it is built or unshelved (T-155). The returned
// records have host, node, placed cells, devices and units. Devices that placement has allocated
// are taken from the providers in `units`, as many of each (T-249).
//
// Refused, in this order: kNodeUnavailable; InvalidArgument for a uuid that is nil, an amount
// that no node can have, or a request for no device or for more than kRequestedDevicesMax;
// kRequestIdReused if the instance's open claim has the id and another body, or is for a move;
// kAlreadyClaimed; InvalidArgument if flavor and image are read, and settings are malformed or
// contradict each other; NotFound for an alias that is not configured; kResources with every test
// that failed: memory, disk, vCPUs (T-159), cells (T-163), devices; kResources if named units do
// not suffice (T-158); FailedPrecondition if the instance is deleted (T-166). A repeat with the id
// and the body of the instance's open claim returns that claim. The message of InvalidArgument and
// of NotFound begins with a field.
absl::StatusOr<OpenClaim> ClaimInstance(const ClaimSettings& settings, const InstanceClaim& request,
                                        NodeAccount* account);

// Claims what a migration needs on its destination (T-168): a rebuild elsewhere, a resize, a cold
// or a live migration. The instance stays on its host (T-169), and gets a migration context. Its
// needs follow from the new flavor, the image and its ports, not from what it has now. A live
// migration takes no devices: whoever plugs the ports of the instance takes them.
//
// Refused like ClaimInstance, and after the tests also with kPageSizeMismatch. An instance that
// counts on the node is not refused: it is resized in place. kAlreadyClaimed if the instance has a
// context of this migration. InvalidArgument if the migration belongs to another instance, if a
// live migration would change the flavor, or if settings of flavor and image are malformed or
// contradict each other. NotFound for an alias that is not configured. FailedPrecondition if the
// migration is over.
absl::StatusOr<OpenClaim> ClaimMove(const ClaimSettings& settings, const MoveClaim& request,
                                    NodeAccount* account);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CLAIMS_CLAIM_H_
