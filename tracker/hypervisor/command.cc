#include "tracker/hypervisor/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tracker/ground/boot_clock.h"

namespace berth::tracker {
namespace {

constexpr size_t kOutputBytesMax = 1 << 20;

// Starts the program with a pipe as its standard output, and sets `output` to the reading end of
// the pipe. Returns 0 or an errno value.
int Spawn(const std::vector<std::string>& arguments, pid_t* child, int* output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "LC_ALL=", 7) != 0) environment.push_back(*entry);
  }
  char locale[] = "LC_ALL=C";
  environment.push_back(locale);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const int error =
      posix_spawnp(child, argv[0], &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
  } else {
    *output = ends[0];
  }
  return error;
}

// Reads until the pipe ends. Returns false if the deadline passes first, or if the program prints
// too much.
bool ReadAll(int output, MonotonicTime deadline, std::string* text) {
  char buffer[4096];
  while (text->size() <= kOutputBytesMax) {
    pollfd ready = {output, POLLIN, 0};
    const auto left = std::chrono::floor<std::chrono::milliseconds>(deadline - BootClock::now());
    if (left.count() <= 0) return false;
    const int polled = poll(&ready, 1, static_cast<int>(std::min<int64_t>(left.count(), 60000)));
    if (polled < 0 && errno != EINTR) return false;
    if (polled <= 0) continue;
    const ssize_t size = read(output, buffer, sizeof buffer);
    if (size == 0) return true;
    if (size < 0 && errno != EINTR) return false;
    if (size > 0) text->append(buffer, static_cast<size_t>(size));
  }
  return false;
}

}  // namespace

absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& arguments,
                                       absl::Duration timeout) {
  const MonotonicTime deadline = BootClock::now() + absl::ToChronoNanoseconds(timeout);
  pid_t child = -1;
  int output = -1;
  const int error = Spawn(arguments, &child, &output);
  if (error != 0) {
    return absl::NotFoundError(absl::StrCat(arguments[0], ": ", std::strerror(error)));
  }
  std::string text;
  const bool ended = ReadAll(output, deadline, &text);
  close(output);
  if (!ended) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended && text.size() <= kOutputBytesMax) {
    return absl::DeadlineExceededError(
        absl::StrCat(arguments[0], " ran longer than ", absl::FormatDuration(timeout)));
  }
  if (!ended || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string how = WIFEXITED(status) ? absl::StrCat("exit code ", WEXITSTATUS(status))
                                              : absl::StrCat("signal ", WTERMSIG(status));
    return absl::InternalError(absl::StrCat(arguments[0], " failed with ", how));
  }
  return text;
}

}  // namespace berth::tracker
