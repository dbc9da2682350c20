#include "services/tracker/reload.h"

#include "absl/strings/str_join.h"
#include "services/log/log.h"
#include "tracker/ground/status_macros.h"

namespace berth::services {
namespace {

absl::Status TakeOver(int argc, const char* const* argv, const TrackerOptions& running,
                      TrackerHost* host) {
  BERTH_ASSIGN_OR_RETURN(const TrackerSettings read, ReadTrackerSettings(argc, argv));
  BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> of_nodes,
                         host->Reconfigure(read.configuration));
  StartLog(LogFormatOf(read.options.log_format), LogLevelOf(read.options.log_level));
  for (const std::string& warning : read.warnings) Log(LogLevel::kWarning, warning);
  for (const std::string& note : read.notes) Log(LogLevel::kInfo, note);
  std::vector<std::string> waiting = WaitingForRestart(running, read.options);
  waiting.insert(waiting.end(), of_nodes.begin(), of_nodes.end());
  if (!waiting.empty()) {
    Log(LogLevel::kWarning,
        "these changed settings need a restart; until then their old values stay in use",
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
    Log(LogLevel::kError, "the new settings have an error, so the old settings stay in use",
        {{"error", std::string(taken.message())}});
  }
  host->RequestRecords();
  host->RequestAll(tracker::PassCause::kReload);
  return taken;
}

}  // namespace berth::services
