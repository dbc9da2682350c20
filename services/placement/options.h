// PlacementOptions: every setting of berth-placement, with its default.
#ifndef BERTH_SERVICES_PLACEMENT_OPTIONS_H_
#define BERTH_SERVICES_PLACEMENT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/process/service_options.h"

namespace berth::services {

struct PlacementOptions : ServiceOptions {
  PlacementOptions() {
    listen = {"127.0.0.1:7310"};
    metrics_listen = "127.0.0.1:7311";
  }

  std::string database;      // empty: a private cluster under state_dir
  std::string state_dir;     // empty: DefaultStateDirectory("berth-placement")
  std::string cluster_user;  // runs the private cluster if this process is root
  std::vector<std::string> cluster_settings;

  std::string access_file;  // empty: kDefaultAccessFile, if it exists

  std::string access_log = "failures";
  std::string ledger_roads = "auto";

  int workers = 0;  // 0: one less than the number of cores, but 2 at least
  int worker_queue_max = 1024;
  int command_queue_max = 4096;
  int64_t candidates_max = 100'000;
  int64_t search_steps_max = 5'000'000;
  absl::Duration staleness_max = absl::Seconds(1);
  absl::Duration request_keep = absl::Hours(24);
  absl::Duration service_down_time = absl::Seconds(60);
  absl::Duration stale_migration_age = absl::Hours(24);
  bool enable_new_services = true;
};

// Declares all settings. `options` must live until Config::Parse returns.
void AddPlacementOptions(PlacementOptions* options, Config* config);

// What the certificate of placement must be good for. `berth health` of a container presents it, too.
client::CertificateUse PlacementCertificateUse();

// Fails with kInvalidArgument or kFailedPrecondition for settings that cannot work. The error
// message is for the person who wrote the settings.
absl::Status CheckPlacementOptions(const PlacementOptions& options);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PLACEMENT_OPTIONS_H_
