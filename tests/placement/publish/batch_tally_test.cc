#include "placement/publish/batch_tally.h"

#include <gtest/gtest.h>

#include "placement/values/refusal.h"

namespace berth::placement {
namespace {

absl::Status Refused(const char* reason) {
  return Refuse(absl::StatusCode::kAborted, reason, "no");
}

TEST(BatchTally, CountsClaimsByResultAndConflictsByKind) {
  SetAllocations claim, release;
  claim.consumers.emplace_back().allocations.emplace_back();
  release.consumers.emplace_back();
  BatchTally tally;
  tally.Add(claim, absl::OkStatus());
  tally.Add(claim, Refused("CAPACITY_EXCEEDED"));
  tally.Add(claim, Refused("CONSUMER_GENERATION_CONFLICT"));
  tally.Add(claim, Refused("NO_INVENTORY"));
  tally.Add(release, absl::OkStatus());
  tally.Add(release, Refused("CONSUMER_GENERATION_CONFLICT"));
  tally.Add(PlaceClaims(), absl::OkStatus());
  tally.Add(PlaceClaims(), Refused("NO_CANDIDATE"));
  tally.Add(PlaceClaims(), Refused("SEARCH_BUDGET_EXCEEDED"));
  tally.Add(SetInventories(), Refused("PROVIDER_GENERATION_CONFLICT"));
  tally.Add(SetInventories(), absl::InternalError("a status without a reason"));
  tally.Add(FindRequest{"actor", "id", true}, Refused("REQUEST_CANCELLED"));
  tally.Add(FindRequest{"actor", "id"}, Refused("REQUEST_NOT_FOUND"));
  EXPECT_EQ(tally.claims_done, 2);
  EXPECT_EQ(tally.claims_without_room, 2);
  EXPECT_EQ(tally.claims_refused, 3);
  EXPECT_EQ(tally.consumer_conflicts, 2);
  EXPECT_EQ(tally.provider_conflicts, 1);
  EXPECT_EQ(tally.refusals, 8);
}

}  // namespace
}  // namespace berth::placement
