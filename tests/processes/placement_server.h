// PlacementServer: a berth-placement process that lives as long as this object.
#ifndef BERTH_TESTS_PROCESSES_PLACEMENT_SERVER_H_
#define BERTH_TESTS_PROCESSES_PLACEMENT_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/processes/private_cluster.h"
#include "tests/processes/service_process.h"

namespace berth::e2e {

// Runs the program with `arguments` and those that every test needs: limits of a minute for the age
// of a state and for connecting to the database, where `arguments` set none. The destructor sends
// SIGKILL if the process still runs.
class PlacementServer : public ServiceProcess {
 public:
  // Does not wait for an answer. The log and the address of the process are in `directory`.
  PlacementServer(const std::string& directory, std::vector<std::string> arguments);
};

// A server over the database at `url`; ends the program if it does not start.
std::unique_ptr<PlacementServer> StartAt(const std::string& directory, const std::string& url,
                                         std::vector<std::string> arguments = {});
// The same over a new database of the program's cluster.
std::unique_ptr<PlacementServer> StartOrDie(const std::string& directory,
                                            std::vector<std::string> arguments = {});

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_PLACEMENT_SERVER_H_
