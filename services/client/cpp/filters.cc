#include "services/client/cpp/filters.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/client/cpp/requirement.h"

namespace berth::client {
namespace {

bool RunsOneOf(const HostView& host, const std::set<std::string>& instances) {
  return std::any_of(instances.begin(), instances.end(),
                     [&](const std::string& uuid) { return host.instances.count(uuid) > 0; });
}

// T-340
bool IsEnabledAndUp(const HostView& host, const HostRequest& /*request*/,
                    const HostLimits& /*limits*/) {
  return host.service != nullptr && !host.service->disabled() &&
         host.service->state() == pb::SERVICE_STATE_UP;
}

bool HasFewOperations(const HostView& host, const HostRequest& /*request*/,
                      const HostLimits& limits) {
  return host.io_operation_count < limits.max_io_ops_per_host;
}

bool HasFewInstances(const HostView& host, const HostRequest& /*request*/,
                     const HostLimits& limits) {
  return host.instance_count < limits.max_instances_per_host;
}

bool IsDifferent(const HostView& host, const HostRequest& request, const HostLimits& /*limits*/) {
  return !RunsOneOf(host, request.different_host);
}

bool IsSame(const HostView& host, const HostRequest& request, const HostLimits& /*limits*/) {
  return request.same_host.empty() || RunsOneOf(host, request.same_host);
}

// The host of the instance itself is never excluded: the instance may be resized there.
bool KeepsGroupApart(const HostView& host, const HostRequest& request,
                     const HostLimits& /*limits*/) {
  if (!request.group || request.group->policy != "anti-affinity") return true;
  if (host.instances.count(request.instance_uuid) > 0) return true;
  const std::set<std::string>& members = request.group->members;
  const auto there = std::count_if(members.begin(), members.end(), [&](const std::string& uuid) {
    return host.instances.count(uuid) > 0;
  });
  return there < request.group->max_server_per_host.value_or(1);
}

bool KeepsGroupTogether(const HostView& host, const HostRequest& request,
                        const HostLimits& /*limits*/) {
  if (!request.group || request.group->policy != "affinity") return true;
  return request.group->hosts.empty() || request.group->hosts.count(host.node->host()) > 0;
}

// The values of the key in all aggregates of the host. A value may list several, with commas.
std::set<std::string> AggregateValues(const HostView& host, const std::string& key) {
  std::set<std::string> values;
  for (const auto& aggregate : host.aggregates) {
    const auto found = aggregate->metadata().find(key);
    if (found == aggregate->metadata().end()) continue;
    for (const absl::string_view value : absl::StrSplit(found->second, ',')) {
      values.emplace(absl::StripAsciiWhitespace(value));
    }
  }
  return values;
}

bool SuitsAggregates(const HostView& host, const HostRequest& request,
                     const HostLimits& /*limits*/) {
  static constexpr absl::string_view kScope = "aggregate_instance_extra_specs";
  for (const auto& [key, requirement] : request.extra_specs) {
    const std::pair<std::string, std::string> scoped = absl::StrSplit(key, absl::MaxSplits(':', 1));
    const bool has_scope = key.find(':') != std::string::npos;
    if (has_scope && scoped.first != kScope) continue;
    const std::set<std::string> values = AggregateValues(host, has_scope ? scoped.second : key);
    const bool met = std::any_of(
        values.begin(), values.end(),
        [&wanted = requirement](const std::string& value) { return Meets(value, wanted); });
    if (!met) return false;
  }
  return true;
}

// The value under the path of an extra spec: an attribute of the view, one of its counters, or a
// value inside the description of the CPUs.
std::optional<std::string> CapabilityOf(const HostView& host,
                                        const std::vector<std::string>& path) {
  if (path.size() == 1) {
    std::optional<std::string> attribute = AttributeOf(host, path[0]);
    if (attribute) return attribute;
    const auto counter = host.stats.find(path[0]);
    if (counter == host.stats.end()) return std::nullopt;
    return counter->second;
  }
  if (path[0] != "cpu_info" || host.cpu_info == nullptr) return std::nullopt;
  const auto& values = host.cpu_info->values();
  const auto value = values.find(absl::StrJoin(path.begin() + 1, path.end(), ":"));
  if (value == values.end()) return std::nullopt;
  return value->second;
}

// A key without a scope is asked for only if the view has such a value.
bool HasCapabilities(const HostView& host, const HostRequest& request,
                     const HostLimits& /*limits*/) {
  for (const auto& [key, requirement] : request.extra_specs) {
    std::vector<std::string> path = absl::StrSplit(key, ':');
    const bool has_scope = path.size() > 1;
    if (has_scope && path[0] != "capabilities") continue;
    if (has_scope) path.erase(path.begin());
    const std::optional<std::string> value = CapabilityOf(host, path);
    if (!value && !has_scope) continue;
    if (!value || !Meets(*value, requirement)) return false;
  }
  return true;
}

}  // namespace

const std::vector<HostFilter>& HostFilters() {
  static const auto* const filters = new std::vector<HostFilter>{
      {"ComputeFilter", IsEnabledAndUp},
      {"ComputeCapabilitiesFilter", HasCapabilities},
      {"AggregateInstanceExtraSpecsFilter", SuitsAggregates},
      {"IoOpsFilter", HasFewOperations},
      {"NumInstancesFilter", HasFewInstances},
      {"SameHostFilter", IsSame},
      {"DifferentHostFilter", IsDifferent},
      {"ServerGroupAntiAffinityFilter", KeepsGroupApart},
      {"ServerGroupAffinityFilter", KeepsGroupTogether},
  };
  return *filters;
}

}  // namespace berth::client
