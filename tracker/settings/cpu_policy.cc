#include "tracker/settings/cpu_policy.h"

#include "absl/strings/str_cat.h"

namespace berth::tracker {
namespace {

absl::Status CheckWithin(absl::string_view option, const CpuSet& configured, absl::string_view kind,
                         const CpuSet& host) {
  if (configured.IsSubsetOf(host)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(option, " ", configured.ToString(),
                                                 " names CPUs that are not ", kind, ": the host's ",
                                                 kind, " CPUs are ", host.ToString()));
}

}  // namespace

absl::StatusOr<GuestCpus> SelectGuestCpus(const NodeConfiguration& configuration,
                                          const CpuSet& online, const CpuSet& present) {
  GuestCpus cpus;
  cpus.legacy = !configuration.cpu_dedicated_set &&
                (!configuration.cpu_shared_set || configuration.vcpu_pin_set.has_value());
  absl::Status status;
  if (configuration.vcpu_pin_set) {
    status = CheckWithin("vcpu_pin_set", *configuration.vcpu_pin_set, "online", online);
    cpus.shared = *configuration.vcpu_pin_set;
  } else if (configuration.cpu_shared_set) {
    status = CheckWithin("cpu_shared_set", *configuration.cpu_shared_set, "online", online);
    cpus.shared = *configuration.cpu_shared_set;
  } else if (!configuration.cpu_dedicated_set) {
    cpus.shared = online;
  }
  if (!status.ok()) return status;
  if (configuration.cpu_dedicated_set) {
    const bool power = configuration.cpu_power_management;
    status = CheckWithin("cpu_dedicated_set", *configuration.cpu_dedicated_set,
                         power ? "present" : "online", power ? present : online);
    cpus.dedicated = *configuration.cpu_dedicated_set;
  }
  if (!status.ok()) return status;
  return cpus;
}

}  // namespace berth::tracker
