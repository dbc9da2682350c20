#include "tests/fleet/process_figures.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace berth::fleet {
namespace {

// The number in /proc/PID/status that follows `name`; -1 if there is none.
int64_t Field(pid_t pid, const std::string& name) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  std::string word;
  int64_t value = -1;
  while (file >> word) {
    if (word == name && file >> value) return value;
  }
  return -1;
}

}  // namespace

double CpuSeconds(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  std::getline(file, text, ')');  // the name, which may contain blanks, ends here
  constexpr int kBefore = 11;     // fields between the name and the two times
  for (int i = 0; i < kBefore; ++i) file >> text;
  int64_t user = 0;
  int64_t kernel = 0;
  file >> user >> kernel;
  return static_cast<double>(user + kernel) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

int64_t ResidentKib(pid_t pid) { return Field(pid, "VmRSS:"); }

int64_t Threads(pid_t pid) { return Field(pid, "Threads:"); }

}  // namespace berth::fleet
