// TrackerOptions: the settings of berth-tracker with their defaults, and how they are read.
//
// Plain values and functions without state.
#ifndef BERTH_SERVICES_TRACKER_OPTIONS_H_
#define BERTH_SERVICES_TRACKER_OPTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/process/service_options.h"
#include "tracker/settings/configuration.h"

namespace berth::services {

struct TrackerOptions : ServiceOptions {
  TrackerOptions() {
    listen = {"127.0.0.1:7312"};
    metrics_listen = "127.0.0.1:7313";
  }

  std::string placement = "127.0.0.1:7310";
  std::string host;
  std::string my_ip;
  std::string state_dir;  // empty: DefaultStateDirectory("berth-tracker")
  std::string provider_config_location = "/etc/berth/provider_config";
  std::vector<std::string> hypervisor;  // [NAME=]URI
  std::vector<ConfigTable> hypervisor_tables;
  // The settings of every hypervisor whose own table does not set them: name -> text as typed.
  std::map<std::string, std::string> node_defaults;

  int update_resources_interval = 0;
  int periodic_fuzzy_delay = 60;
  absl::Duration driver_timeout = absl::Seconds(60);
  absl::Duration startup_driver_timeout = absl::Seconds(300);
  absl::Duration orphan_confirmation = absl::Seconds(5);
};

// Adds all settings to `config`, which writes them to `options` when it parses.
void AddTrackerOptions(TrackerOptions* options, Config* config);

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

#endif  // BERTH_SERVICES_TRACKER_OPTIONS_H_
