#include "services/libraries.h"

#include "absl/synchronization/mutex.h"

namespace berth::services {

void SetUpLibraries() {
  // Debian builds Abseil without NDEBUG, so every mutex in gRPC keeps a record of which others were
  // held with it, half a KiB each, in one graph behind one lock. That finds mistakes in gRPC's own
  // order of locks, at the cost of memory for each connection and of time for each call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace berth::services
