// The ends of claims, and their way into placement's records.
#include <atomic>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "tests/tracker/uplink/claim_fixture.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using Kind = ClaimRefusalKind;

TEST_F(ClaimTest, AnAbortedClaimLeavesWhatWasBefore) {
  Start();
  const Amounts before = node_->accounting()->used();
  const v1::Instance instance = ledger_.Create(kGuest);
  const ClaimCall call = Claim(instance, "request", "body");
  ASSERT_TRUE(Answered(call));
  const std::string claim_id = ClaimIdOf((*call.result)->claim);
  const ClaimCall abort = Abort(claim_id);
  ASSERT_TRUE(Answered(abort));
  ASSERT_TRUE(abort.result->ok()) << abort.result->status();
  EXPECT_TRUE((*abort.result)->ended);
  EXPECT_EQ(ledger_.Find(kGuest).host(), "");                // T-165
  EXPECT_EQ(node_->accounting()->used(), before);            // T-167
  EXPECT_EQ(Abort(claim_id).refusal(), Kind::kNoSuchClaim);  // T-151
  const ClaimCall repeat = Claim(instance, "request", "body");
  ASSERT_TRUE(Answered(repeat));
  EXPECT_EQ(repeat.refusal(), Kind::kRecordConflict) << "it must not be told that it has a claim";
}

TEST_F(ClaimTest, AnAbortEndsTheClaimThatItNames) {
  Start();
  const ClaimCall call = Claim(ledger_.Create(kGuest));
  ASSERT_TRUE(Answered(call));
  const std::string claim_id = ClaimIdOf((*call.result)->claim);
  silent_ = true;
  const ClaimCall abort = Abort(claim_id);
  const ClaimCall again = Abort(claim_id);
  EXPECT_EQ(Abort(absl::StrCat(kGuest, "/1")).refusal(), Kind::kNoSuchClaim);
  EXPECT_EQ(*again.answers, 0) << "it waits for the abort that is under way";
  ASSERT_TRUE(Eventually([&] { return Writes().size() == 2; }));
  placement_->Say(ledger_.Answer(Writes()[1], ledger_.Apply(Writes()[1])));
  ASSERT_TRUE(Answered(abort) && Answered(again));
  EXPECT_TRUE((*abort.result)->ended && (*again.result)->ended);
}

// A tracker that was restarted knows a claim by the record only.
TEST_F(ClaimTest, AClaimOfAnEarlierProcessIsEnded) {
  Start();
  ledger_.Create(kGuest);
  ledger_.SetClaimed(kGuest, 77);
  ASSERT_TRUE(Tell(kGuest));
  EXPECT_EQ(Abort(absl::StrCat(kGuest, "/76")).refusal(), Kind::kNoSuchClaim);
  ledger_.Create(kOther);
  ledger_.SetClaimed(kOther, 0);
  ASSERT_TRUE(Tell(kOther));
  EXPECT_EQ(Abort(absl::StrCat(kOther, "/0")).refusal(), Kind::kNoSuchClaim) << "nobody claimed it";
  const ClaimCall abort = Abort(absl::StrCat(kGuest, "/77"));
  ASSERT_TRUE(Answered(abort));
  ASSERT_TRUE(abort.result->ok()) << abort.result->status();
  EXPECT_EQ(ledger_.Find(kGuest).host(), "");
  EXPECT_EQ(ledger_.Find(kGuest).claimed_generation(), 0);
}

// To a tracker with a certificate, placement denies a record that was deleted, and the node that an
// operator gave to another host meanwhile. In both cases the answer has no record of the instance.
TEST_F(ClaimTest, AnAbortThatIsDeniedSaysWhetherTheClaimIsGone) {
  std::atomic<const char*> named = nullptr;
  placement_->write = [&](const v1::RecordWrite& write) {
    if (named == nullptr) return std::make_optional(ledger_.Answer(write, ledger_.Apply(write)));
    FakePlacement::Response denied = ledger_.Answer(write, grpc::StatusCode::PERMISSION_DENIED);
    google::rpc::ErrorInfo info;
    info.set_domain("berth.placement");
    info.set_reason("POLICY_DENIED");
    (*info.mutable_metadata())[named.load()] = "any";
    denied.mutable_record_answer()->mutable_status()->add_details()->PackFrom(info);
    return std::make_optional(denied);
  };
  Start();
  for (const char* record : {"node", "instance", "migration"}) {
    named = nullptr;
    const ClaimCall call = Claim(ledger_.Create(kGuest));
    ASSERT_TRUE(Answered(call));
    ASSERT_TRUE(call.result->ok()) << call.result->status();
    ledger_.Place(kGuest, "h2");
    named = record;
    const ClaimCall abort = Abort(ClaimIdOf((*call.result)->claim));
    ASSERT_TRUE(Answered(abort));
    EXPECT_EQ(abort.result->ok(), record != std::string("node"))
        << abort.result->status();  // T-166
  }
}

