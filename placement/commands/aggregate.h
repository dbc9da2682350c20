// The commands about aggregates, as values, and the checks that the rules of several commands share.
// Pure.
#ifndef BERTH_PLACEMENT_COMMANDS_AGGREGATE_H_
#define BERTH_PLACEMENT_COMMANDS_AGGREGATE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "placement/state/state.h"
#include "placement/values/aggregate.h"
#include "placement/values/faults.h"

namespace berth::placement {

// Creates an aggregate, or replaces the whole aggregate. The generation and the times of `aggregate`
// are ignored.
struct SetAggregate {
  Aggregate aggregate;
  std::optional<Generation> expected_generation;  // none: there must be no such aggregate yet
};
// Deletes the name and the metadata. Providers go on naming the uuid.
struct DeleteAggregate {
  AggregateId aggregate;
  std::optional<Generation> expected_generation;  // none: any
};

// Adds a fault for each field that is not as values/aggregate.h says.
void AggregateFields(Faults& faults, const std::string& path, const Aggregate& aggregate);

// The refusal AGGREGATE_NOT_FOUND.
absl::Status AggregateNotFound(AggregateId id);

// OK unless an aggregate that is not `aggregate` has its name. Else fails with ALREADY_EXISTS /
// DUPLICATE_AGGREGATE. `field`: the field of the request that has the name.
absl::Status CheckNameIsFree(const State& state, const Aggregate& aggregate,
                             const std::string& field);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_AGGREGATE_H_
