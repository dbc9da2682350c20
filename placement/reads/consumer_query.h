// Consumers, listed by what they are and where they hold something. Pure.
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

// All optional, ANDed.
struct ConsumerFilter {
  std::optional<std::string> project = std::nullopt;
  std::optional<std::string> user = std::nullopt;
  std::optional<std::string> type = std::nullopt;  // `unknown`: those without one
  std::optional<absl::Time> updated_before = std::nullopt;
  std::optional<ProviderId> in_tree = std::nullopt;  // any member's
  std::optional<bool> leased = std::nullopt;
};

struct ConsumerPage {
  std::vector<ConsumerPtr> consumers;
  bool more = false;
};

// The matching consumers by rising id, after `after`, `limit` at the most; `more` says whether
// others follow. INVALID_ARGUMENT for an empty project, user or type; what is unknown matches
// nothing. REQUIRES: limit > 0.
absl::StatusOr<ConsumerPage> ListConsumers(const State& state, const ConsumerFilter& filter,
                                           std::optional<ConsumerId> after, int limit);

// How many consumers there are of each type that occurs; `unknown`: of those without one.
std::map<std::string, int64_t> CountConsumerTypes(const State& state);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_READS_CONSUMER_QUERY_H_