TEST_F(ClaimTest, AnAbortComesTooLateForAStartedGuest) {
  Start();
  const ClaimCall call = Claim(ledger_.Create(kGuest));
  ASSERT_TRUE(Answered(call));
  ledger_.SetState(kGuest, "active");
  ASSERT_TRUE(Tell(kGuest));
  const ClaimCall abort = Abort(ClaimIdOf((*call.result)->claim));
  ASSERT_TRUE(Answered(abort));
  EXPECT_FALSE((*abort.result)->ended);
  EXPECT_EQ(ledger_.Find(kGuest).host(), "h");
}

TEST_F(ClaimTest, AnAbortFollowsARecordThatChanges) {
  Start();
  const ClaimCall call = Claim(ledger_.Create(kGuest));
  ASSERT_TRUE(Answered(call));
  ledger_.SetState(kGuest, "building");  // the tracker has not heard of it
  const ClaimCall abort = Abort(ClaimIdOf((*call.result)->claim));
  ASSERT_TRUE(Answered(abort));
  EXPECT_TRUE((*abort.result)->ended);
  EXPECT_EQ(Writes().size(), 3u);
  EXPECT_EQ(ledger_.Find(kGuest).host(), "");
}

TEST_F(ClaimTest, AnAbortGivesUpAfterFourConflicts) {
  placement_->write = [this](const v1::RecordWrite& write) {
    if (ledger_.Find(kGuest).claimed_generation() != 0) ledger_.SetState(kGuest, "building");
    return std::make_optional(ledger_.Answer(write, ledger_.Apply(write)));
  };
  Start();
  const ClaimCall call = Claim(ledger_.Create(kGuest));
  ASSERT_TRUE(Answered(call));
  const ClaimCall abort = Abort(ClaimIdOf((*call.result)->claim));
  ASSERT_TRUE(Answered(abort));
  EXPECT_EQ(abort.refusal(), Kind::kRecordConflict);  // T-224
  EXPECT_EQ(Writes().size(), 1u + 4);                 // T-224: the claim, and its end four times
  EXPECT_EQ(ledger_.Find(kGuest).host(), "h");
}

TEST_F(ClaimTest, AnAbortOfAnOldClaimLeavesTheNewOne) {
  Start();
  const ClaimCall first = Claim(ledger_.Create(kGuest));
  ASSERT_TRUE(Answered(first));
  const std::string old = ClaimIdOf((*first.result)->claim);
  ASSERT_TRUE(Answered(Abort(old)));
  const ClaimCall second = Claim(ledger_.Find(kGuest));
  ASSERT_TRUE(Answered(second));
  EXPECT_EQ(Abort(old).refusal(), Kind::kNoSuchClaim);
  EXPECT_EQ(ledger_.Find(kGuest).host(), "h");
}

TEST_F(ClaimTest, AnAbortedMoveFails) {
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  const v1::Migration migration = ledger_.CreateMove(kOther, &instance);
  const ClaimCall call = ClaimMoveOf(instance, migration);
  ASSERT_TRUE(Answered(call));
  const ClaimCall abort = Abort(kOther);
  ASSERT_TRUE(Answered(abort));
  ASSERT_TRUE(abort.result->ok()) << abort.result->status();
  EXPECT_TRUE((*abort.result)->ended);
  EXPECT_EQ(ledger_.ends().back(), v1::MOVE_END_FAILED);  // T-170
  EXPECT_EQ(ledger_.FindMove(kOther).status(), "failed");
  EXPECT_FALSE(ledger_.Find(kGuest).has_migration_context());  // T-170
  EXPECT_EQ(ledger_.Find(kGuest).host(), "h2");                // T-169
  EXPECT_EQ(Promised(), PromisedUsage());                      // T-167
  EXPECT_EQ(Abort(kOther).refusal(), Kind::kNoSuchClaim);      // T-151
}

TEST_F(ClaimTest, AnAbortComesTooLateForAGuestThatHasArrived) {
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  ledger_.CreateMove(kOther, &instance);
  ledger_.ClaimMove(kOther, "h");
  ledger_.SetMoveState(kOther, "finished", "");
  ledger_.Place(kGuest, "h");
  ASSERT_TRUE(Tell(kGuest));
  const ClaimCall abort = Abort(kOther);
  ASSERT_TRUE(abort.result->ok()) << abort.result->status();
  EXPECT_FALSE((*abort.result)->ended);
  EXPECT_TRUE(Writes().empty());
}

