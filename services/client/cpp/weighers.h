// Weighers: which of the hosts that pass is the best one for a request.
//
// Pure functions.
#ifndef BERTH_SERVICES_CLIENT_CPP_WEIGHERS_H_
#define BERTH_SERVICES_CLIENT_CPP_WEIGHERS_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/client/cpp/filters.h"
#include "services/client/cpp/host_view.h"

namespace berth::client {

struct HostWeigher {
  absl::string_view name;
  absl::string_view multiplier;  // the key under which an aggregate may set another multiplier
  // Many of what is weighed speak against the host, so its weight counts with the opposite sign.
  bool against = false;
  bool from_zero = false;  // weights below 0 count as 0, and 0 is the least weight
  double (*weigh)(const HostView& host, const HostRequest& request);
};

// All weighers. Those of the soft policies of server groups count the members of the request's group on
// each host; they give all hosts the same weight if the group has another policy.
const std::vector<HostWeigher>& HostWeighers();

// The multipliers of the settings, by the keys of the weighers. A weigher without one has 1. Those
// beyond 10^12 or -10^12 count as these, like those of aggregates.
using HostMultipliers = std::map<std::string, double, std::less<>>;

// Those of a Nova whose settings have none.
const HostMultipliers& NovaMultipliers();

// The weight of each host by this weigher alone. The weights are normalised to 0 to 1, or are all 0
// if they are equal, and multiplied with the multiplier of the host's aggregates or else of the
// settings. A single host has the weight 0.
std::vector<double> WeighBy(const HostWeigher& weigher, const HostMultipliers& multipliers,
                            const HostRequest& request, const std::vector<const HostView*>& hosts);

// The hosts with the sums of their weights, best first. Hosts of equal weight stay in their order.
// A sum that is no number, because a multiplier is none, is the lowest weight.
std::vector<std::pair<const HostView*, double>> WeighHosts(
    const HostMultipliers& multipliers, const HostRequest& request,
    const std::vector<const HostView*>& hosts);

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_WEIGHERS_H_
