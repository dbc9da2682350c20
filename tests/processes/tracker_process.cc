#include "tests/processes/tracker_process.h"

#include <utility>

namespace berth::e2e {
namespace {

std::vector<std::string> Command(const std::string& directory, std::vector<std::string> arguments) {
  std::vector<std::string> command = {BERTH_TRACKER_PROGRAM, "--state-dir=" + directory + "/state"};
  for (std::string& argument : arguments) command.push_back(std::move(argument));
  return command;
}

}  // namespace

TrackerProcess::TrackerProcess(const std::string& directory, std::vector<std::string> arguments)
    : ServiceProcess(directory, "tracker", Command(directory, std::move(arguments))) {}

}  // namespace berth::e2e
