// The claims on a node, without the node: how they begin and end, and who is answered when.
#include "tracker/node/node_claims.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/node/claims_fixture.h"

namespace berth::tracker {
namespace {

using Kind = ClaimRefusalKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(NodeClaimsTest, AClaimCountsFromTheCallOn) {
  InstanceClaim request = Building("a");
  request.id = "id";
  const Call& call = Claim(request);
  EXPECT_EQ(Claimed(), 1);
  const auto write = NextWrite();
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(write->instance.on, kHere);
  EXPECT_EQ(call.answers, 0) << "placement has not written it";
  Apply(*write);
  EXPECT_TRUE(Answer(write->id, absl::OkStatus()));
  EXPECT_EQ(call.answers, 1);
  ASSERT_TRUE(call.result.ok());  // T-157
  EXPECT_EQ(Claimed(), 0);
  EXPECT_EQ(Recorded(), 1);
  EXPECT_FALSE(Answer(write->id, absl::OkStatus())) << "nothing waits for an answer";
  const Call& repeat = Claim(request);
  EXPECT_EQ(repeat.answers, 1);
  ASSERT_TRUE(repeat.result.ok());  // T-385
  EXPECT_EQ(repeat.result->claim.instance.on, kHere);
  EXPECT_EQ(NextWrite(), std::nullopt);
}

TEST_F(NodeClaimsTest, RefusalsInOrder) {
  InstanceClaim granted = Building("a");
  granted.id = "id";
  Claim(granted);
  const auto write = NextWrite();
  Apply(*write);
  Answer(write->id, absl::OkStatus());

  // Each step takes away the reason of the refusal before it.
  InstanceClaim request = Building("b");
  request.id = "id";
  request.node_uuid = kThere.node_uuid;
  request.instance.vm_state = "shelved_offloaded";
  const std::shared_ptr<const Audit> audit = std::exchange(state_.audit, nullptr);
  const std::optional<Records> records = std::exchange(state_.records, std::nullopt);
  outbox_.Disconnect();
  Call call;
  call.gone = true;
  const auto refusal = [&] {
    Ask(request, &call);
    const std::optional<Kind> kind = call.refusal();
    call.answers = 0;
    call.result = absl::UnknownError("no answer");
    return kind;
  };
  EXPECT_EQ(refusal(), Kind::kRequestIdReused);
  request.id = "another";
  EXPECT_EQ(refusal(), Kind::kTooLate);
  call.gone = false;
  EXPECT_EQ(refusal(), Kind::kNodeUnavailable);
  state_.audit = audit;
  state_.last.result = PassOutcome::Result::kNotReady;
  EXPECT_EQ(refusal(), Kind::kNodeUnavailable);
  state_.last.result = PassOutcome::Result::kDegraded;
  EXPECT_EQ(refusal(), Kind::kNodeUnavailable);
  state_.records = records;
  EXPECT_EQ(refusal(), Kind::kPlacementAway);
  outbox_.Welcome(Standing::kStandby, 0);
  EXPECT_EQ(refusal(), Kind::kNodeUnavailable);
  outbox_.Welcome(Standing::kWait, 0);
  EXPECT_EQ(refusal(), Kind::kNodeUnavailable) << "the rule does not know the node";
  request.node_uuid = kHere.node_uuid;
  EXPECT_EQ(refusal(), Kind::kWrongState);
  EXPECT_EQ(Claimed(), 0);
  request.instance.vm_state = "building";
  EXPECT_EQ(refusal(), std::nullopt);
  EXPECT_EQ(Claimed(), 1);
}

TEST_F(NodeClaimsTest, MoreWritesThanItsBoundAreRefused) {
  for (size_t i = 0; i < RecordWrites::kMax; ++i) Claim(Building(std::to_string(i)));
  EXPECT_EQ(calls_.back().answers, 0);
  EXPECT_EQ(Claim(Building("a")).refusal(), Kind::kOverloaded);
  Disconnect();
  for (const Call& call : calls_) EXPECT_EQ(call.answers, 1);
}

TEST_F(NodeClaimsTest, AClaimThatPlacementRefusesIsNoClaim) {
  const std::pair<absl::StatusCode, Kind> answers[] = {
      {absl::StatusCode::kAborted, Kind::kRecordConflict},
      {absl::StatusCode::kNotFound, Kind::kInstanceNotFound},
      {absl::StatusCode::kPermissionDenied, Kind::kNodeUnavailable},
      {absl::StatusCode::kUnavailable, Kind::kPlacementAway}};
  for (const auto& [code, kind] : answers) {
    const Call& call = Claim(Building("a"));
    Answer(NextWrite()->id, absl::Status(code, "x"));
    EXPECT_EQ(call.answers, 1);
    EXPECT_EQ(call.refusal(), kind);
    EXPECT_EQ(Claimed(), 0) << call.result.status();
  }
  const Call& call = Claim(Building("a"));
  Answer(NextWrite()->id, absl::PermissionDeniedError("x"), /*denies_record=*/true);
  EXPECT_EQ(call.refusal(), Kind::kNodeUnavailable) << "it is missing, or not for this host";
  EXPECT_EQ(Claimed(), 0);
  for (const bool breaks_group : {false, true}) {
    const Call& judged = Claim(Building("a"));
    Answer(NextWrite()->id, {absl::FailedPreconditionError("x"), false, breaks_group});
    EXPECT_EQ(judged.refusal(), breaks_group ? Kind::kGroupPolicy : Kind::kPlacementAway);
    EXPECT_EQ(Claimed(), 0);
  }
}

TEST_F(NodeClaimsTest, ARepeatWaitsForTheWriteAndAnotherRequestDoesNot) {
  InstanceClaim request = Building("a");
  request.id = "id";
  const Call& first = Claim(request);
  const Call& repeat = Claim(request);
  EXPECT_EQ(repeat.answers, 0);
  EXPECT_EQ(Claim(Building("a")).refusal(), Kind::kAlreadyClaimed);  // T-181
  request.body = "another";
  EXPECT_EQ(Claim(request).refusal(), Kind::kRequestIdReused);
  const auto write = NextWrite();
  EXPECT_EQ(NextWrite(), std::nullopt) << "an instance has one write";
  Apply(*write);
  Answer(write->id, absl::OkStatus());
  EXPECT_EQ(first.answers, 1);
  EXPECT_EQ(repeat.answers, 1);
  EXPECT_TRUE(first.result.ok() && repeat.result.ok());
}

TEST_F(NodeClaimsTest, ASentClaimCountsUntilItIsKnownWhatBecameOfIt) {
  for (const bool applied : {false, true}) {
    const Call& call = Claim(Building("a"));
    const auto write = NextWrite();
    Disconnect();
    EXPECT_EQ(call.answers, 1);
    EXPECT_EQ(call.refusal(), Kind::kOutcomeUnknown);
    EXPECT_EQ(Claimed(), 1) << "nobody else gets what it took";
    outbox_.Welcome(Standing::kKnown, 0);
    const auto withdrawal = NextWrite();
    ASSERT_TRUE(withdrawal.has_value());
    EXPECT_TRUE(withdrawal->withdraw);
    if (applied) Apply(*write);
    Answer(withdrawal->id, applied ? absl::AbortedError("x") : absl::PermissionDeniedError("x"));
    EXPECT_EQ(Claimed(), 0);
    EXPECT_EQ(Recorded(), applied ? 1 : 0);
    EXPECT_EQ(call.answers, 1) << "it has been answered";
  }
}

TEST_F(NodeClaimsTest, WhatWasNotSentEndsAtOnce) {
  const Call& unsent = Claim(Building("a"));
  Disconnect();
  EXPECT_EQ(unsent.refusal(), Kind::kPlacementAway);
  EXPECT_EQ(Claimed(), 0);

  outbox_.Welcome(Standing::kKnown, 0);
  const Call& aborted = Claim(Building("a"));
  const Call& abort = Abort("a"_uuid.ToString() + "/3");
  ASSERT_TRUE(abort.result.ok()) << abort.result.status();
  EXPECT_TRUE(abort.result->ended);
  EXPECT_EQ(aborted.refusal(), Kind::kRecordConflict);
  EXPECT_EQ(Claimed(), 0);

  Call& gone = Claim(Building("a"));
  gone.gone = true;
  EXPECT_EQ(NextWrite(), std::nullopt);
  EXPECT_EQ(gone.refusal(), Kind::kTooLate);  // T-385
  EXPECT_EQ(Claimed(), 0);
}

TEST_F(NodeClaimsTest, AnEndIsWrittenBeforeItCounts) {
  Claim(Building("a"));
  const auto write = NextWrite();
  Apply(*write);
  Answer(write->id, absl::OkStatus());
  const Call& abort = Abort("a"_uuid.ToString() + "/3");
  EXPECT_EQ(Abort("a"_uuid.ToString() + "/4").refusal(), Kind::kNoSuchClaim);
  const auto end = NextWrite();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(abort.answers, 0);
  EXPECT_EQ(Recorded(), 1);
  Apply(*end);
  Answer(end->id, absl::OkStatus());
  ASSERT_TRUE(abort.result.ok());
  EXPECT_TRUE(abort.result->ended);
  EXPECT_EQ(Recorded(), 0);
}

// Placement does not say to a tracker with a certificate that the record was deleted. If the node is
// denied, it is another host's, and the record has left this host with its claim.
TEST_F(NodeClaimsTest, AnEndThatIsDeniedIsOneIfTheRecordIsGone) {
  for (const bool gone : {false, true}) {
    for (const bool denies_record : {false, true}) {
      Claim(Building("a"));
      const auto write = NextWrite();
      Apply(*write);
      Answer(write->id, absl::OkStatus());
      const Call& abort = Abort("a"_uuid.ToString() + "/3");
      const auto end = NextWrite();
      ASSERT_TRUE(end.has_value());
      if (gone) state_.account->DropInstance("a"_uuid);
      Answer(end->id, absl::PermissionDeniedError("x"), denies_record);
      EXPECT_EQ(abort.answers, 1);
      EXPECT_EQ(abort.result.ok(), gone && denies_record) << abort.result.status();  // T-166
      if (!abort.result.ok()) {
        EXPECT_EQ(abort.refusal(), Kind::kNodeUnavailable);
      }
      state_.account->DropInstance("a"_uuid);
    }
  }
}

// The migration was deleted, and the instance is on its source as before.
TEST_F(NodeClaimsTest, AnEndOfAMoveIsOneIfTheMigrationIsGone) {
  for (const bool gone : {false, true}) {
    Instance instance = MakeInstance("a", kHere, MakeFlavor("f", 1, 0, 0));
    instance.vm_state = "resized";
    instance.context.emplace().migration_uuid = "m"_uuid;
    state_.account->PutInstance(instance);
    const Migration migration =
        MakeMigration(instance, MigrationType::kCold, "finished", kHere, kThere);
    state_.account->PutMigration(migration);
    Call call;
    {
      ClaimReplies replies;
      claims_.DropMove({"a"_uuid, migration.uuid, ClaimEnd::kConfirm}, call.AsCaller(), &replies);
    }
    const auto end = NextWrite();
    ASSERT_TRUE(end.has_value()) << call.result.status();
    if (gone) state_.account->DropMigration(migration.uuid);
    Answer(end->id, absl::PermissionDeniedError("x"), /*denies_record=*/true);
    EXPECT_EQ(call.answers, 1);
    EXPECT_EQ(call.result.ok(), gone) << call.result.status();  // T-176
  }
}

TEST_F(NodeClaimsTest, OnlyRecordsThatNobodyHasChangedSinceWereInterrupted) {  // T-33
  const absl::Time booted_at = absl::FromUnixSeconds(1000);
  state_.facts = std::make_shared<const Facts>();
  for (const char* const name : {"a", "b"}) {
    Instance instance = MakeInstance(name, kHere, MakeFlavor("f", 1, 0, 0));
    instance.vm_state = "building";
    instance.updated_at = booted_at - absl::Seconds(1);
    state_.account->PutInstance(instance);
  }
  ClaimReplies replies;
  claims_.RecordsCame(/*first=*/true, &replies);
  Instance changed = state_.account->instances().at("b"_uuid);
  changed.generation = 1;
  state_.account->PutInstance(changed);
  claims_.RecordsCame(/*first=*/false, &replies);
  EXPECT_THAT(claims_.RepairRecords(booted_at), ElementsAre(HasSubstr("a"_uuid.ToString())));
  const auto write = NextWrite();
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(write->instance.uuid, "a"_uuid);
  EXPECT_TRUE(write->sets_state);
  EXPECT_EQ(NextWrite(), std::nullopt);
  EXPECT_THAT(claims_.RepairRecords(booted_at), IsEmpty()) << "it is being written";
  Answer(write->id, absl::AbortedError("changed"));
  EXPECT_THAT(claims_.RepairRecords(booted_at),
              ElementsAre(HasSubstr("changed"), HasSubstr("a"_uuid.ToString())));  // T-131
}

TEST_F(NodeClaimsTest, WhoKnowsANewerRecordWaitsForIt) {  // T-116
  Instance instance = MakeInstance("a", kHere, MakeFlavor("f", 1, 0, 0));
  state_.account->PutInstance(instance);
  instance.generation = 7;
  Call call;
  Call late;
  late.gone = true;
  {
    ClaimReplies replies;
    claims_.UpdateUsage(instance, late.AsCaller(), &replies);
    claims_.UpdateUsage(instance, call.AsCaller(), &replies);
  }
  EXPECT_EQ(call.answers, 0);
  state_.account->PutInstance(instance);
  {
    ClaimReplies replies;
    claims_.RecordsCame(/*first=*/false, &replies);
  }
  EXPECT_TRUE(call.result.ok() && call.result->tracked);
  EXPECT_EQ(late.refusal(), Kind::kTooLate);
}

}  // namespace
}  // namespace berth::tracker
