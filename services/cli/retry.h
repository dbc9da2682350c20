// Read, change, write: again where somebody else wrote in between.
#ifndef BERTH_SERVICES_CLI_RETRY_H_
#define BERTH_SERVICES_CLI_RETRY_H_

#include <string>

#include "absl/status/status.h"
#include "services/cli/failure.h"

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

// Makes a write, which keeps its request id, until it is settled, kAttemptsMax times at most:
// repeated under one id it takes effect once.
template <typename Write>
absl::Status WhileOpen(Write write) {
  absl::Status status;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    status = write();
    const std::string reason = status.ok() ? "" : ReasonOf(status);
    const bool not_begun = absl::IsUnavailable(status) && reason != kUnreachable;
    if (!not_begun && reason != "OUTCOME_UNKNOWN") return status;
  }
  return status;
}

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_RETRY_H_
