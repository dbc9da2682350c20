#include "tests/fairness/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "placement/ground/check.h"
#include "placement/store/child_process.h"
#include "tests/processes/identity.h"

extern char** environ;

namespace berth::fairness {
namespace {

constexpr char kThisProgram[] = "/proc/self/exe";

// "--tls-key=PATH" as "BERTH_TLS_KEY=PATH".
std::string Variable(const std::string& argument) {
  const size_t end = argument.find('=');
  const std::string name = absl::StrReplaceAll(argument.substr(2, end - 2), {{"-", "_"}});
  return absl::StrCat("BERTH_", absl::AsciiStrToUpper(name), argument.substr(end));
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::string& identity) {
  std::vector<std::string> words = {kThisProgram};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  for (const std::string& argument : e2e::CertificateArguments(identity)) {
    variables.push_back(Variable(argument));
  }
  int input[2];
  int output[2];
  BERTH_CHECK(pipe2(input, O_CLOEXEC) == 0 && pipe2(output, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  const int failed = posix_spawn(&pid_, kThisProgram, &actions, nullptr, Pointers(&words).data(),
                                 Pointers(&variables).data());
  BERTH_CHECK(failed == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(input[0]);
  close(output[1]);
  input_ = input[1];
  output_ = output[0];
}

Child::~Child() {
  CloseInput();
  if (pid_ > 0) kill(pid_, SIGKILL);
  AwaitEnd(absl::Seconds(10));
  close(output_);
}

std::string Child::Line(absl::Duration limit) {
  const absl::Time until = absl::Now() + limit;
  size_t end = read_.find('\n');
  while (end == std::string::npos) {
    pollfd readable = {output_, POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(until - absl::Now());
    if (left <= 0 || poll(&readable, 1, static_cast<int>(left)) <= 0) return "";
    char bytes[4096];
    const ssize_t count = read(output_, bytes, sizeof bytes);
    if (count <= 0) return "";
    read_.append(bytes, static_cast<size_t>(count));
    end = read_.find('\n');
  }
  const std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

void Child::CloseInput() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

int Child::AwaitEnd(absl::Duration limit) {
  if (pid_ <= 0) return -1;
  const absl::StatusOr<int> code = placement::WaitForChild(pid_, limit);
  if (!code.ok()) return -1;
  pid_ = -1;
  return *code;
}

}  // namespace berth::fairness