TEST_F(ClaimTest, TheDestinationGivesUpARevertedMove) {
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  ledger_.CreateMove(kOther, &instance);
  ledger_.ClaimMove(kOther, "h");
  ledger_.SetMoveState(kOther, "finished", "");
  ledger_.Place(kGuest, "h");
  ASSERT_TRUE(Tell(kGuest));
  EXPECT_EQ(Promised().instances.amounts.vcpus, 2);
  EXPECT_EQ(Drop(kGuest, kOther, ClaimEnd::kRevert).refusal(), Kind::kWrongState);  // T-174
  const ClaimCall other_side = Drop(kGuest, kOther, ClaimEnd::kConfirm);
  ASSERT_TRUE(other_side.result->ok()) << other_side.result->status();
  EXPECT_FALSE((*other_side.result)->ended);  // T-176
  EXPECT_TRUE(Writes().empty());
  ledger_.SetMoveState(kOther, "reverting", "resize_reverting");
  ASSERT_TRUE(Tell(kGuest));
  const ClaimCall drop = Drop(kGuest, kOther, ClaimEnd::kRevert);
  ASSERT_TRUE(Answered(drop));
  ASSERT_TRUE(drop.result->ok()) << drop.result->status();
  EXPECT_TRUE((*drop.result)->ended);
  EXPECT_EQ(ledger_.ends().back(), v1::MOVE_END_REVERTED);  // T-174
  EXPECT_EQ(ledger_.Find(kGuest).host(), "h2");             // T-174
  EXPECT_EQ(Promised(), PromisedUsage());
}

TEST_F(ClaimTest, TheSourceGivesUpAConfirmedMove) {
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  ledger_.CreateMove(kOther, &instance, "h");
  ledger_.ClaimMove(kOther, "h2");
  ledger_.Place(kGuest, "h2");
  ledger_.SetMoveState(kOther, "post-migrating", "resize_migrated");
  ASSERT_TRUE(Tell(kGuest));
  EXPECT_EQ(Promised().migrations.amounts.vcpus, 2);
  EXPECT_EQ(Drop(kGuest, kOther, ClaimEnd::kConfirm).refusal(), Kind::kWrongState);  // T-173
  ledger_.SetMoveState(kOther, "finished", "");
  ASSERT_TRUE(Tell(kGuest));
  const ClaimCall drop = Drop(kGuest, kOther, ClaimEnd::kConfirm);
  ASSERT_TRUE(Answered(drop));
  ASSERT_TRUE(drop.result->ok()) << drop.result->status();
  EXPECT_EQ(ledger_.ends().back(), v1::MOVE_END_CONFIRMED);  // T-173
  EXPECT_FALSE(ledger_.Find(kGuest).has_migration_context());
  EXPECT_EQ(Promised(), PromisedUsage());
  const ClaimCall again = Drop(kGuest, kOther, ClaimEnd::kConfirm);
  ASSERT_TRUE(again.result->ok()) << again.result->status();
  EXPECT_FALSE((*again.result)->ended);  // T-176
}

TEST_F(ClaimTest, AnUpdateWaitsForTheRecord) {
  Start();
  const ClaimCall unknown = Update(ledger_.Create(kOther));
  ASSERT_TRUE(unknown.result->ok()) << unknown.result->status();
  EXPECT_FALSE((*unknown.result)->tracked);  // T-116
  ASSERT_TRUE(Answered(Claim(ledger_.Create(kGuest))));
  ledger_.SetState(kGuest, "active");
  const ClaimCall update = Update(ledger_.Find(kGuest));
  EXPECT_EQ(*update.answers, 0);
  ASSERT_TRUE(Tell(kGuest));
  ASSERT_TRUE(Answered(update));
  EXPECT_TRUE((*update.result)->tracked);  // T-116
  EXPECT_EQ(node_->accounting()->counters["num_vm_active"], 1);
}

TEST_F(ClaimTest, AnUpdateIsAnsweredByANewerRecord) {
  Start();
  ASSERT_TRUE(Answered(Claim(ledger_.Create(kGuest))));
  ledger_.SetState(kGuest, "active");
  const v1::Instance older = ledger_.Find(kGuest);
  ledger_.SetState(kGuest, "paused");
  ASSERT_TRUE(Tell(kGuest));
  EXPECT_EQ(*Update(older).answers, 1);
  v1::Instance undated = older;
  undated.clear_updated_at();
  const ClaimCall waits = Update(undated);
  EXPECT_EQ(*waits.answers, 0) << "nobody knows which one is newer";
  const ClaimCall leaves = Update(undated);
  leaves.gone->store(true);
  uplink_->Notify();
  ASSERT_TRUE(Answered(leaves));
  EXPECT_EQ(leaves.refusal(), Kind::kTooLate);
  placement_->EndSession();
  ASSERT_TRUE(Answered(waits));
  EXPECT_EQ(waits.refusal(), Kind::kPlacementAway);
}

}  // namespace
}  // namespace berth::tracker
