#include "tests/oracle/placement_process.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/store/child_process.h"

namespace berth::oracle {
namespace {

constexpr absl::Duration kStartMax = absl::Seconds(60);
constexpr absl::Duration kStopMax = absl::Seconds(30);
constexpr size_t kLogEnd = 2000;  // characters of the log that a failure quotes

}  // namespace

absl::StatusOr<std::unique_ptr<PlacementProcess>> PlacementProcess::Start(
    const std::string& program) {
  std::unique_ptr<PlacementProcess> process(new PlacementProcess());
  std::string directory = "/tmp/berth-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return absl::UnavailableError("no scratch directory");
  chmod(directory.c_str(), 0755);  // the cluster's unprivileged user must reach its part
  process->directory_ = directory;
  placement::ChildOptions options;
  options.arguments = {std::filesystem::absolute(program), "--listen=127.0.0.1:0",
                       absl::StrCat("--address-file=", directory, "/address"),
                       absl::StrCat("--state-dir=", directory, "/state"),
                       "--metrics-listen=127.0.0.1:0", "--cluster-settings=fsync=off",
                       "--log-level=warning",
                       // What everything allocates to one request is never cut.
                       "--message-mib-max=64"};
  options.account = {getuid(), getgid()};
  options.output_path = directory + "/log";
  options.death_signal = SIGTERM;
  const absl::StatusOr<pid_t> pid = placement::Spawn(options);
  if (!pid.ok()) return pid.status();
  process->pid_ = *pid;
  if (absl::Status status = process->AwaitAddress(); !status.ok()) return status;
  return process;
}

absl::Status PlacementProcess::AwaitAddress() {
  const absl::Time deadline = absl::Now() + kStartMax;
  while (absl::Now() < deadline) {
    std::ifstream file(directory_ + "/address");
    if (std::getline(file, address_) && !address_.empty()) return absl::OkStatus();
    if (!placement::IsRunning(pid_)) {
      return absl::UnavailableError(absl::StrCat("placement ended at its start: ", Log()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return absl::DeadlineExceededError(absl::StrCat("placement told no address: ", Log()));
}

std::string PlacementProcess::Log() const {
  std::ifstream file(directory_ + "/log");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  return all.size() > kLogEnd ? all.substr(all.size() - kLogEnd) : all;
}

PlacementProcess::~PlacementProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    if (!placement::WaitForChild(pid_, kStopMax).ok()) {
      kill(pid_, SIGKILL);
      placement::WaitForChild(pid_, kStopMax).IgnoreError();
    }
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace berth::oracle
