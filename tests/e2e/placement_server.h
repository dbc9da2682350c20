// PlacementServer: a real berth-placement for as long as this lives, over a database of its own.
#ifndef BERTH_TESTS_E2E_PLACEMENT_SERVER_H_
#define BERTH_TESTS_E2E_PLACEMENT_SERVER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/placement/private_cluster.h"

namespace berth::e2e {

// One start of the program with `arguments` besides those that every test gives. Ends with SIGKILL
// unless it ended before.
class PlacementServer {
 public:
  // Does not wait for it to answer. `directory` gets its log and its address.
  PlacementServer(const std::string& directory, std::vector<std::string> arguments);
  ~PlacementServer();

  // Waits until it has told its address. kUnavailable with its log where it ended instead.
  absl::Status AwaitAddress();
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }

  void Signal(int signal) const;
  // Its exit code, 128 + n after signal n; -1 where it runs on.
  int AwaitEnd(absl::Duration limit);
  std::string Log() const;

 private:
  const std::string directory_;
  std::string address_;
  pid_t pid_ = -1;
};

// A server over a new database of the program's cluster; ends the program where it does not start.
std::unique_ptr<PlacementServer> StartOrDie(const std::string& directory,
                                            std::vector<std::string> arguments = {});

}  // namespace berth::e2e

#endif  // BERTH_TESTS_E2E_PLACEMENT_SERVER_H_
