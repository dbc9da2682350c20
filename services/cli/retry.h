// Read, change, write: again where somebody else wrote in between.
#ifndef BERTH_SERVICES_CLI_RETRY_H_
#define BERTH_SERVICES_CLI_RETRY_H_

#include "absl/status/status.h"

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

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_RETRY_H_
