// Query: the reads that filter or add up over one State: provider lists and usages. Pure.
#ifndef BERTH_PLACEMENT_READS_PROVIDER_QUERY_H_
#define BERTH_PLACEMENT_READS_PROVIDER_QUERY_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "placement/state/state.h"

namespace berth::placement {

// Filters of ListProviders (P-66..P-80); all optional, ANDed.
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

// The matching providers by rising id, after `after`, `limit` at the most; `more` says whether
// others follow (P-79). Fails, in this order, with INVALID_ARGUMENT for a filter that asks
// for too much, then for an empty name or term or an amount out of range, NOT_FOUND / TRAIT_NOT_FOUND and NOT_FOUND / RESOURCE_CLASS_NOT_FOUND, each
// with all that are unknown. REQUIRES: limit > 0.
struct ProviderPage {
  std::vector<ProviderPlace> providers;
  bool more = false;
};
absl::StatusOr<ProviderPage> ListProviders(const State& state, const ProviderFilter& filter,
                                           std::optional<ProviderId> after, int limit);

// Usages of a project (P-157..P-165): group name -> consumers and sums. INVALID_ARGUMENT for a
// project or user of no or more than 255 characters, or a consumer type that cannot be one; what is
// unknown holds nothing.
struct UsageGroup {
  int64_t consumer_count = 0;
  std::map<std::string, Amount> used;  // by class name; no zeros
};
absl::StatusOr<std::map<std::string, UsageGroup>> GetUsages(
    const State& state, const std::string& project, const std::optional<std::string>& user,
    const std::optional<std::string>& consumer_type);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_READS_PROVIDER_QUERY_H_
