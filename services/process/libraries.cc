#include "services/process/libraries.h"

#include <signal.h>

#include <cstdlib>

#include "absl/synchronization/mutex.h"

namespace berth::services {

void SetUpLibraries() {
  // libvirt and libpq write to sockets whose other end may just have gone. They read the error that
  // they then get; the signal would end the process.
  signal(SIGPIPE, SIG_IGN);
  // Debian builds Abseil without NDEBUG. Such a build records for every mutex of gRPC which other
  // mutexes were held with it, to find mistakes in gRPC's lock order. This takes half a KiB for
  // each mutex, in one graph under one lock: memory for each connection, and time for each call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // gRPC 1.51 has an experiment that reads into chunks of 8 or 64 KiB, so that even a silent
  // connection keeps one chunk. Without the experiment the size of the buffer follows the amount
  // that the connection sends; server.cc sets the first size. A later gRPC may not know the
  // experiment, and then logs this. If an operator has set the variable, the operator's value
  // stays.
  setenv("GRPC_EXPERIMENTS", "-tcp_read_chunks", /*overwrite=*/0);
}

}  // namespace berth::services
