// DailyLeft: how much that is new a tracker may still bring within its day, as its command carries
// it; and the refusal of a command that needs more.
#ifndef BERTH_PLACEMENT_COMMANDS_DAILY_LEFT_H_
#define BERTH_PLACEMENT_COMMANDS_DAILY_LEFT_H_

#include <cstdint>
#include <initializer_list>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace berth::placement {

struct DailyLeft {
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

  int64_t names = kNoLimit;      // resource classes and traits that do not exist, counted together
  int64_t providers = kNoLimit;  // that do not exist; the root of a new node is one
  int64_t nodes = kNoLimit;      // that have no record
};

// A part of a command that needs something of a day.
struct DailyNeed {
  absl::string_view limit;  // what the access file calls it, for example "names"
  absl::string_view field;  // of the request
  int64_t requested = 0;
  int64_t left = 0;
};
// OK if nothing of `needs` exceeds what is left. Otherwise RESOURCE_EXHAUSTED / DAILY_LIMIT_REACHED,
// with an item for each need that does: limit, field, requested and left. The message depends only
// on which needs these are, so a refused tracker that tries again is told the same.
absl::Status CheckDaily(std::initializer_list<DailyNeed> needs);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_COMMANDS_DAILY_LEFT_H_
