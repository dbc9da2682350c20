// PlacementProcess: a berth-placement with a private PostgreSQL, for as long as this lives.
#ifndef BERTH_TESTS_ORACLE_PLACEMENT_PROCESS_H_
#define BERTH_TESTS_ORACLE_PLACEMENT_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace berth::oracle {

class PlacementProcess {
 public:
  // Starts `program` with a state directory /tmp/berth-XXXX and waits until it tells its address.
  // kDeadlineExceeded or kUnavailable, with the end of its log, where it does not.
  static absl::StatusOr<std::unique_ptr<PlacementProcess>> Start(const std::string& program);
  // Stops it (SIGTERM, and SIGKILL where that is not enough) and removes its directory.
  ~PlacementProcess();

  const std::string& address() const { return address_; }

 private:
  PlacementProcess() = default;
  absl::Status AwaitAddress();
  std::string Log() const;

  std::string directory_;
  std::string address_;
  pid_t pid_ = -1;
};

}  // namespace berth::oracle

#endif  // BERTH_TESTS_ORACLE_PLACEMENT_PROCESS_H_
