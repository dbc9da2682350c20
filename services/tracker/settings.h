// TrackerSettings: everything that berth-tracker reads when it starts, and again when it reloads:
// options, and the files that they name.
//
// Plain values and functions without state.
#ifndef BERTH_SERVICES_TRACKER_SETTINGS_H_
#define BERTH_SERVICES_TRACKER_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/process/config.h"
#include "services/tracker/options.h"
#include "tracker/settings/configuration.h"

namespace berth::services {

// All settings that a start or a reload reads.
struct TrackerSettings {
  Config::Next next = Config::Next::kStart;
  TrackerOptions options;
  tracker::Configuration configuration;  // its host and my_address are not empty
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // to be logged as information
};

// Reads the command line, the environment and the settings file, and checks the settings.
// kInvalidArgument if a setting cannot be read or cannot work; the error message is for the person
// who typed the setting.
absl::StatusOr<TrackerSettings> ReadTrackerSettings(int argc, const char* const* argv);

// Returns the names of the settings of the process that differ between `running` and `read` and
// need a restart.
std::vector<std::string> WaitingForRestart(const TrackerOptions& running,
                                           const TrackerOptions& read);

// Makes the tracker's configuration from the settings. kInvalidArgument if the settings cannot
// work; the error message is for the person who typed them. Adds warnings to `warnings`, which may
// be null.
absl::StatusOr<tracker::Configuration> MakeConfiguration(const TrackerOptions& options,
                                                         std::vector<std::string>* warnings);

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_SETTINGS_H_
