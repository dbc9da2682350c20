#include "placement/lost_revision.h"

#include "absl/strings/str_cat.h"
#include "placement/refusal.h"

namespace berth::placement {

absl::Status CheckRevision(const Position& newest, Revision wanted) {
  if (wanted.epoch > newest.revision.epoch) {
    return Refuse(absl::StatusCode::kOutOfRange, "EPOCH_UNKNOWN",
                  absl::StrCat("epoch ", wanted.epoch, " has not begun here"));
  }
  if (wanted.epoch < newest.revision.epoch && wanted.number >= newest.epoch_began_at) {
    return Refuse(
        absl::StatusCode::kFailedPrecondition, "REVISION_LOST",
        absl::StrCat("revision ", wanted.number, " of epoch ", wanted.epoch, " was lost: epoch ",
                     newest.revision.epoch, " began at ", newest.epoch_began_at));
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
