#include "tests/fairness/cpu_group.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace berth::fairness {
namespace {

constexpr char kController[] = "/sys/fs/cgroup/cpu";

// The directory of the group in which this process is; empty if nothing says so.
std::string PresentGroup() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;  // for example "1:cpu,cpuacct:/user.slice"
  while (std::getline(file, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = absl::StrCat(",", line.substr(first + 1, second - first - 1), ",");
    if (absl::StrContains(names, ",cpu,")) return kController + line.substr(second + 1);
  }
  return "";
}

bool MoveTo(const std::string& directory) {
  std::ofstream file(directory + "/cgroup.procs");
  file << getpid() << std::flush;
  return file.good();
}

}  // namespace

CpuGroup::CpuGroup() : before_(PresentGroup()) {
  if (before_.empty()) return;
  const std::string directory = absl::StrCat(before_, "/berth-fairness-", getpid());
  if (mkdir(directory.c_str(), 0755) != 0) return;
  if (MoveTo(directory)) {
    directory_ = directory;
  } else {
    rmdir(directory.c_str());
  }
}

CpuGroup::~CpuGroup() {
  if (directory_.empty() || !MoveTo(before_)) return;
  rmdir(directory_.c_str());
}

}  // namespace berth::fairness
