#include "placement/values/migration_status.h"

namespace berth::placement {
namespace {

using enum MigrationStanding;

// The status words (T-126). The comment at each word says which types of migration use it, unless
// all types do, and when a migration has this status.
constexpr MigrationStatus kStatuses[] = {
    {kAcceptedStatus, kInProgress},        // asked for; no work has begun
    {"queued", kInProgress},               // live: waits for its turn on the source
    {"preparing", kInProgress},            // live: the destination prepares
    {"running", kInProgress},              // live: the memory is copied
    {"running (post-copy)", kInProgress},  // live: the guest runs on the destination already
    {"completed", kOver},                  // live: the guest runs on the destination;
                                           // evacuation: the source has cleaned up after the guest
    {"cancelled", kOver},                  // live: stopped on request
    {"pre-migrating", kInProgress},        // cold, resize, evacuation: the destination is claimed
    {"migrating", kInProgress},            // cold, resize: the disks are copied
    {"post-migrating", kInProgress},       // cold, resize: the destination starts the guest
    {kFinishedStatus, kInProgress},        // cold, resize: waits until the user confirms or
                                           // reverts; source and destination hold resources
    {"confirming", kInProgress},           // cold, resize: the source is being freed
    {"confirmed", kOver},                  // cold, resize: the source is freed
    {"reverting", kInProgress},            // cold, resize: the guest goes back
    {"reverted", kOver},                   // cold, resize: the destination is freed
    {kDoneStatus, kOver},                  // evacuation: the guest runs on the destination
    {"failed", kOver},                     // ended without effect, and nothing is left over
    {"error", kLeftover},                  // ended halfway, and something is left over
};

}  // namespace

absl::Span<const MigrationStatus> MigrationStatuses() { return kStatuses; }

MigrationStanding StandingOf(absl::string_view status) {
  for (const MigrationStatus& known : kStatuses) {
    if (known.word == status) return known.standing;
  }
  return kInProgress;
}

}  // namespace berth::placement
