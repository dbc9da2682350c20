// Repeats a command that reads and then writes an entity, if somebody else wrote it in between.
// Repeats a write that placement did not begin, or of which the outcome is unknown.
#ifndef BERTH_SERVICES_CLI_SESSION_RETRY_H_
#define BERTH_SERVICES_CLI_SESSION_RETRY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "services/cli/session/failure.h"

namespace berth::cli {

inline constexpr int kAttemptsMax = 5;

// Calls `once`, which reads an entity and writes it with the generation that was read. While the
// write is refused because the generation has changed, calls `once` again, at most kAttemptsMax
// times in all. A refused write has changed nothing.
template <typename Once>
absl::Status OnFreshGeneration(Once once) {
  absl::Status status;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    status = once();
    if (status.code() != absl::StatusCode::kAborted) return status;
  }
  return status;
}

// Returns how long to wait after attempt number `attempt` (from 0) failed with `status`: as long as
// the server asks for. If the server does not ask for a wait, the wait grows with each attempt, up
// to 2 s.
absl::Duration PauseAfter(const absl::Status& status, int attempt);

// Sends a write until its outcome is known, at most kAttemptsMax times. All attempts have the same
// request id, so the write takes effect only once. `pause` waits between attempts.
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
