#include "tests/processes/service_process.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "placement/store/child_process.h"
#include "tests/processes/identity.h"

namespace berth::e2e {
namespace {

constexpr absl::Duration kStartMax = absl::Seconds(60);

bool HasFlag(const std::vector<std::string>& command, absl::string_view flag) {
  return std::any_of(command.begin(), command.end(), [&](const std::string& argument) {
    return absl::StartsWith(argument, absl::StrCat(flag, "="));
  });
}

// The name in the certificate of a tracker: its setting `host`, which is the name of this machine
// if nobody sets it.
std::string HostOf(const std::vector<std::string>& command) {
  for (absl::string_view argument : command) {
    if (absl::ConsumePrefix(&argument, "--host=")) return std::string(argument);
  }
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

std::string IdentityOf(const std::vector<std::string>& command) {
  const bool tracker = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return absl::EndsWith(word, "/berth-tracker");
  });
  return tracker ? absl::StrCat("tracker/", HostOf(command)) : "placement/one";
}

}  // namespace

ServiceProcess::ServiceProcess(const std::string& directory, const std::string& name,
                               std::vector<std::string> command)
    : address_path_(absl::StrCat(directory, "/", name, "_address")),
      log_path_(absl::StrCat(directory, "/", name, "_log")) {
  std::filesystem::remove(address_path_);
  placement::ChildOptions options;
  options.arguments = std::move(command);
  options.arguments.emplace_back("--listen=127.0.0.1:0");
  if (!HasFlag(options.arguments, "--tls-certificate")) {
    for (std::string& argument : CertificateArguments(IdentityOf(options.arguments))) {
      options.arguments.push_back(std::move(argument));
    }
  }
  if (!HasFlag(options.arguments, "--metrics-listen")) {
    options.arguments.emplace_back("--metrics-listen=");
  }
  options.arguments.push_back("--address-file=" + address_path_);
  options.account = {getuid(), getgid()};
  options.output_path = log_path_;
  options.death_signal = SIGKILL;
  const absl::StatusOr<pid_t> pid = placement::Spawn(options);
  if (pid.ok()) pid_ = *pid;
}

ServiceProcess::~ServiceProcess() {
  if (pid_ <= 0) return;
  Signal(SIGKILL);
  AwaitEnd(absl::Seconds(30));
}

absl::Status ServiceProcess::AwaitAddress() {
  const absl::Time deadline = absl::Now() + kStartMax;
  while (absl::Now() < deadline) {
    std::ifstream file(address_path_);
    if (std::getline(file, address_) && !address_.empty()) return absl::OkStatus();
    if (!placement::IsRunning(pid_)) return absl::UnavailableError(Log());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return absl::DeadlineExceededError(Log());
}

void ServiceProcess::Signal(int signal) const { kill(pid_, signal); }

int ServiceProcess::AwaitEnd(absl::Duration limit) {
  const absl::StatusOr<int> code = placement::WaitForChild(pid_, limit);
  if (!code.ok()) return -1;
  pid_ = -1;
  return *code;
}

std::string ServiceProcess::Log() const {
  std::ifstream file(log_path_);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace berth::e2e
