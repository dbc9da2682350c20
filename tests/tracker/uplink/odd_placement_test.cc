// What a placement may say that no tracker expects: answers to nothing, records with impossible
// values, messages without end.
#include <climits>
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/node/node_fixture.h"
#include "tests/tracker/uplink/claim_fixture.h"
#include "tracker/audit/audit.h"
#include "tracker/uplink/messages.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using Kind = ClaimRefusalKind;
using ::testing::HasSubstr;

constexpr char kUnmatched[] =
    "placement answered a write of records that does not wait for an answer";

TEST_F(ClaimTest, AnswersToNothingAreLoggedAndDropped) {
  Start();
  for (const std::string& node : {uuid_, std::string(kOther), std::string("none")}) {
    v1::RecordWrite unknown;
    unknown.set_write_id(4711);
    for (int i = 0; i < 20; ++i) {
      FakePlacement::Response answer = ledger_.Answer(unknown, grpc::StatusCode::INTERNAL);
      answer.mutable_record_answer()->set_node_uuid(node);
      placement_->Say(answer);
    }
  }
  EXPECT_TRUE(Eventually([this] { return Logged(kUnmatched) == 60; }));
  const ClaimCall call = Claim(ledger_.Create(kGuest));
  ASSERT_TRUE(Answered(call));
  EXPECT_TRUE(call.result->ok()) << call.result->status();
  EXPECT_EQ(uplink_->status().sessions, 1);
}

TEST_F(ClaimTest, AWriteThatIsMalformedEndsWithItsAnswer) {
  placement_->write = [this](const v1::RecordWrite& write) {
    return std::make_optional(ledger_.Answer(write, grpc::StatusCode::INVALID_ARGUMENT));
  };
  Start();
  const ClaimCall call = Claim(ledger_.Create(kGuest));
  ASSERT_TRUE(Answered(call));
  EXPECT_EQ(call.result->status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Promised(), PromisedUsage());
}

// A withdrawal that placement refuses for its form would be repeated for ever.
TEST_F(ClaimTest, AWithdrawalThatIsMalformedEndsTheClaim) {
  placement_->write = [](const v1::RecordWrite&) { return std::nullopt; };
  Start();
  const ClaimCall call = Claim(ledger_.Create(kGuest));
  ASSERT_TRUE(Eventually([&] { return !Writes().empty(); }));
  placement_->EndSession();
  ASSERT_TRUE(Answered(call));
  EXPECT_EQ(call.refusal(), Kind::kOutcomeUnknown);
  EXPECT_NE(Promised().claims, Usage());
  placement_.reset();
  ASSERT_TRUE(AwaitNoSession());
  placement_ = std::make_unique<FakePlacement>(port_, [this](FakePlacement* refusing) {
    refusing->write = [this](const v1::RecordWrite& write) {
      return std::make_optional(ledger_.Answer(write, grpc::StatusCode::INVALID_ARGUMENT));
    };
  });
  EXPECT_TRUE(Eventually([&] { return Promised().claims == Usage(); }));
  ASSERT_TRUE(AwaitSession());
  EXPECT_EQ(Writes().size(), 1u);
}

TEST_F(ClaimTest, AWithdrawalHasIdsAndGenerationsOnly) {
  placement_->write = [](const v1::RecordWrite&) { return std::nullopt; };
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  const v1::Migration migration = ledger_.CreateMove(kOther, &instance);
  ClaimMoveOf(instance, migration);
  ASSERT_TRUE(Eventually([&] { return !Writes().empty(); }));
  placement_.reset();
  ASSERT_TRUE(AwaitNoSession());
  Restart();
  ASSERT_TRUE(Eventually([&] { return !Writes().empty(); }));
  v1::RecordWrite expected;
  expected.set_write_id(Writes()[0].write_id());
  expected.set_node_uuid(uuid_);
  expected.set_withdraw(true);
  expected.mutable_instance()->set_uuid(kGuest);
  expected.mutable_instance()->set_generation(instance.generation());
  expected.mutable_migration()->set_uuid(kOther);
  expected.mutable_migration()->set_generation(migration.generation());
  EXPECT_EQ(Writes()[0].DebugString(), expected.DebugString());
}

// The edge refuses such claims. This one comes from inside, as an end or a repair could.
TEST_F(ClaimTest, AMalformedWriteIsNotSent) {
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  (*instance.mutable_flavor()->mutable_extra_specs())["x"] = std::string("p\0", 2);
  const ClaimCall call = Claim(instance);
  ASSERT_TRUE(Answered(call));
  EXPECT_EQ(call.result->status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(call.result->status().message()), HasSubstr("U+0000"));
  EXPECT_EQ(Promised(), PromisedUsage());
  const ClaimCall good = Claim(ledger_.Find(kGuest));
  ASSERT_TRUE(Answered(good));
  EXPECT_TRUE(good.result->ok()) << good.result->status();
  EXPECT_EQ(Writes().size(), 1u);
  EXPECT_EQ(uplink_->status().sessions, 1);
}

