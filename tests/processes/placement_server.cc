#include "tests/processes/placement_server.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace berth::e2e {
namespace {

// A busy machine stands still for seconds. So reads are served from states of up to a minute, and the
// database has a minute to take a connection, unless the test says otherwise.
std::vector<std::string> Command(std::vector<std::string> arguments) {
  std::vector<std::string> command = {BERTH_PLACEMENT_PROGRAM, "--cluster-settings=fsync=off"};
  bool bounds_staleness = false;
  for (std::string& argument : arguments) {
    bounds_staleness |= absl::StartsWith(argument, "--staleness-max=");
    if (absl::StartsWith(argument, "--database=") &&
        !absl::StrContains(argument, "connect_timeout=")) {
      const char* const separator = absl::StrContains(argument, "?") ? "&" : "?";
      absl::StrAppend(&argument, separator, "connect_timeout=60");
    }
    command.push_back(std::move(argument));
  }
  if (!bounds_staleness) command.emplace_back("--staleness-max=60s");
  return command;
}

}  // namespace

PlacementServer::PlacementServer(const std::string& directory, std::vector<std::string> arguments)
    : ServiceProcess(directory, "placement", Command(std::move(arguments))) {}

std::unique_ptr<PlacementServer> StartOrDie(const std::string& directory,
                                            std::vector<std::string> arguments) {
  return StartAt(directory, placement::NewDatabase(), std::move(arguments));
}

std::unique_ptr<PlacementServer> StartAt(const std::string& directory, const std::string& url,
                                         std::vector<std::string> arguments) {
  arguments.push_back("--database=" + url);
  auto server = std::make_unique<PlacementServer>(directory, std::move(arguments));
  const absl::Status started = server->AwaitAddress();
  if (started.ok()) return server;
  std::fprintf(stderr, "placement does not start: %s\n", std::string(started.message()).c_str());
  std::abort();
}

}  // namespace berth::e2e
