// berth-placement: keeps which consumer has which allocations on which host.
#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_join.h"
#include "services/placement/options.h"
#include "services/placement/process.h"
#include "services/process/config.h"
#include "services/process/libraries.h"
#include "services/process/log.h"
#include "services/process/version.h"

namespace berth::services {
namespace {

constexpr char kSettingsFile[] = "/etc/berth/placement.toml";

// Blocks the signals that end the process, for WaitForStop. Threads that start later inherit this.
sigset_t BlockStopSignals() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return stop;
}

// Waits for the first such signal. The second signal ends the process at once.
void WaitForStop(const sigset_t& stop) {
  int received = 0;
  sigwait(&stop, &received);
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "berth-placement: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  SetUpLibraries();
  PlacementOptions options;
  Config config("berth-placement", "Keeps which consumer has which allocations on which host.",
                kSettingsFile);
  AddPlacementOptions(&options, &config);
  const absl::StatusOr<Config::Next> next = config.Parse(argc, argv);
  if (!next.ok()) return Fail(next.status());
  if (*next == Config::Next::kEnd) return 0;
  if (absl::Status status = CheckPlacementOptions(options); !status.ok()) return Fail(status);
  if (*next == Config::Next::kCheckOnly) {
    std::printf("The settings are good.\n");
    return 0;
  }
  StartLog(LogFormatOf(options.log_format), LogLevelOf(options.log_level));
  const sigset_t stop = BlockStopSignals();
  const auto process = PlacementProcess::Start(options);
  if (!process.ok()) return Fail(process.status());
  Log(LogLevel::kInfo, "serving",
      {{"address", absl::StrJoin((*process)->addresses(), ",")}, {"version", kVersion}});
  WaitForStop(stop);
  Log(LogLevel::kInfo, "stopping");
  const bool all_done = (*process)->Drain();
  Log(LogLevel::kInfo, all_done ? "stopped" : "stopped; some calls were cancelled");
  return 0;
}

}  // namespace
}  // namespace berth::services

int main(int argc, char** argv) { return berth::services::Main(argc, argv); }
