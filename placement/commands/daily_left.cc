#include "placement/commands/daily_left.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"

namespace berth::placement {

absl::Status CheckDaily(std::initializer_list<DailyNeed> needs) {
  std::vector<FaultItem> items;
  std::vector<std::string> limits;
  for (const DailyNeed& need : needs) {
    if (need.requested <= need.left) continue;
    limits.emplace_back(need.limit);
    items.push_back({{"limit", std::string(need.limit)},
                     {"field", std::string(need.field)},
                     {"requested", absl::StrCat(need.requested)},
                     {"left", absl::StrCat(need.left)}});
  }
  if (items.empty()) return absl::OkStatus();
  return Refuse(absl::StatusCode::kResourceExhausted, "DAILY_LIMIT_REACHED",
                absl::StrCat("this needs more than the access file leaves the tracker today, of: ",
                             ListOf(limits)),
                items);
}

}  // namespace berth::placement
