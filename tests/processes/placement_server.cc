#include "tests/processes/placement_server.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace berth::e2e {
namespace {

std::vector<std::string> Command(std::vector<std::string> arguments) {
  std::vector<std::string> command = {BERTH_PLACEMENT_PROGRAM, "--cluster-settings=fsync=off"};
  for (std::string& argument : arguments) command.push_back(std::move(argument));
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
