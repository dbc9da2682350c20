// Claims on a node and their way into placement's records, against a placement that answers, loses
// answers and applies writes late as a test wishes.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/uplink/claim_fixture.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using Kind = ClaimRefusalKind;

TEST_F(ClaimTest, AClaimIsAnsweredWhenItIsRecorded) {
  Start();
  const v1::Instance before = ledger_.Create(kGuest);
  const ClaimCall call = Claim(before);
  ASSERT_TRUE(Answered(call));
  ASSERT_TRUE(call.result->ok()) << call.result->status();
  EXPECT_EQ(ledger_.Find(kGuest).node_uuid(), uuid_);  // T-155
  EXPECT_EQ(ledger_.Find(kGuest).host(), "h");
  EXPECT_EQ(ClaimIdOf((*call.result)->claim), absl::StrCat(kGuest, "/", before.generation()));
  EXPECT_EQ(Promised().instances.amounts.vcpus, 2);
  EXPECT_EQ(Promised().claims, Usage());
  const ClaimCall second = Claim(ledger_.Find(kGuest));
  EXPECT_EQ(second.refusal(), Kind::kAlreadyClaimed);  // T-181
}

TEST_F(ClaimTest, AClaimCountsWhileItIsUnderWay) {
  placement_->write = [](const v1::RecordWrite&) { return std::nullopt; };
  Start();
  const ClaimCall call = Claim(ledger_.Create(kGuest));
  ASSERT_TRUE(Eventually([&] { return !Writes().empty(); }));
  EXPECT_EQ(Promised().claims.amounts.vcpus, 2);
  Pass();
  EXPECT_EQ(Promised().claims.amounts.vcpus, 2);  // T-182, T-183
  EXPECT_EQ(*call.answers, 0);                    // T-157: placement has not written it
  placement_->Say(ledger_.Answer(Writes()[0], ledger_.Apply(Writes()[0])));
  ASSERT_TRUE(Answered(call));
  EXPECT_TRUE(call.result->ok());
  EXPECT_EQ(Promised().claims, Usage());
}

TEST_F(ClaimTest, WithoutPlacementNothingIsClaimed) {
  const ClaimCall call = Claim(ledger_.Create(kGuest));
  EXPECT_EQ(call.refusal(), Kind::kNodeUnavailable) << "no records yet";
  Start();
  placement_.reset();
  ASSERT_TRUE(AwaitNoSession());
  const ClaimCall away = Claim(ledger_.Create(kGuest));
  EXPECT_EQ(away.refusal(), Kind::kPlacementAway);  // T-157, T-376
  EXPECT_EQ(Promised(), PromisedUsage());           // T-157: it is undone
}

TEST_F(ClaimTest, ARefusedWriteLeavesNothing) {
  Start();
  const v1::Instance old = ledger_.Create(kGuest);
  ledger_.SetState(kGuest, "building");
  const ClaimCall call = Claim(old);
  ASSERT_TRUE(Answered(call));
  EXPECT_EQ(call.refusal(), Kind::kRecordConflict);
  EXPECT_EQ(Promised(), PromisedUsage());  // T-156
  v1::Instance unknown = old;
  unknown.set_uuid(kOther);
  const ClaimCall missing = Claim(unknown);
  ASSERT_TRUE(Answered(missing));
  EXPECT_EQ(missing.refusal(), Kind::kInstanceNotFound);
  EXPECT_EQ(Promised(), PromisedUsage());
}

TEST_F(ClaimTest, AnInstanceThatIsNotBeingBuiltIsNotClaimed) {
  Start();
  ledger_.Create(kGuest);
  ledger_.SetState(kGuest, "shelved_offloaded");
  v1::Instance unshelving = ledger_.Find(kGuest);
  unshelving.set_task_state("unshelving");
  const ClaimCall call = Claim(unshelving);
  EXPECT_EQ(call.refusal(), Kind::kWrongState);  // T-112: recorded, it would count nothing
  EXPECT_EQ(Promised(), PromisedUsage());
  EXPECT_TRUE(Claim(ledger_.Find(kGuest)).refusal() == std::nullopt) << "it is spawning";
}

TEST_F(ClaimTest, ARepeatGetsTheFirstAnswer) {
  Start();
  const v1::Instance instance = ledger_.Create(kGuest);
  const ClaimCall first = Claim(instance, "request", "body");
  ASSERT_TRUE(Answered(first));
  const ClaimCall repeat = Claim(instance, "request", "body");
  ASSERT_TRUE(repeat.result->ok()) << repeat.result->status();  // T-385
  EXPECT_EQ(ClaimIdOf((*repeat.result)->claim), ClaimIdOf((*first.result)->claim));
  EXPECT_EQ(Writes().size(), 1u);
  EXPECT_EQ(Claim(instance, "request", "other").refusal(), Kind::kRequestIdReused);  // T-385
}

