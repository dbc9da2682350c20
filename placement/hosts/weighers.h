// Weighers: which of the hosts that pass is the best one for a request.
//
// Pure functions.
#ifndef BERTH_PLACEMENT_HOSTS_WEIGHERS_H_
#define BERTH_PLACEMENT_HOSTS_WEIGHERS_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "placement/hosts/host_state.h"

namespace berth::placement {

struct HostWeigher {
  absl::string_view name;
  absl::string_view multiplier;  // the key under which an aggregate may set another multiplier
  // Many of what is weighed speak against the host, so its weight counts with the opposite sign.
  bool against = false;
  bool from_zero = false;  // weights below 0 count as 0, and 0 is the least weight
  double (*weigh)(const HostState& host);
};

// All weighers.
const std::vector<HostWeigher>& HostWeighers();

// The multipliers of the settings, by the keys of the weighers. A weigher without one has 1.
using HostMultipliers = std::map<std::string, double, std::less<>>;

// The weight of each host by this weigher alone. The weights are normalised to 0 to 1, or are all 0
// if they are equal, and multiplied with the multiplier of the host's aggregates or else of the
// settings. A single host has the weight 0.
std::vector<double> WeighBy(const HostWeigher& weigher, const HostMultipliers& multipliers,
                            const std::vector<const HostState*>& hosts);

// The hosts with the sums of their weights, best first. Hosts of equal weight stay in their order.
std::vector<std::pair<const HostState*, double>> WeighHosts(
    const HostMultipliers& multipliers, const std::vector<const HostState*>& hosts);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_HOSTS_WEIGHERS_H_
