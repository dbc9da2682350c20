// PlacementServer: a real berth-placement for as long as this lives, over a database of its own.
#ifndef BERTH_TESTS_PROCESSES_PLACEMENT_SERVER_H_
#define BERTH_TESTS_PROCESSES_PLACEMENT_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/processes/private_cluster.h"
#include "tests/processes/service_process.h"

namespace berth::e2e {

// One start of the program with `arguments` besides those that every test gives. Ends with SIGKILL
// unless it ended before.
class PlacementServer : public ServiceProcess {
 public:
  // Does not wait for it to answer. `directory` gets its log and its address.
  PlacementServer(const std::string& directory, std::vector<std::string> arguments);
};

// A server over the database at `url`; ends the program where it does not start.
std::unique_ptr<PlacementServer> StartAt(const std::string& directory, const std::string& url,
                                         std::vector<std::string> arguments = {});
// A server over a new database of the program's cluster, likewise.
std::unique_ptr<PlacementServer> StartOrDie(const std::string& directory,
                                            std::vector<std::string> arguments = {});

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_PLACEMENT_SERVER_H_
