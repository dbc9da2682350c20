// Revisions that will never be: of an epoch that has not begun, or lost with one that has ended.
#ifndef BERTH_PLACEMENT_LOST_REVISION_H_
#define BERTH_PLACEMENT_LOST_REVISION_H_

#include "absl/status/status.h"
#include "placement/state.h"

namespace berth::placement {

// Fails with kOutOfRange / EPOCH_UNKNOWN, then kFailedPrecondition / REVISION_LOST; OK where the
// ledger that stands at `newest` has passed `wanted` or may get there.
absl::Status CheckRevision(const State& newest, Revision wanted);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_LOST_REVISION_H_
