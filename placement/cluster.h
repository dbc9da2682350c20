// Cluster: a private PostgreSQL that a process makes, runs and ends with itself (design: embedded
// default).
//
// Owns the postmaster. The data directory survives; the server is reachable over a unix socket
// only. Start deals with what a kill left behind: a live postmaster of that directory is stopped, a
// stale pid file removed.
#ifndef BERTH_PLACEMENT_CLUSTER_H_
#define BERTH_PLACEMENT_CLUSTER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace berth::placement {

struct ClusterOptions {
  std::string directory;  // holds `data` and the lock; made where it is missing
  std::string
      run_as;  // user for the server when this process is root; empty: "postgres", else "nobody"
  std::vector<std::string> settings;  // further `name=value` lines, e.g. "fsync=off" in tests
};

class Cluster {
 public:
  // kFailedPrecondition when another process holds the directory, kPermissionDenied when it cannot
  // be written, kNotFound when no PostgreSQL is installed (or none of the directory's version),
  // kUnavailable when the server does not start.
  static absl::StatusOr<std::unique_ptr<Cluster>> Start(ClusterOptions options);
  // Stops the server (fast shutdown).
  ~Cluster();

  // A connection string to database `name` of this cluster.
  std::string Url(const std::string& name) const;
  pid_t postmaster_pid() const;
  // For fault tests: ends the postmaster and all its children at once, as a crash would; and starts
  // it again.
  absl::Status Kill();
  absl::Status Restart();

 private:
  class Impl;
  explicit Cluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLUSTER_H_
