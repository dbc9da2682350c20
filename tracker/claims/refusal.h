// ClaimRefusal: why a claim was refused, in words and as a kind that programs can tell apart.
//
// Pure functions; values without state.
#ifndef BERTH_TRACKER_CLAIMS_REFUSAL_H_
#define BERTH_TRACKER_CLAIMS_REFUSAL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace berth::tracker {

enum class ClaimRefusalKind {
  kNodeUnavailable,   // the node is unknown or disabled (T-153)
  kAlreadyClaimed,    // the instance has a claim on the node, or counts there already (T-181)
  kResources,         // something does not suffice (T-159)
  kPageSizeMismatch,  // a live migration would give the guest pages of another size (T-168)
  kRequestIdReused,   // the id belongs to another request (T-385)
  kWrongState,        // the instance is neither being built nor moving: the claim would not count
  kGroupPolicy,       // the instance's server group does not allow it on this host (T-320)
  kRecordConflict,    // the records are not as the caller read them
  kInstanceNotFound,  // placement has no record of the instance or the migration
  kNoSuchClaim,       // there is no such claim on the node
  kUnsettled,         // it is not known yet whether the claim is in placement's records
  kPlacementAway,     // there is no session with placement, or it could not write: nothing changed
  kOverloaded,        // too many writes wait for placement: nothing changed
  kOutcomeUnknown,    // placement may or may not have written the records
  kTooLate,           // the caller's deadline passed before anything was done
};

struct ClaimRefusal {
  ClaimRefusalKind kind = ClaimRefusalKind::kResources;
  std::vector<std::string> reasons;  // one for each thing that does not suffice
  // True: memory, disk or virtual CPUs do not suffice, although placement allocated them. Account
  // and placement have drifted apart, which should be logged as an error (T-162).
  bool drift = false;
};

// Returns a status with the reasons, joined by `; `, as its message. For kResources the message is
// `Insufficient compute resources: `, the reasons and a dot. RefusalOf reads the refusal back. In a
// reason, blanks replace line breaks.
//
// REQUIRES: there is a reason.
absl::Status RefuseClaim(ClaimRefusal refusal);
// Refuses with one reason.
absl::Status RefuseClaim(ClaimRefusalKind kind, std::string reason);
// Returns a status that refuses a request with kRequestIdReused.
absl::Status RefuseReusedId(const std::string& id);
// Returns nothing if `status` is not from RefuseClaim.
std::optional<ClaimRefusal> RefusalOf(const absl::Status& status);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CLAIMS_REFUSAL_H_
