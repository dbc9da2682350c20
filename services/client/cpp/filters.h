// Filters: which hosts a request may go to. Each filter judges one host by its view alone.
//
// Pure functions.
#ifndef BERTH_SERVICES_CLIENT_CPP_FILTERS_H_
#define BERTH_SERVICES_CLIENT_CPP_FILTERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/client/cpp/host_view.h"

namespace berth::client {

// The group of instances to which the instance of a request belongs.
struct HostGroup {
  std::string policy;
  std::set<std::string> members;  // uuids of instances
  std::set<std::string> hosts;    // names of the hosts on which members are
  std::optional<int64_t> max_server_per_host;
};

// What filters know of a request.
struct HostRequest {
  std::string instance_uuid;
  std::map<std::string, std::string> extra_specs;  // of the flavor
  std::set<std::string> different_host;            // instances on whose hosts it must not be
  std::set<std::string> same_host;                 // instances on one of whose hosts it must be
  std::optional<HostGroup> group;
};

struct HostLimits {
  int64_t max_io_ops_per_host = 8;
  int64_t max_instances_per_host = 50;
};

struct HostFilter {
  absl::string_view name;
  bool (*passes)(const HostView& host, const HostRequest& request, const HostLimits& limits);
};

// All filters, in the order in which they are asked.
const std::vector<HostFilter>& HostFilters();

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_FILTERS_H_
