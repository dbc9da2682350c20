#include "tests/oracle/replay.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/oracle/candidates_replay.h"
#include "tests/oracle/operations_replay.h"

namespace berth::oracle {

Report ReplayFile(Subject& subject, const std::string& path) {
  Report report;
  std::ifstream file(path);
  std::string text;
  int lines = 0;
  while (std::getline(file, text)) {
    ++lines;
    const Json line = Json::parse(text, nullptr, false);
    if (line.is_discarded()) {
      report.failures.push_back(absl::StrCat(path, ":", lines, ": not JSON"));
    } else if (line.contains("queries")) {
      report.Add(ReplayCandidates(subject, line));
    } else if (line.contains("steps")) {
      report.Add(ReplayOperations(subject, line));
    } else {
      report.failures.push_back(absl::StrCat(path, ":", lines, ": neither queries nor steps"));
    }
  }
  if (lines == 0) report.failures.push_back(absl::StrCat(path, ": nothing to read"));
  return report;
}

}  // namespace berth::oracle
