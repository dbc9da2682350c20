// TrackerOptions: the options of berth-tracker with their defaults, and how they are read.
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
  std::string zone;
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

// What the certificate of the tracker of `host` must be good for.
client::CertificateUse TrackerCertificateUse(const std::string& host);

// Adds all settings to `config`, which writes them to `options` when it parses.
void AddTrackerOptions(TrackerOptions* options, Config* config);

// Adds the hypervisors that the command line names. If it names none, adds those of the
// [[hypervisor]] tables, each with the settings of its table. kInvalidArgument if a setting of a
// hypervisor cannot be read.
absl::Status AddNodes(const TrackerOptions& options, tracker::Configuration* configuration);

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_OPTIONS_H_
