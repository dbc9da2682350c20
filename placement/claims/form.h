// The form of claims that find their own place, and how their faults are told. Pure.
#ifndef BERTH_PLACEMENT_CLAIMS_FORM_H_
#define BERTH_PLACEMENT_CLAIMS_FORM_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/commands/command.h"

namespace berth::placement {

// The path of `field` of a member's consumer.
std::string FieldOf(const PlaceClaims& command, size_t member, absl::string_view field);

// All that can be said of the command without a state, but for its queries: how many members there
// are, that none stands twice, and their fields.
absl::Status CheckForm(const PlaceClaims& command);

// `fault` of the query of `member`, with the consumer whose query it is and where that stands in
// the request. What lies in the order is nobody's.
absl::Status OfMember(const PlaceClaims& command, size_t member, const absl::Status& fault);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_FORM_H_
