// Checks of PlaceClaims that need no state, and how its refusals name the member at fault. Pure.
#ifndef BERTH_PLACEMENT_CLAIMS_FORM_H_
#define BERTH_PLACEMENT_CLAIMS_FORM_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/commands/command.h"

namespace berth::placement {

// The path of `field` of the consumer of a member, as the protos have it.
std::string FieldOf(const PlaceClaims& command, size_t member, absl::string_view field);

// INVALID_ARGUMENT for a wrong number of members, a consumer that occurs twice, or a wrong field of
// a member. The queries are not checked here.
absl::Status CheckForm(const PlaceClaims& command);

// `fault`, which is about the query of `member`, with the member's consumer and the full path of
// the field. A fault of the command's order, which belongs to no member, is returned as it is.
absl::Status OfMember(const PlaceClaims& command, size_t member, const absl::Status& fault);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_FORM_H_
