#include "services/client/cpp/weighers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"

namespace berth::client {
namespace {

// Larger factors would leave no room in a double.
constexpr double kFactorMax = 1e12;

double FreeMemory(const HostView& host, const HostRequest& /*request*/) {
  return static_cast<double>(host.free_memory_mib);
}
double FreeDisk(const HostView& host, const HostRequest& /*request*/) {
  return static_cast<double>(host.free_disk_mib);
}
double FreeVcpus(const HostView& host, const HostRequest& /*request*/) {
  const pb::NodeFacts& facts = host.node->facts();
  const double told = facts.cpu_allocation_ratio();
  // Placement passes on what the tracker says. 0 means that it is not known.
  const double ratio = std::isfinite(told) && told > 0 ? std::min(told, kFactorMax) : 1;
  return static_cast<double>(facts.vcpus()) * ratio - static_cast<double>(host.used_vcpus);
}
double Operations(const HostView& host, const HostRequest& /*request*/) {
  return static_cast<double>(host.io_operation_count);
}
double FailedBuilds(const HostView& host, const HostRequest& /*request*/) {
  return static_cast<double>(host.failed_build_count);
}

// The members of the request's group on the host, if the group has this policy.
double MembersOn(const HostView& host, const HostRequest& request, absl::string_view policy) {
  if (!request.group || request.group->policy != policy) return 0;
  const std::set<std::string>& members = request.group->members;
  return static_cast<double>(
      std::count_if(members.begin(), members.end(),
                    [&host](const std::string& uuid) { return host.instances.contains(uuid); }));
}
double TogetherSoftly(const HostView& host, const HostRequest& request) {
  return MembersOn(host, request, "soft-affinity");
}
double ApartSoftly(const HostView& host, const HostRequest& request) {
  return MembersOn(host, request, "soft-anti-affinity");
}

// What the settings say for all hosts.
double MultiplierOf(const HostWeigher& weigher, const HostMultipliers& multipliers) {
  const auto configured = multipliers.find(weigher.multiplier);
  return configured == multipliers.end() ? 1
                                         : std::clamp(configured->second, -kFactorMax, kFactorMax);
}

// What the aggregates of the host say, or else `otherwise`. Of several aggregates the smallest
// multiplier counts. If one of them is no number, none counts.
double MultiplierOn(const HostView& host, const HostWeigher& weigher, double otherwise) {
  std::optional<double> least;
  for (const auto& aggregate : host.aggregates) {
    const auto found = aggregate->metadata().find(std::string(weigher.multiplier));
    if (found == aggregate->metadata().end()) continue;
    double value = 0;
    if (!absl::SimpleAtod(found->second, &value) || !std::isfinite(value)) return otherwise;
    value = std::clamp(value, -kFactorMax, kFactorMax);
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
      {"ServerGroupSoftAffinityWeigher", "soft_affinity_weight_multiplier", false, false,
       TogetherSoftly},
      {"ServerGroupSoftAntiAffinityWeigher", "soft_anti_affinity_weight_multiplier", true, false,
       ApartSoftly},
  };
  return *weighers;
}

const HostMultipliers& NovaMultipliers() {
  static const auto* const multipliers =
      new HostMultipliers{{"io_ops_weight_multiplier", -1},  // operations speak against a host
                          {"build_failure_weight_multiplier", 1'000'000}};
  return *multipliers;
}

std::vector<double> WeighBy(const HostWeigher& weigher, const HostMultipliers& multipliers,
                            const HostRequest& request, const std::vector<const HostView*>& hosts) {
  std::vector<double> weights;
  weights.reserve(hosts.size());
  for (const HostView* const host : hosts) weights.push_back(weigher.weigh(*host, request));
  if (weights.size() <= 1) return std::vector<double>(weights.size(), 0.0);
  weights = Normalised(std::move(weights), weigher.from_zero);
  const double configured = MultiplierOf(weigher, multipliers);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] *= MultiplierOn(*hosts[i], weigher, configured) * (weigher.against ? -1 : 1);
  }
  return weights;
}

std::vector<std::pair<const HostView*, double>> WeighHosts(
    const HostMultipliers& multipliers, const HostRequest& request,
    const std::vector<const HostView*>& hosts) {
  std::vector<std::pair<const HostView*, double>> weighed;
  weighed.reserve(hosts.size());
  for (const HostView* const host : hosts) weighed.emplace_back(host, 0.0);
  for (const HostWeigher& weigher : HostWeighers()) {
    const std::vector<double> weights = WeighBy(weigher, multipliers, request, hosts);
    for (size_t i = 0; i < hosts.size(); ++i) weighed[i].second += weights[i];
  }
  // Only a multiplier that is no number makes such a sum. Without a change the order would be none.
  for (auto& [host, weight] : weighed) {
    if (!std::isfinite(weight)) weight = std::numeric_limits<double>::lowest();
  }
  std::stable_sort(weighed.begin(), weighed.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return weighed;
}

}  // namespace berth::client
