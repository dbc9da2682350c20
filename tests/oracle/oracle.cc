// oracle: replays recordings against placement and says how much of them came out the same.
//
// By default against a process of its own (--placement PATH); --address takes one that is running
// and empty, --in-process the rules and the search alone. Ends with `N passed, M failed`.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tests/oracle/grpc_subject.h"
#include "tests/oracle/replay.h"
#include "tests/oracle/report.h"
#include "tests/oracle/state_subject.h"
#include "tests/processes/private_cluster.h"
#include "tests/processes/service_process.h"

namespace berth::oracle {
namespace {

struct Options {
  std::string placement = "berth-placement";
  std::string address;
  bool in_process = false;
  bool quiet = false;
  std::vector<std::string> files;
};

// A placement with a private cluster below `directory`.
std::vector<std::string> CommandOf(const Options& options, const std::string& directory) {
  // What everything allocates to one request is never cut. The machine may stand still for seconds.
  return {std::filesystem::absolute(options.placement),
          "--state-dir=" + directory + "/state",
          "--cluster-settings=fsync=off",
          "--log-level=warning",
          "--message-mib-max=64",
          "--staleness-max=60s"};
}

int Run(const Options& options) {
  const placement::ScratchDirectory directory;
  std::optional<e2e::ServiceProcess> process;
  std::string address = options.address;
  if (address.empty() && !options.in_process) {
    process.emplace(directory.path(), "placement", CommandOf(options, directory.path()));
    if (absl::Status status = process->AwaitAddress(); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 2;
    }
    address = process->address();
  }
  Report total;
  for (const std::string& path : options.files) {
    std::unique_ptr<Subject> subject;
    if (options.in_process) {
      subject = std::make_unique<StateSubject>();
    } else {
      subject = std::make_unique<GrpcSubject>(address);
    }
    const Report report = ReplayFile(*subject, path);
    Print(path, report, options.quiet);
    total.Add(report);
  }
  std::printf("%d passed, %zu failed\n", total.passed, total.failures.size());
  return total.failures.empty() && total.passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace berth::oracle

int main(int argc, char** argv) {
  CLI::App app("Replays recordings of placement and compares the answers");
  berth::oracle::Options options;
  app.add_option("--placement", options.placement, "Program to start");
  app.add_option("--address", options.address, "Placement that runs already and holds nothing");
  app.add_flag("--in-process", options.in_process, "Rules and search without process and database");
  app.add_flag("--quiet", options.quiet, "Count exceptions without listing them");
  app.add_option("files", options.files, "Recordings, *.jsonl")->required();
  CLI11_PARSE(app, argc, argv);
  return berth::oracle::Run(options);
}
