// Cluster: a private PostgreSQL server that this process creates, keeps running and stops.
//
// Owns the postmaster, which is PostgreSQL's main process, and a lock on the directory. The data
// stays when the Cluster is destroyed. The server listens on a unix socket only. Start and Tend
// also remove everything that a crash left behind: a live postmaster of the same data directory,
// backends without a postmaster, and a pid file whose process has ended or is another program.
//
// One thread makes, tends and destroys a Cluster, and that thread must live as long as the Cluster.
// The reason is PR_SET_PDEATHSIG: so that the server does not outlive a killed process, Linux stops
// it when the thread that started it ends.
#ifndef BERTH_PLACEMENT_STORE_CLUSTER_H_
#define BERTH_PLACEMENT_STORE_CLUSTER_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"

namespace berth::placement {

struct ClusterOptions {
  // The directory that holds the data directory and the lock file. It is created if it does not
  // exist. The server's user must be allowed to enter each directory above it.
  std::string directory;
  // If this process runs as root, the server runs as this user. Empty: as "postgres", or as
  // "nobody" if there is no user "postgres".
  std::string run_as;
  // Further `name=value` settings of the server, for example "fsync=off" in tests.
  std::vector<std::string> settings;
  // If set: called with a text for the operator each time the server ended and will start again.
  std::function<void(const std::string&)> tell_operator;
};

class Cluster {
 public:
  // Creates the data directory if there is none, and starts the server. Fails with
  //   kFailedPrecondition  another process holds the directory
  //   kPermissionDenied    the directory cannot be written
  //   kNotFound            PostgreSQL is not installed, or not in the version that made the data
  //   kUnavailable         the server does not start; the message ends with the server's own words
  static absl::StatusOr<std::unique_ptr<Cluster>> Start(ClusterOptions options);
  // Stops the server. PostgreSQL rolls back open transactions.
  ~Cluster();

  // If the server has ended, starts it again after the pause that RestartPace asks for. Returns how
  // long the caller may wait until the next call is needed. While the server runs that is
  // InfiniteDuration, because SIGCHLD announces the end of the server. Does not wait until the
  // server accepts connections. Fails with kResourceExhausted if the server ended too often; the
  // server then stays down.
  absl::StatusOr<absl::Duration> Tend(BootTime now);

  // A connection string to database `name` of this cluster.
  std::string Url(absl::string_view name) const;
  // The process id of the postmaster; -1 if the server is down.
  pid_t postmaster_pid() const;

 private:
  class Impl;
  explicit Cluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_CLUSTER_H_
