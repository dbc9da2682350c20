// PlacementProcess: all parts of berth-placement: database, ledger, loops, services, server.
//
// Owns the parts, starts them in that order and ends them in the opposite order. One thread makes,
// uses and destroys it.
#ifndef BERTH_SERVICES_PLACEMENT_PROCESS_H_
#define BERTH_SERVICES_PLACEMENT_PROCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "services/placement/options.h"

namespace berth::services {

class PlacementProcess {
 public:
  // Starts all parts and answers calls. The message of a failure is for the person who started the
  // process.
  static absl::StatusOr<std::unique_ptr<PlacementProcess>> Start(const PlacementOptions& options);
  ~PlacementProcess();

  const std::vector<std::string>& addresses() const;
  // Starts the private PostgreSQL again if it has ended. Returns how long the caller may wait until
  // the next call: for ever if there is no private PostgreSQL. Fails like Cluster::Tend.
  absl::StatusOr<absl::Duration> TendDatabase(placement::BootTime now);
  // Looks at the files of the certificates at once, if there are any.
  void LookAtCertificates();
  // Reads the access file again. A file with a fault changes nothing, and is told in the log.
  void ReadAccessFile();
  // Stops gracefully. Returns whether all calls ended by themselves.
  bool Drain();

 private:
  class Impl;
  explicit PlacementProcess(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PLACEMENT_PROCESS_H_
