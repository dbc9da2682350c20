#include "services/tracker/settings.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/devices/device_spec.h"
#include "tracker/ground/status_macros.h"
#include "tracker/settings/host_address.h"
#include "tracker/settings/provider_files.h"

namespace berth::services {
namespace {

// FailedPrecondition if the specifications of devices contradict the setting whether placement
// counts devices (T-236, T-259).
absl::Status CheckDevices(const tracker::NodeConfiguration& node) {
  const bool report = node.pci_report_in_placement;
  BERTH_ASSIGN_OR_RETURN(
      const tracker::DeviceSpecs specs,
      tracker::DeviceSpecs::Parse(node.pci_device_specs,
                                  {.report_in_placement = report, .live_migration = true}));
  for (const tracker::DeviceSpec& spec : specs.specs()) {
    if (!report || !spec.interface_name) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("pci-device-spec: ", spec.where,
                     ".devname: use address instead, because pci-report-in-placement is true"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<tracker::Configuration> MakeConfiguration(const TrackerOptions& options,
                                                         std::vector<std::string>* warnings) {
  tracker::Configuration configuration;
  configuration.host = options.host;
  configuration.my_address = options.my_ip;
  configuration.state_path =
      options.state_dir.empty() ? DefaultStateDirectory("berth-tracker") : options.state_dir;
  configuration.update_resources_interval_seconds = options.update_resources_interval;
  configuration.periodic_fuzzy_delay_seconds = options.periodic_fuzzy_delay;
  configuration.driver_timeout = options.driver_timeout;
  configuration.startup_driver_timeout = options.startup_driver_timeout;
  configuration.orphan_confirmation = options.orphan_confirmation;
  BERTH_RETURN_IF_ERROR(AddNodes(options, &configuration));
  if (options.placement.empty())
    return absl::InvalidArgumentError("placement: the address is missing");
  if (options.driver_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("driver-timeout: must be above zero");
  }
  tracker::ConfigurationWarnings told;
  BERTH_RETURN_IF_ERROR(Validate(configuration, &told));
  for (const tracker::NodeConfiguration& node : configuration.nodes) {
    BERTH_RETURN_IF_ERROR(CheckDevices(node));
  }
  if (warnings != nullptr) *warnings = std::move(told.texts);
  return configuration;
}

absl::StatusOr<TrackerSettings> ReadTrackerSettings(int argc, const char* const* argv) {
  TrackerSettings settings;
  Config config("berth-tracker", "Audits this host's hypervisors and reports to placement.",
                "/etc/berth/tracker.toml");
  AddTrackerOptions(&settings.options, &config);
  BERTH_ASSIGN_OR_RETURN(settings.next, config.Parse(argc, argv));
  if (settings.next == Config::Next::kEnd) return settings;
  BERTH_ASSIGN_OR_RETURN(tracker::Configuration configuration,
                         MakeConfiguration(settings.options, &settings.warnings));
  absl::Status listeners = CheckListeners(settings.options);
  if (listeners.ok()) listeners = CheckMetricsListener(settings.options);
  if (!listeners.ok()) return absl::InvalidArgumentError(listeners.message());
  BERTH_ASSIGN_OR_RETURN(tracker::ProviderFiles files,
                         tracker::ReadProviderFiles(settings.options.provider_config_location));
  for (tracker::NodeConfiguration& node : configuration.nodes)
    node.provider_entries = files.entries;
  for (std::string& warning : files.warnings) settings.warnings.push_back(std::move(warning));
  settings.notes = std::move(files.notes);
  settings.configuration = std::move(configuration);
  if (!config.file().empty()) {
    settings.configuration.configuration_directories = {
        std::filesystem::absolute(config.file()).parent_path().string()};
  }
  if (settings.configuration.host.empty()) settings.configuration.host = tracker::SystemHostName();
  if (settings.configuration.my_address.empty()) {
    settings.configuration.my_address = tracker::DefaultHostAddress();
  }
  return settings;
}

std::vector<std::string> WaitingForRestart(const TrackerOptions& running,
                                           const TrackerOptions& read) {
  std::vector<std::string> names;
  const auto look = [&](const char* name, auto field) {
    if (running.*field != read.*field) names.emplace_back(name);
  };
  const auto look_at_file = [&](const char* name, auto field) {
    if (running.tls.files.*field != read.tls.files.*field) names.emplace_back(name);
  };
  look_at_file("tls-certificate", &client::CertificateTexts::certificate);
  look_at_file("tls-key", &client::CertificateTexts::key);
  look_at_file("tls-ca", &client::CertificateTexts::ca);
  if (running.tls.trust_domain != read.tls.trust_domain) names.emplace_back("trust-domain");
  look("placement", &TrackerOptions::placement);
  look("listen", &TrackerOptions::listen);
  look("insecure-listen", &TrackerOptions::insecure_listen);
  look("address-file", &TrackerOptions::address_file);
  look("metrics-listen", &TrackerOptions::metrics_listen);
  look("insecure-metrics-listen", &TrackerOptions::insecure_metrics_listen);
  look("host", &TrackerOptions::host);
  look("zone", &TrackerOptions::zone);
  look("my-ip", &TrackerOptions::my_ip);
  look("state-dir", &TrackerOptions::state_dir);
  look("update-resources-interval", &TrackerOptions::update_resources_interval);
  look("periodic-fuzzy-delay", &TrackerOptions::periodic_fuzzy_delay);
  look("driver-timeout", &TrackerOptions::driver_timeout);
  look("startup-driver-timeout", &TrackerOptions::startup_driver_timeout);
  look("orphan-confirmation", &TrackerOptions::orphan_confirmation);
  look("drain-max", &TrackerOptions::drain_max);
  return names;
}

}  // namespace berth::services
