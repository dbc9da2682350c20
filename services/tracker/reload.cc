#include "services/tracker/reload.h"

#include "absl/strings/str_join.h"
#include "services/process/log.h"

namespace berth::services {
namespace {

absl::Status TakeOver(int argc, const char* const* argv, const TrackerOptions& running,
                      TrackerHost* host) {
  const absl::StatusOr<TrackerSettings> read = ReadTrackerSettings(argc, argv);
  if (!read.ok()) return read.status();
  const absl::StatusOr<std::vector<std::string>> of_nodes = host->Reconfigure(read->configuration);
  if (!of_nodes.ok()) return of_nodes.status();
  StartLog(LogFormatOf(read->options.log_format), LogLevelOf(read->options.log_level));
  for (const std::string& warning : read->warnings) Log(LogLevel::kWarning, warning);
  std::vector<std::string> waiting = WaitingForRestart(running, read->options);
  waiting.insert(waiting.end(), of_nodes->begin(), of_nodes->end());
  if (!waiting.empty()) {
    Log(LogLevel::kWarning, "changed settings need a restart: their old values stay",
        {{"settings", absl::StrJoin(waiting, ",")}});
  }
  Log(LogLevel::kInfo, "the settings were read again");
  return absl::OkStatus();
}

}  // namespace

absl::Status ReloadTracker(int argc, const char* const* argv, const TrackerOptions& running,
                           TrackerHost* host) {
  const absl::Status taken = TakeOver(argc, argv, running, host);
  if (!taken.ok()) {
    Log(LogLevel::kError, "the settings are refused: the old ones stay",
        {{"error", std::string(taken.message())}});
  }
  host->RequestRecords();
  host->RequestAll(tracker::PassCause::kReload);
  return taken;
}

}  // namespace berth::services
