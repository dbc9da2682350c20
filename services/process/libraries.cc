#include "services/process/libraries.h"

#include <cstdlib>

#include "absl/synchronization/mutex.h"

namespace berth::services {

void SetUpLibraries() {
  // Debian builds Abseil without NDEBUG, so Abseil records for every mutex of gRPC which other
  // mutexes were held with it: half a KiB each, in one graph under one lock. This would find
  // mistakes in gRPC's lock order, but it costs memory for each connection and time for each call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // gRPC 1.51 has an experiment that reads into chunks of 8 or 64 KiB, and a silent connection
  // keeps one chunk. Without the experiment the buffer's size follows what the connection sends;
  // server.cc sets the first size. A later gRPC may not know the experiment and then logs that. An
  // operator's own setting of the variable wins.
  setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", /*overwrite=*/0);
}

}  // namespace berth::services