TEST_F(ClaimTest, ARepeatJoinsTheClaimThatIsUnderWay) {
  placement_->write = [](const v1::RecordWrite&) { return std::nullopt; };
  Start();
  const v1::Instance instance = ledger_.Create(kGuest);
  const ClaimCall first = Claim(instance, "request", "body");
  const ClaimCall repeat = Claim(instance, "request", "body");
  EXPECT_EQ(*repeat.answers, 0);
  EXPECT_EQ(Claim(instance).refusal(), Kind::kAlreadyClaimed);
  ASSERT_TRUE(Eventually([&] { return !Writes().empty(); }));
  placement_->Say(ledger_.Answer(Writes()[0], ledger_.Apply(Writes()[0])));
  ASSERT_TRUE(Answered(first) && Answered(repeat));
  EXPECT_TRUE(first.result->ok() && repeat.result->ok());
}

TEST_F(ClaimTest, AnInstanceThatIsDeletedMeanwhileHasOneWrite) {
  placement_->write = [](const v1::RecordWrite&) { return std::nullopt; };
  Start();
  const v1::Instance instance = ledger_.Create(kGuest);
  const ClaimCall call = Claim(instance);
  ASSERT_TRUE(Eventually([&] { return !Writes().empty(); }));
  ledger_.SetState(kGuest, "deleted");
  FakePlacement::Response push;
  push.mutable_push()->set_node_uuid(uuid_);
  *push.mutable_push()->add_instances() = ledger_.Find(kGuest);
  placement_->Say(push);
  ASSERT_TRUE(Eventually([&] { return Promised().claims == Usage(); }));  // T-166
  EXPECT_EQ(Claim(instance).refusal(), Kind::kAlreadyClaimed);
  placement_->Say(ledger_.Answer(Writes()[0], ledger_.Apply(Writes()[0])));
  ASSERT_TRUE(Answered(call));
  EXPECT_EQ(call.refusal(), Kind::kRecordConflict);
  EXPECT_EQ(Promised(), PromisedUsage());
}

TEST_F(ClaimTest, WhoHasGoneClaimsNothing) {  // T-385
  Start();
  ClaimCall call;
  call.gone->store(true);
  InstanceClaim claim;
  claim.node_uuid = ShortUuid(uuid_);
  claim.instance = ReadInstance(ledger_.Create(kGuest));
  Ask([&](NodeClaims* claims, auto* replies) { claims->Claim(claim, call.AsCaller(), replies); });
  EXPECT_EQ(call.refusal(), Kind::kTooLate);
  // The caller goes after the claim was marked, and before the write is sent.
  const ClaimCall late;
  ClaimCaller caller = late.AsCaller();
  caller.gone = [asked = std::make_shared<std::atomic<int>>(0)] { return ++*asked > 1; };
  Ask([&](NodeClaims* claims, auto* replies) { claims->Claim(claim, caller, replies); });
  ASSERT_TRUE(Answered(late));
  EXPECT_EQ(late.refusal(), Kind::kTooLate);
  EXPECT_TRUE(Writes().empty());
  EXPECT_EQ(Promised(), PromisedUsage());
}

TEST_F(ClaimTest, AnUnsentClaimEndsWithTheSession) {
  placement_->write = [](const v1::RecordWrite&) { return std::nullopt; };
  Start();
  std::vector<ClaimCall> calls;
  for (int i = 0; i < 20; ++i) {
    calls.push_back(
        Claim(ledger_.Create(absl::StrCat("bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbb", 10 + i))));
  }
  ASSERT_TRUE(Eventually([&] { return Writes().size() == 16; }));
  const int64_t beats = uplink_->status().heartbeats;
  ASSERT_TRUE(Eventually([&] { return uplink_->status().heartbeats > beats + 2; }));
  EXPECT_EQ(Writes().size(), 16u) << "more might be sent only after an answer";
  placement_.reset();
  for (const ClaimCall& call : calls) ASSERT_TRUE(Answered(call));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(calls[i].refusal(), i < 16 ? Kind::kOutcomeUnknown : Kind::kPlacementAway) << i;
  }
  EXPECT_EQ(Promised().claims.amounts.vcpus, 16 * 2);
}

// The session ends before the answer. `applied`: the write is applied nevertheless.
class LostAnswerTest : public ClaimTest, public testing::WithParamInterface<bool> {};

