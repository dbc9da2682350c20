#include "tracker/audit/audit_keys.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tracker/facts/node_devices.h"
#include "tracker/facts/numa.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

std::vector<std::string> MissingKeys(const Facts& facts) {
  const std::pair<const char*, bool> kRequired[] = {
      {"vcpus", facts.vcpus.has_value()},
      {"memory_mb", facts.memory_mib.has_value()},
      {"local_gb", facts.local_disk_gib.has_value()},
      {"cpu_info", facts.cpu_info.has_value()},
      {"vcpus_used", facts.vcpus_used.has_value()},
      {"memory_mb_used", facts.memory_used_mib.has_value()},
      {"local_gb_used", facts.local_disk_used_gib.has_value()},
      {"numa_topology", facts.numa_topology.has_value()},
  };
  std::vector<std::string> missing;
  for (const auto& [name, present] : kRequired) {
    if (!present) missing.emplace_back(name);
  }
  return missing;
}

absl::Status Implausible(absl::string_view key, int64_t value) {
  return absl::InvalidArgumentError(absl::StrCat("Implausible value ", value, " for ", key));
}

}  // namespace

absl::Status VerifyFacts(const Facts& facts) {
  const std::vector<std::string> missing = MissingKeys(facts);
  if (!missing.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Missing keys: [", absl::StrJoin(missing, ", "), "]"));
  }
  if (*facts.vcpus < 0) return Implausible("vcpus", *facts.vcpus);
  if (*facts.memory_mib <= 0) return Implausible("memory_mb", *facts.memory_mib);
  if (*facts.local_disk_gib < 0) return Implausible("local_gb", *facts.local_disk_gib);
  if (*facts.vcpus + facts.pcpus <= 0) return Implausible("vcpus and pcpus", 0);
  return absl::OkStatus();
}

std::string FactsJson(const Facts& facts) {
  nlohmann::json kinds = nlohmann::json::array();
  for (const SupportedInstance& kind : facts.supported_instances) {
    kinds.push_back({kind.arch, kind.hypervisor_type, kind.vm_mode});
  }
  nlohmann::json keys = {{"supported_instances", kinds},
                         {"hypervisor_type", facts.hypervisor_type},
                         {"hypervisor_version", facts.hypervisor_version},
                         {"hypervisor_hostname", facts.hypervisor_hostname},
                         {"uuid", TextOrEmpty(facts.uuid)},
                         {"pci_passthrough_devices", PciDumpJson(facts.pci_devices)},
                         {"stats", {{"uptime", facts.uptime}}}};
  const auto put = [&keys](const char* name, const std::optional<int64_t>& value) {
    if (value) keys[name] = *value;
  };
  put("vcpus", facts.vcpus);
  put("memory_mb", facts.memory_mib);
  put("local_gb", facts.local_disk_gib);
  put("vcpus_used", facts.vcpus_used);
  put("local_gb_used", facts.local_disk_used_gib);
  put("disk_available_least", facts.disk_available_least_gib);
  if (facts.memory_used_mib) {
    keys["memory_mb_used"] = nullptr;
    put("memory_mb_used", *facts.memory_used_mib);
  }
  if (facts.cpu_info) keys["cpu_info"] = *facts.cpu_info;
  if (facts.numa_topology) {
    keys["numa_topology"] = nullptr;
    if (*facts.numa_topology) keys["numa_topology"] = NumaJson(*facts.numa_topology);
  }
  return keys.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace berth::tracker
