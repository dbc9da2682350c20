// The checks of allocations that need no state (P-114). Pure.
#ifndef BERTH_PLACEMENT_CLAIMS_ALLOCATION_FORM_H_
#define BERTH_PLACEMENT_CLAIMS_ALLOCATION_FORM_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/commands/command.h"
#include "placement/values/faults.h"

namespace berth::placement {

inline constexpr size_t kConsumersMax = 1000;         // of one request
inline constexpr size_t kConsumerProvidersMax = 256;  // of one consumer

// Adds the faults of a list of consumers.
void ConsumerListFields(Faults& faults, const std::vector<ConsumerAllocations>& consumers);
// Adds the faults of one consumer's project, user and type. `path` returns the path of a field. It
// is called only for a fault, to save time: this function runs for every claim.
void OwnerFields(Faults& faults, absl::FunctionRef<std::string(absl::string_view)> path,
                 absl::string_view project, absl::string_view user, absl::string_view type);
// Adds a fault unless `count`, the length of a list, is 1 to `max`. `field` is the path of the
// list.
void CountField(Faults& faults, absl::string_view field, size_t count, size_t max);

// Adds the faults of `asked`, the amounts on one provider: there must be at least one class, each
// class may occur once, and `amount_fits` must be true of each amount. If it is false, the fault
// says that the amount must be `range`. `field`: the path of the amounts.
void AmountFields(Faults& faults, absl::string_view field, const ProviderAmounts& asked,
                  bool (*amount_fits)(Amount), absl::string_view range);

// Adds a fault for each id that occurs twice in `items`. `field`: the path of the list. `key`: what
// the ids are, e.g. "provider".
template <typename IdType, typename Items, typename IdOf>
void EachOnce(Faults& faults, absl::string_view key, const std::string& field, const Items& items,
              IdOf id_of) {
  absl::InlinedVector<IdType, 8> ids;
  for (const auto& item : items) ids.push_back(id_of(item));
  std::sort(ids.begin(), ids.end());
  for (size_t i = 1; i < ids.size(); ++i) {
    if (ids[i] != ids[i - 1]) continue;
    faults.Add(kDuplicateParameter, field, absl::StrCat("name ", ids[i].ToString(), " twice"),
               {{std::string(key), ids[i].ToString()}});
  }
}

// Adds a fault unless `lease` is 1 s to 24 h long.
inline void LeaseField(Faults& faults, const std::string& field, absl::Duration lease) {
  if (lease >= absl::Seconds(1) && lease <= absl::Hours(24)) return;
  faults.Add(kInvalidField, field, "must be a duration of 1 s to 24 h");
}

// The time at which a lease ends that begins at `now`, in whole microseconds.
inline absl::Time LeaseEnd(absl::Time now, absl::Duration lease) {
  return absl::FromUnixMicros(absl::ToUnixMicros(now + lease));
}

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_ALLOCATION_FORM_H_
