#include "tests/oracle/nova/replay.h"

#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/oracle/nova/account_replay.h"
#include "tests/oracle/nova/claims_replay.h"
#include "tests/oracle/nova/constraints_replay.h"
#include "tests/oracle/nova/fit_replay.h"
#include "tests/oracle/nova/hosts_replay.h"
#include "tests/oracle/nova/pci_replay.h"

namespace berth::oracle::nova {
namespace {

// Replays `line`. A format has a line of its own here, with the keys that no other format has.
Report ReplayLine(const Json& line, const std::string& where) {
  if (line.contains("image_properties")) return ReplayConstraints(line, where);
  if (IsFit(line)) return ReplayFit(line, where);
  if (line.contains("setup") && line["setup"].contains("node_is_new")) {
    return ReplayAccount(line, where);
  }
  if (line.contains("start") && line.contains("steps")) return ReplayClaims(line, where);
  if (line.contains("after_update")) return ReplayHosts(line, where);
  if (IsPciLife(line)) return ReplayPciLife(line, where);
  Report report;
  report.failures.push_back(absl::StrCat(where, ": no known format"));
  return report;
}

}  // namespace

Report ReplayFile(const std::string& path) {
  Report report;
  std::ifstream file(path);
  std::string text;
  int lines = 0;
  while (std::getline(file, text)) {
    const std::string where = absl::StrCat(path, ":", ++lines);
    const Json line = Json::parse(text, nullptr, false);
    if (line.is_discarded()) {
      report.failures.push_back(absl::StrCat(where, ": not JSON"));
    } else {
      report.Add(ReplayLine(line, where));
    }
  }
  if (lines == 0) report.failures.push_back(absl::StrCat(path, ": nothing to read"));
  return report;
}

}  // namespace berth::oracle::nova
