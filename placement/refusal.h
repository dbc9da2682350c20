// Refusals: an absl::Status that also says its reason and the things at fault in machine-readable
// form.
//
// A rule that refuses returns Refuse(...); the edge turns it into google.rpc.ErrorInfo, one per
// item (P-235, P-236). Reasons are those of section 9 of the placement specification, written as
// there, e.g. "CAPACITY_EXCEEDED".
#ifndef BERTH_PLACEMENT_REFUSAL_H_
#define BERTH_PLACEMENT_REFUSAL_H_

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

struct Refusal {
  std::string reason;
  std::vector<FaultItem>
      items;  // all violations of the failing stage, in request order; may be empty
  std::optional<absl::Duration> retry_after;  // where waiting helps: a full queue
};

// REQUIRES: `code` is not OK. Items may hold any text: a name, a project.
absl::Status Refuse(absl::StatusCode code, absl::string_view reason, absl::string_view message,
                    const std::vector<FaultItem>& items = {},
                    std::optional<absl::Duration> retry_after = std::nullopt);

// What `status` carries, or nothing where Refuse did not make it.
std::optional<Refusal> RefusalOf(const absl::Status& status);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_REFUSAL_H_