// Placement has written the abort, and its answer is lost.
TEST_F(ClaimTest, ARepeatIsNotToldOfAClaimThatMayBeAborted) {
  Start();
  const v1::Instance instance = ledger_.Create(kGuest);
  const ClaimCall call = Claim(instance, "request", "body");
  ASSERT_TRUE(Answered(call));
  placement_->write = [this](const v1::RecordWrite& write) {
    ledger_.Apply(write);
    return std::nullopt;
  };
  const ClaimCall abort = Abort(ClaimIdOf((*call.result)->claim));
  ASSERT_TRUE(Eventually([&] { return Writes().size() == 2; }));
  EXPECT_EQ(ledger_.Find(kGuest).host(), "");
  placement_.reset();
  ASSERT_TRUE(Answered(abort));
  EXPECT_EQ(abort.refusal(), Kind::kOutcomeUnknown);
  ASSERT_TRUE(AwaitNoSession());
  EXPECT_EQ(Claim(instance, "request", "body").refusal(), Kind::kPlacementAway);  // T-385
  Restart();
  ASSERT_TRUE(AwaitSession());
  ASSERT_TRUE(Tell(kGuest));
  ASSERT_TRUE(Eventually([&] { return Promised() == PromisedUsage(); }));
  const ClaimCall repeat = Claim(instance, "request", "body");
  ASSERT_TRUE(Answered(repeat));
  EXPECT_EQ(repeat.refusal(), Kind::kRecordConflict);  // T-385
}

TEST_F(ClaimTest, APushWithoutEndEndsItsSession) {
  UplinkOptions options = OptionsFor(placement_->target());
  options.received_bytes_max = 1 << 20;
  uplink_ = Connect(options);
  ASSERT_TRUE(Eventually([this] { return uplink_->status().sessions == 1; }));
  FakePlacement::Response slice;
  slice.mutable_push()->set_node_uuid(uuid_);
  slice.mutable_push()->set_more(true);
  slice.mutable_push()->add_removed_consumer_uuids(std::string(400 << 10, 'x'));
  for (int i = 0; i < 3; ++i) placement_->Say(slice);
  EXPECT_TRUE(Eventually([this] { return uplink_->status().sessions == 2; }));
  EXPECT_EQ(Logged("placement has sent a push that is too large: the session ends"), 1);
  EXPECT_TRUE(AwaitSession());
}

TEST(OddPush, TwoMigrationsWithOneUuidLeaveNoTrace) {
  NodeAccount account(kHere, NodeResources());
  const Instance first = MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 1));
  const Instance second = MakeInstance("b", kHere, MakeFlavor("f", 2, 512, 1));
  Migration of_first = MakeMigration(first, MigrationType::kCold, "migrating", kHere, kThere);
  Migration of_second = MakeMigration(second, MigrationType::kCold, "migrating", kHere, kThere);
  of_first.uuid = of_second.uuid = "m"_uuid;
  account.ReplaceRecords({first, second}, {of_first, of_second});
  EXPECT_EQ(account.FindMigration("m"_uuid)->instance_uuid, "b"_uuid);
  EXPECT_TRUE(account.DropMigration("m"_uuid));
  account.PutInstance(first);  // looks at the migrations of the instance
  EXPECT_EQ(account, account.Rebuilt());
}

TEST(OddPush, ImpossibleNumbersAreBounded) {
  v1::Push push;
  push.set_complete(true);
  v1::Provider* const provider = push.add_providers();
  provider->set_uuid("p"_uuid.ToString());
  v1::Inventory& inventory = (*provider->mutable_inventories())["VCPU"];
  inventory.set_total(INT64_MAX);
  inventory.set_reserved(INT64_MIN);
  const auto read = [&] {
    return ReadProviders(push.providers(), "n"_uuid)[0].inventories["VCPU"];
  };
  for (const double ratio : {-1.0, 0.0, 1e308, std::nan("")}) {
    inventory.set_allocation_ratio(ratio);
    EXPECT_EQ(read().allocation_ratio, 1) << ratio;
  }
  EXPECT_EQ(read().total, INT32_MAX);
  EXPECT_EQ(read().reserved, 0);
  v1::Consumer* const consumer = push.add_consumers();
  consumer->set_uuid("c"_uuid.ToString());
  (*consumer->add_allocations()->mutable_resources())["VCPU"] = INT64_MAX;
  Records records;
  NodeAccount account(kHere, NodeResources());
  ApplyPush(push, {}, &records, &account);
  EXPECT_EQ(records.allocations[0].amounts["VCPU"], INT32_MAX);
}

// The names of projects, tasks and states come from others.
TEST(OddPush, CountersAreLeftOutIfTheyAreTooLong) {
  NodeAccount account(kHere, NodeResources());
  for (int i = 0; i < 400; ++i) {
    Instance instance = MakeInstance(absl::StrCat("i", i), kHere, MakeFlavor("f", 1, 1, 1));
    instance.project_id = absl::StrCat(std::string(250, 'p'), i);
    account.PutInstance(instance);
  }
  const auto facts = std::make_shared<const Facts>(OrdinaryFacts());
  const absl::StatusOr<Audit> audit = RunAudit({.facts = facts,
                                                .configuration = {},
                                                .node_uuid = "node-1"_uuid,
                                                .node_name = "n",
                                                .account = &account});
  ASSERT_TRUE(audit.ok()) << audit.status();
  Outbox::Outgoing outgoing;
  outgoing.audit = std::make_shared<const Audit>(*audit);
  const v1::Report report = WireReport(outgoing, std::nullopt, {});
  EXPECT_LE(report.account().ByteSizeLong(), size_t{64} << 10);
  EXPECT_EQ(report.account().counters().at("num_instances"), 400);
  std::vector<std::string> texts;
  for (const v1::Finding& finding : report.findings().findings())
    texts.push_back(finding.message());
  EXPECT_THAT(texts, testing::Contains(HasSubstr(" counters are left out of the report")));
}

}  // namespace
}  // namespace berth::tracker
