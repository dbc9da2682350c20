#include "tracker/claims/refusal.h"

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
    default:
      return absl::StatusCode::kFailedPrecondition;
  }
}

}  // namespace

absl::Status RefuseClaim(const ClaimRefusal& refusal) {
  BERTH_CHECK(!refusal.reasons.empty());
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

absl::Status RefuseReusedId(const std::string& id) {
  return RefuseClaim({ClaimRefusalKind::kRequestIdReused,
                      {absl::StrCat("request_id ", id, " belongs to another request")}});
}

std::optional<ClaimRefusal> RefusalOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kClaimPayload);
  if (!payload.has_value()) return std::nullopt;
  std::vector<std::string> lines = absl::StrSplit(std::string(*payload), '\n');
  ClaimRefusal refusal;
  refusal.kind = static_cast<ClaimRefusalKind>(lines[0][0] - '0');
  refusal.drift = lines[1] == "1";
  refusal.reasons.assign(lines.begin() + 2, lines.end());
  return refusal;
}

}  // namespace berth::tracker
