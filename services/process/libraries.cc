#include "services/process/libraries.h"

#include <cstdlib>

#include "absl/synchronization/mutex.h"

namespace berth::services {

void SetUpLibraries() {
  // Debian builds Abseil without NDEBUG, so every mutex in gRPC keeps a record of which others were
  // held with it, half a KiB each, in one graph behind one lock. That finds mistakes in gRPC's own
  // order of locks, at the cost of memory for each connection and of time for each call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // gRPC 1.51 tries out reads into chunks of 8 or 64 KiB, of which a silent connection keeps one.
  // Without, the room follows what a connection sends (server.cc says where it begins). A later gRPC
  // may not know the experiment any more, and says so. What an operator sets comes first.
  setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", /*overwrite=*/0);
}

}  // namespace berth::services
