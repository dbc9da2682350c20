#include "tracker/cells/guest_fault.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace berth::tracker {
namespace {

// The key of a status payload. The payload itself is the number of the fault's kind, a blank, and
// the field.
constexpr absl::string_view kGuestFaultPayload = "berth.guest_fault";

}  // namespace

absl::Status RefuseGuest(GuestFaultKind kind, absl::string_view field, absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(absl::StrCat(field, ": ", message));
  status.SetPayload(kGuestFaultPayload,
                    absl::Cord(absl::StrCat(static_cast<int>(kind), " ", field)));
  return status;
}

std::optional<GuestFault> FaultOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kGuestFaultPayload);
  if (!payload) return std::nullopt;
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(std::string(*payload), absl::MaxSplits(' ', 1));
  int kind = 0;
  if (!absl::SimpleAtoi(parts.first, &kind)) return std::nullopt;
  return GuestFault{static_cast<GuestFaultKind>(kind), parts.second};
}

}  // namespace berth::tracker
