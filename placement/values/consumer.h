// Consumer: the holder of allocations, for example an instance, together with these allocations. A
// consumer exists if and only if it holds something (P-3).
#ifndef BERTH_PLACEMENT_VALUES_CONSUMER_H_
#define BERTH_PLACEMENT_VALUES_CONSUMER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "placement/values/types.h"

namespace berth::placement {

// The project, user and type of consumers. All consumers with the same three values share one
// Owner.
struct Owner {
  std::string project;  // 1..255 characters
  std::string user;     // 1..255 characters
  std::string type;  // ^[A-Z0-9_]+$, 1..255; empty: imported without one, shown as `unknown` (P-24)

  friend auto operator<=>(const Owner&, const Owner&) = default;
};

// The types of the consumers of instances and migrations.
inline constexpr absl::string_view kInstanceType = "INSTANCE";
inline constexpr absl::string_view kMigrationType = "MIGRATION";
// The type of a consumer that still holds something after the record of its instance was deleted.
// Whoever writes its allocations afterwards, except by a reshape, gives it another type. So a new
// instance with the same uuid is not taken for the deleted one (T-346).
inline constexpr absl::string_view kDeletedInstanceType = "DELETED_INSTANCE";

struct Consumer {
  ConsumerId id;
  Generation generation;
  std::shared_ptr<const Owner> owner;
  std::vector<Allocation> allocations;  // sorted by (provider, class), each pair once, never empty
  absl::Time created_at;
  absl::Time updated_at;
  // The time when the ledger releases the consumer by itself, in whole microseconds; none: never.
  std::optional<absl::Time> lease_expires_at = std::nullopt;
};

using ConsumerPtr = std::shared_ptr<const Consumer>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_CONSUMER_H_
