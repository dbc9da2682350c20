// OpenClaim: what a claim has taken on a node, until placement's records say the same.
//
// A plain value, and pure functions.
#ifndef BERTH_TRACKER_ACCOUNT_OPEN_CLAIM_H_
#define BERTH_TRACKER_ACCOUNT_OPEN_CLAIM_H_

#include <optional>
#include <string>

#include "tracker/account/records.h"

namespace berth::tracker {

// The records as they will be when the claim has been written. Until placement sends the records
// back, the claim counts as if they had been written.
struct OpenClaim {
  std::string id;
  Instance instance;
  std::optional<Migration> migration;  // absent: an instance is built here, not moved
  std::string body{};                  // a digest of the request without its id
};

// The id of a claim: the migration's uuid, or the instance's uuid with the generation of its record
// on which the claim is based. So a caller whose answer was lost knows the id. The record of a
// claimed instance has this generation, so the tracker knows the id after a restart.
std::string ClaimIdOf(const OpenClaim& claim);

// Returns the instance as `claim` changes it. `recorded`, if not null, is placement's record: all
// that the claim does not decide, such as the state, is taken from it.
Instance WithClaim(const Instance* recorded, const OpenClaim& claim);
// Returns the claim's migration likewise: `recorded` is placement's record of it, or null.
//
// REQUIRES: the claim has a migration.
Migration WithClaim(const Migration* recorded, const OpenClaim& claim);

// Whether placement's records say all that the claim says. Each record may be null.
bool IsRecorded(const OpenClaim& claim, const Instance* instance, const Migration* migration);

// Whether a claim of the instance for the migration is no longer needed: the instance is deleted
// or the migration is over. Each record may be null.
bool IsPointless(const Instance* instance, const Migration* migration);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_OPEN_CLAIM_H_