TEST_P(LostAnswerTest, AClaimInDoubtIsWithdrawnInTheNextSession) {
  placement_->write = [this](const v1::RecordWrite& write) {
    if (GetParam()) ledger_.Apply(write);
    return std::nullopt;
  };
  Start();
  const v1::Instance instance = ledger_.Create(kGuest);
  const ClaimCall call = Claim(instance, "request", "body");
  ASSERT_TRUE(Eventually([&] { return !Writes().empty(); }));
  const v1::RecordWrite first = Writes()[0];
  placement_->EndSession();
  ASSERT_TRUE(Answered(call));
  EXPECT_EQ(call.refusal(), Kind::kOutcomeUnknown);
  placement_.reset();
  ASSERT_TRUE(AwaitNoSession());
  EXPECT_EQ(Claim(instance, "request", "body").refusal(), Kind::kOutcomeUnknown)
      << "nobody would answer it";
  Restart();
  ASSERT_TRUE(Eventually([&] { return !Writes().empty(); }));
  EXPECT_TRUE(Writes()[0].withdraw());
  ASSERT_TRUE(Eventually([&] { return Promised().claims == Usage(); }));
  EXPECT_EQ(Promised().instances.amounts.vcpus, GetParam() ? 2 : 0);
  // The late copy changes nothing.
  EXPECT_EQ(ledger_.Apply(first), grpc::StatusCode::ABORTED);  // T-395
  EXPECT_EQ(ledger_.Find(kGuest).host(), GetParam() ? "h" : "");
  ASSERT_TRUE(AwaitSession());
  if (GetParam()) {
    const ClaimCall repeat = Claim(instance, "request", "body");
    ASSERT_TRUE(Answered(repeat));
    EXPECT_TRUE(repeat.result->ok()) << repeat.result->status();  // T-385
  } else {
    const ClaimCall again = Claim(ledger_.Find(kGuest), "request 2", "body");
    ASSERT_TRUE(Answered(again));
    EXPECT_TRUE(again.result->ok()) << again.result->status();
  }
}

INSTANTIATE_TEST_SUITE_P(AppliedOrNot, LostAnswerTest, testing::Bool());

TEST_F(ClaimTest, CallersThatHaveGoneMakeWay) {
  placement_->write = [](const v1::RecordWrite&) { return std::nullopt; };
  Start();
  const v1::Instance instance = ledger_.Create(kGuest);
  const ClaimCall first = Claim(instance, "request", "body");
  ASSERT_TRUE(Eventually([&] { return !Writes().empty(); }));
  first.gone->store(true);
  const ClaimCall repeat = Claim(instance, "request", "body");
  EXPECT_EQ(first.refusal(), Kind::kOutcomeUnknown);
  EXPECT_EQ(*repeat.answers, 0);
  placement_->EndSession();
  ASSERT_TRUE(Answered(repeat));
  EXPECT_EQ(*first.answers, 1);
}

TEST_F(ClaimTest, AMoveIsClaimedInBothRecords) {
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  const v1::Migration migration = ledger_.CreateMove(kOther, &instance);
  const ClaimCall call = ClaimMoveOf(instance, migration);
  ASSERT_TRUE(Answered(call));
  ASSERT_TRUE(call.result->ok()) << call.result->status();
  EXPECT_EQ(ClaimIdOf((*call.result)->claim), kOther);
  EXPECT_EQ(ledger_.FindMove(kOther).destination_node_uuid(), uuid_);
  EXPECT_EQ(ledger_.FindMove(kOther).status(), "pre-migrating");  // T-168
  EXPECT_EQ(ledger_.Find(kGuest).host(), "h2");                   // T-169
  EXPECT_EQ(ledger_.Find(kGuest).migration_context().migration_uuid(), kOther);
  EXPECT_EQ(Promised().migrations.amounts.vcpus, 2);
  EXPECT_EQ(Promised().claims, Usage());
}

TEST_F(ClaimTest, AnInstanceThatDoesNotMoveIsNotClaimed) {
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  const v1::Migration migration = ledger_.CreateMove(kOther, &instance);
  instance.clear_task_state();
  EXPECT_EQ(ClaimMoveOf(instance, migration).refusal(), Kind::kWrongState);  // T-129
  EXPECT_EQ(Promised(), PromisedUsage());
}

TEST_F(ClaimTest, ANamespaceOfPersistentMemoryHasOneOwner) {  // T-149
  NodeConfiguration configuration = node_->options().configuration;
  configuration.pmem_namespaces = {{"CUSTOM_PMEM_NAMESPACE_S", {"ns0"}}};
  node_->Configure(configuration);
  ASSERT_EQ(Pass().result, PassOutcome::Result::kComplete);
  Start();
  silent_ = true;
  const auto claim = [this](const std::string& guest) {
    ClaimCall call;
    InstanceClaim claim;
    claim.node_uuid = ShortUuid(uuid_);
    claim.instance = ReadInstance(ledger_.Create(guest));
    claim.units = {{ShortUuid(uuid_), "CUSTOM_PMEM_NAMESPACE_S", 1}};
    Ask([&](NodeClaims* claims, auto* replies) { claims->Claim(claim, call.AsCaller(), replies); });
    return call;
  };
  claim(kGuest);
  ASSERT_TRUE(Eventually([&] { return !Writes().empty(); }));
  ASSERT_EQ(Writes()[0].instance().named_units_size(), 1);
  EXPECT_EQ(Writes()[0].instance().named_units(0).name(), "ns0");  // T-149
  const auto refused = RefusalOf(claim(kOther).result->status());
  ASSERT_TRUE(refused.has_value());
  EXPECT_THAT(refused->reasons, testing::ElementsAre(testing::HasSubstr("but 0 are available")));
}

}  // namespace
}  // namespace berth::tracker
