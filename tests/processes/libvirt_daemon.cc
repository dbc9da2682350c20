#include "tests/processes/libvirt_daemon.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tracker/hypervisor/command.h"

namespace berth::tracker {
namespace {

constexpr char kUser[] = "nobody";

std::string FindDaemon() {
  for (const char* const path : {"/usr/sbin/libvirtd", "/sbin/libvirtd"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return "";
}

bool Answers(const std::string& path) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const bool answers =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(probe);
  return answers;
}

// In the child, between fork and exec: becomes the unprivileged user with the daemon's directories.
void BecomeDaemon(const std::string& directory, const passwd* user) {
  if (geteuid() == 0 && user != nullptr) {
    if (setgroups(0, nullptr) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0) {
      _exit(126);
    }
  }
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // after the change of user, which would undo it
  setenv("HOME", directory.c_str(), 1);
  setenv("XDG_RUNTIME_DIR", (directory + "/run").c_str(), 1);
  setenv("XDG_CONFIG_HOME", (directory + "/config").c_str(), 1);
  setenv("XDG_CACHE_HOME", (directory + "/cache").c_str(), 1);
  setenv("XDG_DATA_HOME", (directory + "/data").c_str(), 1);
  const int log = open((directory + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
}

}  // namespace

std::unique_ptr<LibvirtDaemon> LibvirtDaemon::Start(std::string* why) {
  const std::string program = FindDaemon();
  if (program.empty()) {
    *why = "libvirtd is not installed";
    return nullptr;
  }
  char path[] = "/tmp/berth-XXXXXX";
  const std::string directory = mkdtemp(path);
  for (const char* const name : {"", "/run", "/config", "/cache", "/data"}) {
    std::filesystem::create_directories(directory + name);
    if (geteuid() != 0) continue;
    const passwd* const user = getpwnam(kUser);
    if (user == nullptr || chown((directory + name).c_str(), user->pw_uid, user->pw_gid) != 0) {
      *why = "no unprivileged user";
      return nullptr;
    }
  }
  std::unique_ptr<LibvirtDaemon> daemon(new LibvirtDaemon(directory, program));
  if (!daemon->Launch()) {
    *why = "libvirtd did not come up: " + Output({"tail", "-5", directory + "/log"});
    return nullptr;
  }
  return daemon;
}

bool LibvirtDaemon::Launch() {
  const passwd* const user = getpwnam(kUser);
  process_ = fork();
  if (process_ == 0) {
    BecomeDaemon(directory_, user);
    execl(program_.c_str(), program_.c_str(), "--timeout", "600", nullptr);
    _exit(127);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    if (Answers(Socket())) return true;
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) == process_) break;
    poll(nullptr, 0, 10);  // between two looks at the socket
  }
  return false;
}

LibvirtDaemon::~LibvirtDaemon() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void LibvirtDaemon::Kill() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

bool LibvirtDaemon::Restart() {
  Kill();
  return Launch();
}

std::string LibvirtDaemon::Socket() const { return directory_ + "/run/libvirt/libvirt-sock"; }

std::string LibvirtDaemon::QemuUri() const { return "qemu+unix:///session?socket=" + Socket(); }

std::string LibvirtDaemon::TestUri() const { return "test+unix:///default?socket=" + Socket(); }

std::string Output(const std::vector<std::string>& arguments) {
  const absl::StatusOr<std::string> output = RunCommand(arguments, absl::Seconds(60));
  EXPECT_TRUE(output.ok()) << output.status();
  return output.value_or("");
}

}  // namespace berth::tracker
