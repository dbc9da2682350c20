#include "tests/e2e/placement_server.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/child_process.h"

namespace berth::e2e {
namespace {

constexpr absl::Duration kStartMax = absl::Seconds(60);

}  // namespace

PlacementServer::PlacementServer(const std::string& directory, std::vector<std::string> arguments)
    : directory_(directory) {
  std::filesystem::remove(directory_ + "/address");
  placement::ChildOptions options;
  options.arguments = {BERTH_PLACEMENT_PROGRAM, "--listen=127.0.0.1:0",
                       "--metrics-listen=", absl::StrCat("--address-file=", directory_, "/address"),
                       "--cluster-settings=fsync=off"};
  for (std::string& argument : arguments) options.arguments.push_back(std::move(argument));
  options.account = {getuid(), getgid()};
  options.output_path = directory_ + "/log";
  options.death_signal = SIGKILL;
  const absl::StatusOr<pid_t> pid = placement::Spawn(options);
  if (pid.ok()) pid_ = *pid;
}

PlacementServer::~PlacementServer() {
  if (pid_ <= 0) return;
  Signal(SIGKILL);
  AwaitEnd(absl::Seconds(30));
}

absl::Status PlacementServer::AwaitAddress() {
  const absl::Time deadline = absl::Now() + kStartMax;
  while (absl::Now() < deadline) {
    std::ifstream file(directory_ + "/address");
    if (std::getline(file, address_) && !address_.empty()) return absl::OkStatus();
    if (!placement::IsRunning(pid_)) return absl::UnavailableError(Log());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return absl::DeadlineExceededError(Log());
}

void PlacementServer::Signal(int signal) const { kill(pid_, signal); }

int PlacementServer::AwaitEnd(absl::Duration limit) {
  const absl::StatusOr<int> code = placement::WaitForChild(pid_, limit);
  if (!code.ok()) return -1;
  pid_ = -1;
  return *code;
}

std::string PlacementServer::Log() const {
  std::ifstream file(directory_ + "/log");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::unique_ptr<PlacementServer> StartOrDie(const std::string& directory,
                                            std::vector<std::string> arguments) {
  arguments.push_back("--database=" + placement::NewDatabase());
  auto server = std::make_unique<PlacementServer>(directory, std::move(arguments));
  const absl::Status started = server->AwaitAddress();
  if (started.ok()) return server;
  std::fprintf(stderr, "placement does not start: %s\n", std::string(started.message()).c_str());
  std::abort();
}

}  // namespace berth::e2e
