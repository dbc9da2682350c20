// Read, change, write: again where somebody else wrote in between.
#ifndef BERTH_SERVICES_CLI_SESSION_RETRY_H_
#define BERTH_SERVICES_CLI_SESSION_RETRY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "services/cli/session/failure.h"

namespace berth::cli {

inline constexpr int kAttemptsMax = 5;

// Does `once`, which reads and then writes with the generation it read, until it is not refused for
// that generation, kAttemptsMax times at most. A refused write has changed nothing.
template <typename Once>
absl::Status OnFreshGeneration(Once once) {
  absl::Status status;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    status = once();
    if (status.code() != absl::StatusCode::kAborted) return status;
  }
  return status;
}

// How long to wait after `status`, that of an attempt counted from 0: as long as the server says,
// else longer each time; 2 s at the most.
absl::Duration PauseAfter(const absl::Status& status, int attempt);

// Makes a write, which keeps its request id, until it is settled, kAttemptsMax times at most:
// repeated under one id it takes effect once. `pause` waits between attempts.
template <typename Write, typename Pause = void (*)(absl::Duration)>
absl::Status WhileOpen(Write write, Pause pause = absl::SleepFor) {
  absl::Status status;
  for (int attempt = 0;; ++attempt) {
    status = write();
    const std::string reason = status.ok() ? "" : ReasonOf(status);
    const bool not_begun = absl::IsUnavailable(status) && reason != kUnreachable;
    if (!not_begun && reason != "OUTCOME_UNKNOWN") return status;
    if (attempt + 1 == kAttemptsMax) return status;
    pause(PauseAfter(status, attempt));
  }
}

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_RETRY_H_
