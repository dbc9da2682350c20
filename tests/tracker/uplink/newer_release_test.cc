// Records that a newer release has written, and a tracker that cannot read all of them: moves that
// it claims, and the ends of claims, lose nothing of them.
#include <functional>

#include "gtest/gtest.h"
#include "tests/tracker/uplink/claim_fixture.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using Kind = ClaimRefusalKind;

void AddNewerPolicy(v1::Instance* instance) {
  instance->add_numa_cells()->set_cpu_policy("a policy of a newer release");
}

void AddNewerField(v1::Instance* instance) {
  v1::GuestCell* const cell = instance->add_numa_cells();
  cell->GetReflection()->MutableUnknownFields(cell)->AddVarint(999, 1);
}

TEST_F(ClaimTest, AnAbortLosesNothingThatItCannotRead) {
  Start();
  for (const auto& [guest, add] :
       {std::make_pair(kGuest, AddNewerPolicy), std::make_pair(kOther, AddNewerField)}) {
    ledger_.Create(guest);
    ledger_.SetClaimed(guest, 77);
    ledger_.Change(guest, add);
    ASSERT_TRUE(Tell(guest));
    const ClaimCall refused = Abort(absl::StrCat(guest, "/77"));
    EXPECT_EQ(refused.refusal(), Kind::kNodeUnavailable) << guest;
    EXPECT_TRUE(Writes().empty()) << guest;
    EXPECT_EQ(ledger_.Find(guest).host(), "h");
  }
  // Somebody who can read the record takes the part out.
  ledger_.Change(kGuest, [](v1::Instance* instance) { instance->clear_numa_cells(); });
  ASSERT_TRUE(Tell(kGuest));
  const ClaimCall abort = Abort(absl::StrCat(kGuest, "/77"));
  ASSERT_TRUE(Answered(abort));
  ASSERT_TRUE(abort.result->ok()) << abort.result->status();
  EXPECT_EQ(ledger_.Find(kGuest).host(), "");
}

// The source is newer than the destination, and has given the running guest what the destination
// does not know.
TEST_F(ClaimTest, AMoveLosesNothingThatItsDestinationCannotRead) {
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  const v1::Migration move = ledger_.CreateMove(kOther, &instance);
  ledger_.Change(kGuest, AddNewerField);
  const ClaimCall refused = ClaimMoveOf(ledger_.Find(kGuest), move);
  EXPECT_EQ(refused.refusal(), Kind::kNodeUnavailable);
  EXPECT_TRUE(Writes().empty());
  EXPECT_EQ(Promised(), PromisedUsage());
  // Somebody who can read the record takes the field out.
  ledger_.Change(kGuest, [](v1::Instance* changed) { changed->clear_numa_cells(); });
  const ClaimCall claimed = ClaimMoveOf(ledger_.Find(kGuest), move);
  ASSERT_TRUE(Answered(claimed));
  EXPECT_TRUE(claimed.result->ok()) << claimed.result->status();
}

// The destination is newer than the source, and has given the guest what the source does not know.
TEST_F(ClaimTest, AConfirmedMoveLosesNothingThatItsSourceCannotRead) {
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  ledger_.CreateMove(kOther, &instance, "h");
  ledger_.ClaimMove(kOther, "h2");
  ledger_.Place(kGuest, "h2");
  ledger_.SetMoveState(kOther, "finished", "");
  ledger_.Change(kGuest, AddNewerPolicy);
  ASSERT_TRUE(Tell(kGuest));
  EXPECT_EQ(Drop(kGuest, kOther, ClaimEnd::kConfirm).refusal(), Kind::kNodeUnavailable);
  ledger_.Change(kGuest, [](v1::Instance* changed) {
    changed->clear_numa_cells();
    AddNewerField(changed);
  });
  ASSERT_TRUE(Tell(kGuest));
  EXPECT_EQ(Drop(kGuest, kOther, ClaimEnd::kConfirm).refusal(), Kind::kNodeUnavailable);
  ledger_.Change(kGuest, [](v1::Instance* changed) { changed->clear_numa_cells(); });
  ledger_.ChangeMove(kOther, [](v1::Migration* move) { move->set_destination_node_uuid("h2/2"); });
  ASSERT_TRUE(Tell(kGuest));
  EXPECT_EQ(Drop(kGuest, kOther, ClaimEnd::kConfirm).refusal(), Kind::kNodeUnavailable);
  EXPECT_TRUE(Writes().empty());
  EXPECT_EQ(ledger_.FindMove(kOther).status(), "finished");
}

}  // namespace
}  // namespace berth::tracker
