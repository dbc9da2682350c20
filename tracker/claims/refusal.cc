#include "tracker/claims/refusal.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tracker/ground/check.h"

namespace berth::tracker {
namespace {

constexpr char kClaimPayload[] = "berth.tracker/claim_refusal";

absl::StatusCode CodeOf(ClaimRefusalKind kind) {
  switch (kind) {
    case ClaimRefusalKind::kAlreadyClaimed:
      return absl::StatusCode::kAlreadyExists;
    case ClaimRefusalKind::kRequestIdReused:
      return absl::StatusCode::kInvalidArgument;
    case ClaimRefusalKind::kRecordConflict:
      return absl::StatusCode::kAborted;
    case ClaimRefusalKind::kInstanceNotFound:
    case ClaimRefusalKind::kNoSuchClaim:
      return absl::StatusCode::kNotFound;
    case ClaimRefusalKind::kUnsettled:
    case ClaimRefusalKind::kPlacementAway:
    case ClaimRefusalKind::kOverloaded:
      return absl::StatusCode::kUnavailable;
    case ClaimRefusalKind::kOutcomeUnknown:
    case ClaimRefusalKind::kTooLate:
      return absl::StatusCode::kDeadlineExceeded;
    case ClaimRefusalKind::kNodeUnavailable:
    case ClaimRefusalKind::kResources:
    case ClaimRefusalKind::kPageSizeMismatch:
    case ClaimRefusalKind::kWrongState:
    case ClaimRefusalKind::kGroupPolicy:
      return absl::StatusCode::kFailedPrecondition;
  }
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status RefuseClaim(ClaimRefusal refusal) {
  BERTH_CHECK(!refusal.reasons.empty());  // every caller gives one
  for (std::string& reason : refusal.reasons) std::replace(reason.begin(), reason.end(), '\n', ' ');
  const std::string reasons = absl::StrJoin(refusal.reasons, "; ");
  const bool resources = refusal.kind == ClaimRefusalKind::kResources;
  absl::Status status(
      CodeOf(refusal.kind),
      resources ? absl::StrCat("Insufficient compute resources: ", reasons, ".") : reasons);
  const std::string lines = absl::StrJoin(refusal.reasons, "\n");
  status.SetPayload(kClaimPayload, absl::Cord(absl::StrCat(static_cast<int>(refusal.kind), "\n",
                                                           refusal.drift ? 1 : 0, "\n", lines)));
  return status;
}

absl::Status RefuseClaim(ClaimRefusalKind kind, std::string reason) {
  return RefuseClaim(ClaimRefusal{kind, {std::move(reason)}});
}

absl::Status RefuseReusedId(const std::string& id) {
  return RefuseClaim(ClaimRefusalKind::kRequestIdReused,
                     absl::StrCat("request_id ", id, " belongs to another request"));
}

std::optional<ClaimRefusal> RefusalOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kClaimPayload);
  if (!payload.has_value()) return std::nullopt;
  std::vector<std::string> lines = absl::StrSplit(std::string(*payload), '\n');
  ClaimRefusal refusal;
  int kind = 0;
  BERTH_CHECK(absl::SimpleAtoi(lines[0], &kind));  // RefuseClaim alone makes such payloads
  refusal.kind = static_cast<ClaimRefusalKind>(kind);
  refusal.drift = lines[1] == "1";
  refusal.reasons.assign(lines.begin() + 2, lines.end());
  return refusal;
}

}  // namespace berth::tracker
