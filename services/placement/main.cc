// berth-placement: keeps the ledger of which consumer has which allocations on which host.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_join.h"
#include "placement/ground/boot_clock.h"
#include "services/log/log.h"
#include "services/placement/options.h"
#include "services/placement/process.h"
#include "services/process/config.h"
#include "services/process/libraries.h"
#include "services/process/version.h"

namespace berth::services {
namespace {

constexpr char kSettingsFile[] = "/etc/berth/placement.toml";

// Returns the signals that Serve waits for, and blocks them. Every thread that starts later
// inherits this.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Keeps the private PostgreSQL running until SIGTERM or SIGINT comes. SIGHUP makes the process look
// at its certificates at once, and read the access file again. Fails if PostgreSQL ended too often.
// After Serve a second signal ends the process at once.
absl::Status Serve(PlacementProcess& process, const sigset_t& signals) {
  absl::Status status;
  int received = SIGCHLD;
  while (received != SIGTERM && received != SIGINT) {
    const absl::StatusOr<absl::Duration> wait = process.TendDatabase(placement::BootNow());
    status = wait.status();
    if (!status.ok()) break;
    // The signals are blocked, so a signal that comes between TendDatabase and sigtimedwait is not
    // lost: it stays pending.
    const timespec timeout = absl::ToTimespec(std::min(*wait, absl::Hours(1)));
    received = sigtimedwait(&signals, nullptr, &timeout);
    if (received == SIGHUP) {
      process.LookAtCertificates();
      process.ReadAccessFile();
    }
  }
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return status;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "berth-placement: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  SetUpLibraries();
  PlacementOptions options;
  Config config("berth-placement",
                "Records what hosts have, and which consumer holds how much of it.", kSettingsFile);
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
  const sigset_t signals = BlockSignals();
  const auto process = PlacementProcess::Start(options);
  if (!process.ok()) return Fail(process.status());
  Log(LogLevel::kInfo, "serving",
      {{"address", absl::StrJoin((*process)->addresses(), ",")}, {"version", kVersion}});
  const absl::Status served = Serve(**process, signals);
  if (!served.ok()) Log(LogLevel::kError, std::string(served.message()));
  Log(LogLevel::kInfo, "stopping");
  const bool all_done = (*process)->Drain();
  Log(LogLevel::kInfo, all_done ? "stopped" : "stopped; some calls were cancelled");
  // The service manager starts the process again only if the exit code reports a failure.
  return served.ok() ? 0 : 1;
}

}  // namespace
}  // namespace berth::services

int main(int argc, char** argv) { return berth::services::Main(argc, argv); }
