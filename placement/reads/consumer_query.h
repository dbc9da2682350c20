// Lists of consumers in one State. Pure.
#ifndef BERTH_PLACEMENT_READS_CONSUMER_QUERY_H_
#define BERTH_PLACEMENT_READS_CONSUMER_QUERY_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/state/state.h"

namespace berth::placement {

// A consumer passes if it meets every condition that is given.
struct ConsumerFilter {
  std::optional<std::string> project = std::nullopt;
  std::optional<std::string> user = std::nullopt;
  std::optional<std::string> type = std::nullopt;  // "unknown": consumers without a type
  std::optional<absl::Time> updated_before = std::nullopt;
  // Only consumers that hold something in the tree of this provider. The provider need not be the
  // root.
  std::optional<ProviderId> in_tree = std::nullopt;
  std::optional<bool> leased = std::nullopt;
};

struct ConsumerPage {
  std::vector<ConsumerPtr> consumers;
  bool more = false;
};

// One page of the consumers that pass the filter: those with ids greater than `after`, in order of
// id, at most `limit`. `more` of the page says whether other consumers follow. INVALID_ARGUMENT for
// an empty project, user or type. An unknown project, user, type or provider has no consumers.
// REQUIRES: limit > 0.
absl::StatusOr<ConsumerPage> ListConsumers(const State& state, const ConsumerFilter& filter,
                                           std::optional<ConsumerId> after, int limit);

// The number of consumers of each type. Consumers without a type count as "unknown".
std::map<std::string, int64_t> CountConsumerTypes(const State& state);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_READS_CONSUMER_QUERY_H_
