#include "placement/lost_revision.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/refusal.h"

namespace berth::placement {

absl::Status CheckRevision(const State& newest, Revision wanted) {
  const int64_t epoch = newest.position().revision.epoch;
  const auto refuse = [epoch](absl::StatusCode code, absl::string_view reason,
                              const std::string& text) {
    return Refuse(code, reason, text, {{{"epoch", absl::StrCat(epoch)}}});
  };
  if (wanted.epoch == epoch) return absl::OkStatus();
  if (wanted.epoch > epoch) {
    return refuse(absl::StatusCode::kOutOfRange, "EPOCH_UNKNOWN",
                  absl::StrCat("epoch ", wanted.epoch, " has not begun here"));
  }
  const std::vector<Revision>& epochs = newest.epochs();
  const auto after = std::find_if(epochs.begin(), epochs.end(), [wanted](const Revision& first) {
    return first.number > wanted.number;
  });
  if (after == epochs.begin() || std::prev(after)->epoch == wanted.epoch) return absl::OkStatus();
  return refuse(absl::StatusCode::kFailedPrecondition, "REVISION_LOST",
                absl::StrCat("revision ", wanted.number, " of epoch ", wanted.epoch,
                             " was lost: that revision is of epoch ", std::prev(after)->epoch));
}

}  // namespace berth::placement
