#include "services/cli/session/retry.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"

namespace berth::cli {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kPauseMax = absl::Seconds(2);

}  // namespace

absl::Duration PauseAfter(const absl::Status& status, int attempt) {
  for (const Item& item : FailureOf(status).items) {
    const auto said = item.find("retry_delay_ms");
    int64_t delay_ms = 0;
    if (said == item.end() || !absl::SimpleAtoi(said->second, &delay_ms)) continue;
    return std::clamp(absl::Milliseconds(delay_ms), absl::ZeroDuration(), kPauseMax);
  }
  return std::min(kFirstPause * (int64_t{1} << std::min(attempt, 10)), kPauseMax);
}

}  // namespace berth::cli
