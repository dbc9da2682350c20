// Refusal: the reason of an absl::Status and the things at fault, in machine-readable form.
//
// A rule that refuses a command returns Refuse(...). The gRPC services turn the refusal into
// google.rpc.ErrorInfo, one for each item (P-235, P-236). The reason is one of a fixed set, e.g.
// "CAPACITY_EXCEEDED".
#ifndef BERTH_PLACEMENT_VALUES_REFUSAL_H_
#define BERTH_PLACEMENT_VALUES_REFUSAL_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/ground/status_macros.h"

namespace berth::placement {

// The facts about one thing at fault, by key: provider, consumer, resource_class, trait, field,
// expected_generation, actual_generation, requested, used, capacity, min_unit, max_unit, step_size
// (P-236).
using FaultItem = std::map<std::string, std::string>;

// The maximum number of items in a refusal. More would help nobody and not fit into an answer.
inline constexpr size_t kItemsMax = 100;

struct Refusal {
  std::string reason;
  // The things that the failing check found wrong, in the order of the request: the first kItemsMax
  // items. May be empty.
  std::vector<FaultItem> items;
  size_t omitted = 0;                         // how many more items there were
  std::optional<absl::Duration> retry_after;  // if a repeat may succeed, e.g. after a full queue
};

// A status that carries a Refusal with the first kItemsMax of `items`. Items may hold any text.
// REQUIRES: `code` is not OK.
absl::Status Refuse(absl::StatusCode code, absl::string_view reason, absl::string_view message,
                    const std::vector<FaultItem>& items = {},
                    std::optional<absl::Duration> retry_after = std::nullopt);

// The names as a message lists them: "A, B", or "A, B and 3 more" if there are more than kItemsMax.
std::string ListOf(const std::vector<std::string>& names);

// The refusal that `status` carries, or nothing if Refuse did not make `status`.
std::optional<Refusal> RefusalOf(const absl::Status& status);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_REFUSAL_H_
