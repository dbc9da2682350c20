#include "placement/lost_revision.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/refusal.h"

namespace berth::placement {

absl::Status CheckRevision(const State& newest, Revision wanted) {
  if (wanted.epoch > newest.position().revision.epoch) {
    return Refuse(absl::StatusCode::kOutOfRange, "EPOCH_UNKNOWN",
                  absl::StrCat("epoch ", wanted.epoch, " has not begun here"),
                  {{{"epoch", absl::StrCat(newest.position().revision.epoch)}}});
  }
  if (wanted.epoch == newest.position().revision.epoch) return absl::OkStatus();
  const std::vector<Revision>& epochs = newest.epochs();
  const auto after = std::find_if(epochs.begin(), epochs.end(), [wanted](const Revision& first) {
    return first.number > wanted.number;
  });
  if (after != epochs.begin() && std::prev(after)->epoch != wanted.epoch) {
    return Refuse(absl::StatusCode::kFailedPrecondition, "REVISION_LOST",
                  absl::StrCat("revision ", wanted.number, " of epoch ", wanted.epoch,
                               " was lost: that revision is of epoch ", std::prev(after)->epoch),
                  {{{"epoch", absl::StrCat(newest.position().revision.epoch)}}});
  }
  return absl::OkStatus();
}

}  // namespace berth::placement
