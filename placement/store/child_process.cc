#include "placement/store/child_process.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ground/boot_clock.h"

namespace berth::placement {
namespace {

constexpr absl::Duration kWaitInterval = absl::Milliseconds(5);

// Runs in the child between fork and exec. It may make system calls only: at the moment of the fork
// another thread may have held any lock, for example that of malloc.
[[noreturn]] void BecomeProgram(const ChildOptions& options, char* const* arguments,
                                char* const* environment, int output, pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // The child gets a process group of its own, so that Ctrl-C at the terminal reaches only our
  // process. Our process then ends the child itself.
  setpgid(0, 0);
  const bool other_account = options.account.uid != geteuid();
  if (other_account && (setgroups(1, &options.account.gid) != 0 ||
                        setgid(options.account.gid) != 0 || setuid(options.account.uid) != 0)) {
    _exit(127);
  }
  // The death signal is set after setuid, because setuid clears it.
  if (options.death_signal != 0) prctl(PR_SET_PDEATHSIG, options.death_signal);
  if (options.death_signal != 0 && getppid() != parent) _exit(127);
  const int null = open("/dev/null", O_RDONLY);
  if (null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) _exit(127);
  if (chdir("/") != 0) _exit(127);
  umask(077);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

}  // namespace

absl::StatusOr<pid_t> Spawn(const ChildOptions& options) {
  const int output =
      open(options.output_path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  if (output < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot write ", options.output_path, ": ", std::strerror(errno)));
  }
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  std::string path = "PATH=/usr/bin:/bin";
  std::string locale = "LC_ALL=C";
  std::vector<char*> environment = {path.data(), locale.data(), nullptr};
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    BecomeProgram(options, arguments.data(), environment.data(), output, parent);
  }
  const int fork_error = errno;
  close(output);
  if (child < 0) {
    return absl::UnavailableError(absl::StrCat("cannot fork: ", std::strerror(fork_error)));
  }
  return child;
}

absl::StatusOr<int> WaitForChild(pid_t pid, absl::Duration limit) {
  const BootTime end = BootNow() + limit;
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) {
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (ended < 0 && errno != EINTR)
      return absl::NotFoundError(absl::StrCat("process ", pid, " has already ended"));
    if (BootNow() >= end)
      return absl::DeadlineExceededError(
          absl::StrCat("process ", pid, " did not end within ", absl::FormatDuration(limit)));
    absl::SleepFor(kWaitInterval);
  }
}

bool IsRunning(pid_t pid) {
  // The file has the form "pid (name) state parent", and the name may contain parentheses.
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  std::getline(file, text);
  const size_t state = text.rfind(')') + 2;  // 1 if there is no such process
  return state < text.size() && text[state] != 'Z' && text[state] != 'X';
}

std::vector<pid_t> ProcessesIn(const std::string& directory, absl::string_view program) {
  std::vector<pid_t> found;
  std::error_code error;
  const std::filesystem::path wanted = std::filesystem::weakly_canonical(directory, error);
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t candidate = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &candidate)) continue;
    const auto where =
        std::filesystem::read_symlink(absl::StrCat("/proc/", candidate, "/cwd"), error);
    if (error || where != wanted) continue;
    // Linux appends " (deleted)" to the path if an upgrade has replaced the program's file.
    const auto runs =
        std::filesystem::read_symlink(absl::StrCat("/proc/", candidate, "/exe"), error);
    const std::string name = runs.filename().string();
    if (!error && (name == program || name == absl::StrCat(program, " (deleted)"))) {
      found.push_back(candidate);
    }
  }
  return found;
}

}  // namespace berth::placement
