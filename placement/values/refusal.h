// Refusals: an absl::Status that also says its reason and the things at fault in machine-readable
// form.
//
// A rule that refuses returns Refuse(...); the edge turns it into google.rpc.ErrorInfo, one per
// item (P-235, P-236). Reasons are those of section 9 of the placement specification, written as
// there, e.g. "CAPACITY_EXCEEDED".
#ifndef BERTH_PLACEMENT_VALUES_REFUSAL_H_
#define BERTH_PLACEMENT_VALUES_REFUSAL_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth::placement {

// Metadata of one thing at fault: provider, consumer, resource_class, trait, field,
// expected_generation, actual_generation, requested, used, capacity, min_unit, max_unit, step_size
// (P-236).
using FaultItem = std::map<std::string, std::string>;

// Of the items that one refusal carries. More tell nobody more and fit into no answer.
inline constexpr size_t kItemsMax = 100;

struct Refusal {
  std::string reason;
  // The violations of the failing stage in request order, the first kItemsMax; may be empty.
  std::vector<FaultItem> items;
  size_t omitted = 0;                         // violations beyond those
  std::optional<absl::Duration> retry_after;  // where waiting helps: a full queue
};

// REQUIRES: `code` is not OK. Items may hold any text: a name, a project. Those after the first
// kItemsMax are left out.
absl::Status Refuse(absl::StatusCode code, absl::string_view reason, absl::string_view message,
                    const std::vector<FaultItem>& items = {},
                    std::optional<absl::Duration> retry_after = std::nullopt);

// The names as a message lists them: "A, B and 3 more" where there are more than kItemsMax.
std::string ListOf(const std::vector<std::string>& names);

// What `status` carries, or nothing where Refuse did not make it.
std::optional<Refusal> RefusalOf(const absl::Status& status);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_REFUSAL_H_
