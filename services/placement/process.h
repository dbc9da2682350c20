// PlacementProcess: berth-placement, put together: database, ledger, loops, services, server.
//
// Owns everything, and ends it in the opposite order. Made, run and ended by one thread.
#ifndef BERTH_SERVICES_PLACEMENT_PROCESS_H_
#define BERTH_SERVICES_PLACEMENT_PROCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/placement/options.h"

namespace berth::services {

class PlacementProcess {
 public:
  // Starts everything and begins to answer. The message of a failure says in words what is wrong,
  // for whoever started the process.
  static absl::StatusOr<std::unique_ptr<PlacementProcess>> Start(const PlacementOptions& options);
  ~PlacementProcess();

  const std::vector<std::string>& addresses() const;
  // Starts the private PostgreSQL again if it has ended, as Cluster::Tend describes. Without one:
  // InfiniteDuration.
  absl::StatusOr<absl::Duration> TendDatabase(absl::Time now);
  // The graceful stop; whether no call had to be cut off.
  bool Drain();

 private:
  class Impl;
  explicit PlacementProcess(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PLACEMENT_PROCESS_H_
