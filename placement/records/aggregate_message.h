// Converts aggregates to and from the public message Aggregate, and to and from the bytes of this
// message, which log and table keep. Pure functions.
#ifndef BERTH_PLACEMENT_RECORDS_AGGREGATE_MESSAGE_H_
#define BERTH_PLACEMENT_RECORDS_AGGREGATE_MESSAGE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "placement/values/aggregate.h"

namespace berth::placement {

namespace v1 {
class Aggregate;
}  // namespace v1

// The aggregate that the message describes. None if its uuid is malformed, or a time is
// not in the years 1 to 9999.
std::optional<Aggregate> AggregateFrom(const v1::Aggregate& message);

// Replaces the content of the message by all that the aggregate has.
void FillAggregate(const Aggregate& aggregate, v1::Aggregate* to);

// The bytes of the message of the aggregate.
std::string StoredBytes(const Aggregate& aggregate);
// The aggregate whose message is in `bytes`. Null if `bytes` is no message of an aggregate.
AggregatePtr StoredAggregateIn(absl::string_view bytes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RECORDS_AGGREGATE_MESSAGE_H_
