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

// The providers that pass, by rising id, after `after`, at most `limit`; `more`: there are others
// after them (P-79). Fails, in this order, with INVALID_ARGUMENT for a filter that names too much,
// then for an empty name or set or an amount out of range; NOT_FOUND / TRAIT_NOT_FOUND;
// NOT_FOUND / RESOURCE_CLASS_NOT_FOUND. The last two name everything that is unknown. REQUIRES:
// limit > 0.
struct ProviderPage {
  std::vector<ProviderPlace> providers;
  bool more = false;
};
absl::StatusOr<ProviderPage> ListProviders(const State& state, const ProviderFilter& filter,
                                           std::optional<ProviderId> after, int limit);

// What the consumers of a project hold, by consumer type or in one group (P-157..P-165).
// INVALID_ARGUMENT for a project or user without characters or with more than 255, or a consumer
// type that is no valid name. An unknown project or user holds nothing.
struct UsageGroup {
  int64_t consumer_count = 0;
  std::map<std::string, Amount> used;  // by class name; no zeros
};
absl::StatusOr<std::map<std::string, UsageGroup>> GetUsages(
    const State& state, const std::string& project, const std::optional<std::string>& user,
    const std::optional<std::string>& consumer_type);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_READS_PROVIDER_QUERY_H_
