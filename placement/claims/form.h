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

// Returns the path, within the request, of `field`, which is a field of the member's consumer.
std::string FieldOf(const PlaceClaims& command, size_t member, absl::string_view field);

// INVALID_ARGUMENT if the number of members is wrong, a consumer occurs twice, or a field of a
// member is wrong. The queries of the members are not checked here.
absl::Status CheckForm(const PlaceClaims& command);

// Completes `fault`, a fault of the query of `member`: adds the member's consumer and the full path
// of the field. A fault of the command's order belongs to no member, and is returned unchanged.
absl::Status OfMember(const PlaceClaims& command, size_t member, const absl::Status& fault);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_CLAIMS_FORM_H_
