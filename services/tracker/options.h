// TrackerOptions: every setting of berth-tracker, with its default, and what they make together.
#ifndef BERTH_SERVICES_TRACKER_OPTIONS_H_
#define BERTH_SERVICES_TRACKER_OPTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/process/config.h"
#include "services/process/server.h"
#include "tracker/settings/configuration.h"

namespace berth::services {

struct TrackerOptions {
  std::string placement = "127.0.0.1:7310";
  std::vector<std::string> listen = {"127.0.0.1:7312"};
  bool insecure_listen = false;
  std::string address_file;
  std::string metrics_listen = "127.0.0.1:7313";  // empty: none

  std::string host;
  std::string my_ip;
  std::string state_dir;                // empty: DefaultTrackerStateDirectory()
  std::vector<std::string> hypervisor;  // [NAME=]URI
  std::vector<ConfigTable> hypervisor_tables;
  // What holds for every hypervisor unless its table says otherwise: setting -> text as typed.
  std::map<std::string, std::string> node_defaults;

  int update_resources_interval = 0;
  int periodic_fuzzy_delay = 60;
  absl::Duration driver_timeout = absl::Seconds(60);
  absl::Duration startup_driver_timeout = absl::Seconds(300);
  absl::Duration orphan_confirmation = absl::Seconds(5);

  std::string log_format = "json";
  std::string log_level = "info";
  absl::Duration drain_max = absl::Seconds(25);
};

// Declares them all; `options` must live until the Config has parsed.
void AddTrackerOptions(TrackerOptions* options, Config* config);

// All that a start or a reload reads.
struct TrackerSettings {
  Config::Next next = Config::Next::kStart;
  TrackerOptions options;
  tracker::Configuration configuration;  // host and address are filled in
  std::vector<std::string> warnings;
};

// Reads the command line, the environment and the file and checks what they make together.
// kInvalidArgument, in words for the one who typed it, for what cannot be read or cannot work.
absl::StatusOr<TrackerSettings> ReadTrackerSettings(int argc, const char* const* argv);

// The settings of the process, as they are typed, that differ and need a restart.
std::vector<std::string> WaitingForRestart(const TrackerOptions& running,
                                           const TrackerOptions& read);

// What the tracker runs with. kInvalidArgument, in words for the one who typed it, for what cannot
// work; `warnings` gets what can and should be told.
absl::StatusOr<tracker::Configuration> MakeConfiguration(const TrackerOptions& options,
                                                         std::vector<std::string>* warnings);

ServerOptions ServerOptionsOf(const TrackerOptions& options);

// /var/lib/berth-tracker for root, else under the user's state home.
std::string DefaultTrackerStateDirectory();

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_OPTIONS_H_
