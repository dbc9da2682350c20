#include "services/cli/text/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "placement/ground/boot_clock.h"
#include "services/cli/text/bar.h"

namespace berth::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr absl::Duration kBetween = absl::Milliseconds(100);
constexpr absl::Duration kWaitShownAfter = absl::Seconds(1);
constexpr char kEraseLine[] = "\r\x1b[K";

}  // namespace

std::string ProgressLine(absl::string_view what, int64_t done, int64_t total) {
  if (total <= 0) return absl::StrCat(what, "  ", done);
  const int64_t shown = std::clamp<int64_t>(done, 0, total);
  return absl::StrCat(what, "  ", Bar(shown, total, kBarWidth, Screen()), "  ", shown * 100 / total,
                      " %  ", done, " of ", total);
}

std::string WaitingLine(absl::string_view what, absl::Duration since) {
  return absl::StrCat(what, "  ", absl::ToInt64Seconds(since), " s");
}

void Progress::Tell(absl::string_view what, int64_t done, int64_t total) {
  if (!shown_) return;
  const placement::BootTime now = placement::BootNow();
  if (now - drawn_at_ >= kBetween) Draw(ProgressLine(what, done, total), now);
}

void Progress::Wait(absl::string_view what) {
  if (!shown_) return;
  const placement::BootTime now = placement::BootNow();
  waiting_since_ = std::min(waiting_since_, now);
  const absl::Duration since = now - waiting_since_;
  if (since >= kWaitShownAfter && now - drawn_at_ >= kBetween) Draw(WaitingLine(what, since), now);
}

void Progress::Draw(const std::string& line, placement::BootTime now) {
  *to_ << kEraseLine << line;
  to_->flush();
  drawn_ = true;
  drawn_at_ = now;
}

void Progress::Clear() {
  if (drawn_) *to_ << kEraseLine;
  if (drawn_) to_->flush();
  drawn_ = false;
}

}  // namespace berth::cli
