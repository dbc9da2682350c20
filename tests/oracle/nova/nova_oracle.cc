// nova-oracle: replays recordings of OpenStack Nova against the tracker's code and says how much of
// them came out the same. Ends with `N passed, M failed`.
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tests/oracle/nova/replay.h"

int main(int argc, char** argv) {
  CLI::App app("Replays recordings of Nova's resource tracker and compares the answers");
  bool quiet = false;
  std::vector<std::string> files;
  app.add_flag("--quiet", quiet, "Count exceptions without listing them");
  app.add_option("files", files, "Recordings, *.jsonl")->required();
  CLI11_PARSE(app, argc, argv);
  berth::oracle::Report total;
  for (const std::string& path : files) {
    const berth::oracle::Report report = berth::oracle::nova::ReplayFile(path);
    Print(path, report, quiet);
    total.Add(report);
  }
  std::printf("%d passed, %zu failed\n", total.passed, total.failures.size());
  return total.failures.empty() && total.passed > 0 ? 0 : 1;
}
