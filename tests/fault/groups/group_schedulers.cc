#include "tests/fault/groups/group_schedulers.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "placement/ground/check.h"
#include "placement/store/child_process.h"
#include "tests/fault/groups/group_plan.h"
#include "tests/processes/identity.h"

namespace berth::fault {

GroupSchedulers::GroupSchedulers(const std::string& directory, int number, uint64_t seed)
    : report_path_(ReportPath(directory, number)), log_path_(report_path_ + "_log") {
  placement::ChildOptions options;
  options.arguments = {BERTH_GROUP_SCHEDULERS_PROGRAM, directory, absl::StrCat(number),
                       absl::StrCat(seed)};
  for (std::string& argument : e2e::CertificateArguments()) {
    options.arguments.push_back(std::move(argument));
  }
  options.account = {getuid(), getgid()};
  options.output_path = log_path_;
  options.death_signal = SIGKILL;
  const absl::StatusOr<pid_t> pid = placement::Spawn(options);
  BERTH_CHECK(pid.ok());
  pid_ = *pid;
}

GroupSchedulers::~GroupSchedulers() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  AwaitEnd(absl::Seconds(30));
}

bool GroupSchedulers::IsRunning() const { return pid_ > 0 && placement::IsRunning(pid_); }

int GroupSchedulers::AwaitEnd(absl::Duration limit) {
  const absl::StatusOr<int> code = placement::WaitForChild(pid_, limit);
  if (!code.ok()) return -1;
  pid_ = -1;
  return *code;
}

absl::Status GroupSchedulers::Read(GroupEvents* events) const {
  return ReadReport(report_path_, events);
}

std::string GroupSchedulers::Log() const {
  std::ifstream file(log_path_);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace berth::fault
