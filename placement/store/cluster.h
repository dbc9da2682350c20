// Cluster: a private PostgreSQL that a process makes, runs and ends with itself (design: embedded
// default).
//
// Owns the postmaster. The data directory survives; the server is reachable over a unix socket
// only. Start deals with what a kill left behind: a live postmaster of that directory is stopped, a
// stale pid file removed. Not thread-safe.
#ifndef BERTH_PLACEMENT_STORE_CLUSTER_H_
#define BERTH_PLACEMENT_STORE_CLUSTER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::placement {

struct ClusterOptions {
  // Holds the data directory and the lock; made where it is missing. All of its parents must be
  // open to the user that the server runs as.
  std::string directory;
  // User for the server when this process is root; empty: "postgres", else "nobody".
  std::string run_as;
  // Further `name=value` lines, e.g. "fsync=off" in tests.
  std::vector<std::string> settings;
};

class Cluster {
 public:
  // Fails with kFailedPrecondition when another process holds the directory, kPermissionDenied when
  // it cannot be written, kNotFound when no PostgreSQL is installed (or none of the directory's
  // version), kUnavailable when the server does not start; the message then ends with what the
  // server said.
  //
  // REQUIRES: the calling thread lives as long as the Cluster: the server is told to stop when the
  // thread that started it ends, so that it does not outlive a process that was killed.
  static absl::StatusOr<std::unique_ptr<Cluster>> Start(ClusterOptions options);
  // Stops the server (fast shutdown).
  ~Cluster();

  // Makes database `name`, a copy of `model`, where it is missing. REQUIRES: both are plain
  // identifiers.
  absl::Status CreateDatabase(absl::string_view name, absl::string_view model = "template0");
  // A connection string to database `name` of this cluster.
  std::string Url(absl::string_view name) const;
  pid_t postmaster_pid() const;

  // For fault tests. Kill ends the postmaster and all its children at once, as a crash would;
  // Restart starts it again; Freeze stops them all in their tracks, Thaw lets them go on.
  absl::Status Kill();
  absl::Status Restart();
  void Freeze();
  void Thaw();

 private:
  class Impl;
  explicit Cluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_CLUSTER_H_
