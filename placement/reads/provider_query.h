// Lists of providers, and the usages of projects, in one State. Pure.
#ifndef BERTH_PLACEMENT_READS_PROVIDER_QUERY_H_
#define BERTH_PLACEMENT_READS_PROVIDER_QUERY_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "placement/state/state.h"

namespace berth::placement {

// A provider passes if it meets every condition that is given (P-66..P-80).
struct ProviderFilter {
  std::optional<std::string> name;
  std::optional<ProviderId> id;
  std::optional<ProviderId> in_tree;
  std::vector<std::vector<AggregateId>> member_of;
  std::vector<AggregateId> forbidden_aggregates;
  std::vector<std::vector<std::string>> required;
  std::vector<std::string> forbidden;
  std::vector<NamedAmount> resources;
  bool roots_only = false;
};

// One page of the providers that pass the filter: those with ids greater than `after`, in order of
// id, at most `limit`. `more` of the page says whether other providers follow (P-79). Fails, in
// this order,
// - with INVALID_ARGUMENT, if the filter has too many names and uuids;
// - with INVALID_ARGUMENT, if a name or a set is empty or an amount is out of range;
// - with NOT_FOUND / TRAIT_NOT_FOUND, which names all unknown traits;
// - with NOT_FOUND / RESOURCE_CLASS_NOT_FOUND, which names all unknown classes.
// REQUIRES: limit > 0.
struct ProviderPage {
  std::vector<ProviderPlace> providers;
  bool more = false;
};
absl::StatusOr<ProviderPage> ListProviders(const State& state, const ProviderFilter& filter,
                                           std::optional<ProviderId> after, int limit);

// The allocations of a project, summed by consumer type or in one group (P-157..P-165).
// INVALID_ARGUMENT if the project or the user is empty or longer than 255 characters, or if the
// consumer type is no valid name. An unknown project or user holds nothing.
struct UsageGroup {
  int64_t consumer_count = 0;
  std::map<std::string, Amount> used;  // by class name; no zeros
};
absl::StatusOr<std::map<std::string, UsageGroup>> GetUsages(
    const State& state, const std::string& project, const std::optional<std::string>& user,
    const std::optional<std::string>& consumer_type);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_READS_PROVIDER_QUERY_H_
