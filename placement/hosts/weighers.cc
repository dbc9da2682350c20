#include "placement/hosts/weighers.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"

namespace berth::placement {
namespace {

double FreeMemory(const HostState& host) { return static_cast<double>(host.free_memory_mib); }
double FreeDisk(const HostState& host) { return static_cast<double>(host.free_disk_mib); }
double FreeVcpus(const HostState& host) {
  return static_cast<double>(host.node.vcpus) * host.node.cpu_allocation_ratio -
         static_cast<double>(host.used_vcpus);
}
double Operations(const HostState& host) { return static_cast<double>(host.io_operation_count); }
double FailedBuilds(const HostState& host) { return static_cast<double>(host.failed_build_count); }

// Of several aggregates the smallest multiplier counts. If one of them is no number, the one of the
// settings counts.
double MultiplierOf(const HostWeigher& weigher, const HostMultipliers& multipliers,
                    const HostState& host) {
  const auto configured = multipliers.find(weigher.multiplier);
  const double otherwise = configured == multipliers.end() ? 1 : configured->second;
  std::optional<double> least;
  for (const HostAggregate& aggregate : host.aggregates) {
    const auto found = aggregate.metadata.find(std::string(weigher.multiplier));
    if (found == aggregate.metadata.end()) continue;
    double value = 0;
    if (!absl::SimpleAtod(found->second, &value)) return otherwise;
    least = std::min(least.value_or(value), value);
  }
  return least.value_or(otherwise);
}

std::vector<double> Normalised(std::vector<double> weights, bool from_zero) {
  for (double& weight : weights) {
    if (from_zero) weight = std::max(weight, 0.0);
  }
  const double most = *std::max_element(weights.begin(), weights.end());
  const double least = from_zero ? 0.0 : *std::min_element(weights.begin(), weights.end());
  for (double& weight : weights) weight = most == least ? 0 : (weight - least) / (most - least);
  return weights;
}

}  // namespace

const std::vector<HostWeigher>& HostWeighers() {
  static const auto* const weighers = new std::vector<HostWeigher>{
      {"RAMWeigher", "ram_weight_multiplier", false, true, FreeMemory},
      {"CPUWeigher", "cpu_weight_multiplier", false, true, FreeVcpus},
      {"DiskWeigher", "disk_weight_multiplier", false, true, FreeDisk},
      {"IoOpsWeigher", "io_ops_weight_multiplier", false, true, Operations},
      {"BuildFailureWeigher", "build_failure_weight_multiplier", true, false, FailedBuilds},
  };
  return *weighers;
}

std::vector<double> WeighBy(const HostWeigher& weigher, const HostMultipliers& multipliers,
                            const std::vector<const HostState*>& hosts) {
  std::vector<double> weights;
  weights.reserve(hosts.size());
  for (const HostState* const host : hosts) weights.push_back(weigher.weigh(*host));
  if (weights.size() <= 1) return std::vector<double>(weights.size(), 0.0);
  weights = Normalised(std::move(weights), weigher.from_zero);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] *= MultiplierOf(weigher, multipliers, *hosts[i]) * (weigher.against ? -1 : 1);
  }
  return weights;
}

std::vector<std::pair<const HostState*, double>> WeighHosts(
    const HostMultipliers& multipliers, const std::vector<const HostState*>& hosts) {
  std::vector<std::pair<const HostState*, double>> weighed;
  weighed.reserve(hosts.size());
  for (const HostState* const host : hosts) weighed.emplace_back(host, 0.0);
  for (const HostWeigher& weigher : HostWeighers()) {
    const std::vector<double> weights = WeighBy(weigher, multipliers, hosts);
    for (size_t i = 0; i < hosts.size(); ++i) weighed[i].second += weights[i];
  }
  std::stable_sort(weighed.begin(), weighed.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return weighed;
}

}  // namespace berth::placement
