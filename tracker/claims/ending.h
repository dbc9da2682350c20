// Ends claims and moves: computes the records as they are afterwards.
//
// Pure functions over records, apart from AbortClaim. Placement writes the returned records, and
// changes the allocations, in one command; the account changes when the records come back. So from
// a claim to its end, the source and the destination of a move both count.
#ifndef BERTH_TRACKER_CLAIMS_ENDING_H_
#define BERTH_TRACKER_CLAIMS_ENDING_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/account/account.h"
#include "tracker/account/records.h"

namespace berth::tracker {

// What becomes of the allocations of the two consumers of a move, the instance and its migration.
// During the move the migration has the allocations on the source, and the instance has the
// allocations on the destination (T-221).
enum class AllocationChange {
  kNone,
  kReleaseMigration,  // the instance is on the destination: the migration holds nothing any more
  kGiveBack,          // the instance is on the source: it gets what the migration holds
};

// Records to be written in one command. An absent record stays as it is.
struct Ending {
  std::optional<Instance> instance;
  std::optional<Migration> migration;
  AllocationChange allocations = AllocationChange::kNone;
};

// Gives a claim back (T-165, T-170). If the claim is open, closes it in `account`. `instance` and
// `migration` are the newest records, or null. Returns the records without the claim. An instance
// that was to be built has no host, placed cells, devices and units any more; it keeps launched_on
// and its allocations. An instance that was to be moved has no migration context any more, and its
// migration gets `status`, which must be a word for a migration that fails or is over.
//
// Returns nothing to be written if the records do not have the claim, so a second call has no
// effect (T-151). An abort that comes too late changes nothing, because the guest needs what was
// claimed. It is too late when the instance has left the state in which it was claimed, for example
// from `building` to `active`, or when the instance or its guest is on the destination.
Ending AbortClaim(const OpenClaim& claim, const Instance* instance, const Migration* migration,
                  absl::string_view status, NodeAccount* account);

// Ends a resize or cold migration that its user accepts (T-173): the source releases what it kept
// for a revert.
//
// FailedPrecondition if the migration is neither `finished` nor `confirming`, or if the instance
// has no context of this migration.
absl::StatusOr<Ending> ConfirmMove(const Instance& instance, const Migration& migration);

// Ends a resize or cold migration that its user does not accept (T-174): the instance has its old
// flavor, cells, devices and units again, on the source.
//
// FailedPrecondition if the instance has another task than resize_reverting, or no context of this
// migration.
absl::StatusOr<Ending> RevertMove(const Instance& instance, const Migration& migration);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_CLAIMS_ENDING_H_
