// The checks of PlaceClaims that need no state, and the text by which a refusal names the member at
// fault. Pure.
#ifndef BERTH_PLACEMENT_CLAIMS_FORM_H_
#define BERTH_PLACEMENT_CLAIMS_FORM_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/commands/command.h"

namespace berth::placement {

// The path, as in the protos, of `field` of the consumer that `member` is about.
std::string FieldOf(const PlaceClaims& command, size_t member, absl::string_view field);

// INVALID_ARGUMENT if the number of members is wrong, a consumer occurs twice, or a field of a
// member is wrong. The queries of the members are not checked here.
absl::Status CheckForm(const PlaceClaims& command);

// Adds the member's consumer and the full path of the field to `fault`, which is about the query of
// `member`. A fault of the command's order is returned as it is, since it belongs to no member.
absl::Status OfMember(const PlaceClaims& command, size_t member, const absl::Status& fault);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_FORM_H_
