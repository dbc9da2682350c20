// The records that a pass corrects, and their way into placement.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/uplink/claim_fixture.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kRunning[] = "11111111-1111-4111-8111-111111111111";  // a guest of three_guests.xml

TEST_F(ClaimTest, APassGivesAnInstanceTheNodeOfItsGuest) {
  Start();
  ledger_.Create(kRunning);
  ledger_.Change(kRunning, [](v1::Instance* instance) {
    instance->set_host("h");
    instance->set_vm_state("active");
    instance->clear_task_state();
  });
  ASSERT_TRUE(Tell(kRunning));
  EXPECT_EQ(Promised().instances.amounts.vcpus, 0);
  EXPECT_THAT(Pass().repairs, SizeIs(1));
  uplink_->Notify();
  EXPECT_TRUE(Eventually([&] { return ledger_.Find(kRunning).node_uuid() == uuid_; }));  // T-28
  EXPECT_TRUE(Eventually([&] { return Promised().instances.amounts.vcpus == 2; }));      // T-28
  EXPECT_THAT(Pass().repairs, IsEmpty());  // T-28: it is saved only if it changes
  EXPECT_EQ(Writes().size(), 1u);
}

TEST_F(ClaimTest, AClaimDuringARepairIsToBeRepeated) {
  Start();
  silent_ = true;
  ledger_.Create(kRunning);
  ledger_.Change(kRunning, [](v1::Instance* instance) { instance->set_host("h"); });
  ASSERT_TRUE(Tell(kRunning));
  ASSERT_THAT(Pass().repairs, SizeIs(1));
  EXPECT_EQ(Claim(ledger_.Find(kRunning), "r").refusal(), ClaimRefusalKind::kUnsettled);  // T-181
}

TEST_F(ClaimTest, ARepairThatFailsIsToldAndTriedAgain) {
  placement_->write = [this](const v1::RecordWrite& write) {
    return std::make_optional(ledger_.Answer(write, grpc::StatusCode::UNAVAILABLE));
  };
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  ledger_.CreateMove(kOther, &instance);
  ledger_.ClaimMove(kOther, "h");
  ledger_.SetMoveState(kOther, "migrating", "resize_migrating");
  ledger_.Change(kGuest, [](v1::Instance* changed) {
    changed->mutable_migration_context()->set_migration_uuid(kRunning);  // of another migration
  });
  ASSERT_TRUE(Tell(kGuest));
  EXPECT_THAT(Pass().repairs, SizeIs(1));
  uplink_->Notify();
  std::vector<std::string> texts;
  ASSERT_TRUE(Eventually([&] { return (texts = Pass().repairs).size() == 2; }));
  EXPECT_THAT(texts[0], HasSubstr("placement has not written the record"));  // T-131
  EXPECT_EQ(Promised().migrations.amounts.vcpus, 0);  // T-131: it does not count
  EXPECT_EQ(ledger_.FindMove(kOther).status(), "migrating");
  Restart();
  ASSERT_TRUE(AwaitSession());
  ASSERT_TRUE(Eventually([&] {
    Pass();
    uplink_->Notify();
    return ledger_.FindMove(kOther).status() == "error";  // T-129
  }));
  EXPECT_THAT(ledger_.ends(), ElementsAre(v1::MOVE_END_UNSPECIFIED));
}

TEST_F(ClaimTest, APassEndsAnEvacuationThatLeftNoGuest) {
  Start();
  v1::Instance instance = ledger_.Create(kGuest);
  ledger_.CreateMove(kOther, &instance, "h");
  ledger_.ChangeMove(kOther, [](v1::Migration* move) {
    move->set_type(v1::MIGRATION_TYPE_EVACUATION);
    move->set_status("done");
    move->set_destination_host("h2");
    move->set_destination_node_uuid(kElsewhere);
  });
  ledger_.Place(kGuest, "h2");
  ASSERT_TRUE(Tell(kGuest));
  EXPECT_THAT(Pass().repairs, SizeIs(1));
  uplink_->Notify();
  EXPECT_TRUE(Eventually([&] { return ledger_.ends().size() == 1; }));
  EXPECT_THAT(ledger_.ends(), ElementsAre(v1::MOVE_END_COMPLETED));  // T-146
  EXPECT_EQ(ledger_.Find(kGuest).host(), "h2");
}

// A tracker of a host that was started after these records were written.
class RestartTest : public ClaimTest {
 protected:
  RestartTest() {
    Node::Options options = node_->options();
    options.booted_at = absl::Now();
    node_ = std::make_unique<Node>(options, &pool_, [](const HypervisorEvent&) {});
    Pass();
    for (const char* const uuid : {kGuest, kOther, kRunning}) {
      ledger_.Create(uuid);
      ledger_.SetClaimed(uuid, 1);
      ledger_.SetState(uuid, "building");
    }
    ledger_.Change(kRunning, [](v1::Instance* instance) {
      instance->set_vm_state("active");
      instance->set_task_state("deleting");
    });
  }
  // Starts the session, in which placement first sends all records.
  void StartWithRecords() {
    placement_->recorded.emplace_back();
    placement_->recorded[0].set_node_uuid(uuid_);
    placement_->recorded[0].set_node_name("n1");
    placement_->recorded[0].set_host("h");
    uplink_ = Connect(*placement_);
    ASSERT_TRUE(Eventually([&] { return node_->view().standing != Standing::kNone; }));
    FakePlacement::Response all;
    all.mutable_push()->set_node_uuid(uuid_);
    all.mutable_push()->set_complete(true);
    for (const char* const uuid : {kGuest, kOther, kRunning}) {
      *all.mutable_push()->add_instances() = ledger_.Find(uuid);
    }
    placement_->Say(all);
    ASSERT_TRUE(Eventually([&] { return node_->view().has_records; }) && Settles());
  }
  std::string StateOf(const std::string& uuid) {
    const v1::Instance instance = ledger_.Find(uuid);
    return instance.vm_state() + "/" + instance.task_state();
  }
  // Runs passes until they have nothing more to correct; returns their texts.
  std::vector<std::string> PassUntilQuiet() {
    std::vector<std::string> texts;
    EXPECT_TRUE(Eventually([&] {
      const std::vector<std::string> more = Pass().repairs;
      uplink_->Notify();
      texts.insert(texts.end(), more.begin(), more.end());
      return more.empty() && StateOf(kOther) == "error/";
    }));
    return texts;
  }
};

TEST_F(RestartTest, WhatTheHostInterruptedIsSettledOrTold) {
  StartWithRecords();
  const std::vector<std::string> texts = PassUntilQuiet();
  EXPECT_EQ(StateOf(kGuest), "error/");             // T-33
  EXPECT_EQ(StateOf(kOther), "error/");             // T-33
  EXPECT_EQ(StateOf(kRunning), "active/deleting");  // T-33: deleting needs people
  EXPECT_EQ(ledger_.Find(kGuest).host(), "h");
  ASSERT_THAT(texts, SizeIs(3));
  EXPECT_THAT(texts, testing::Contains(HasSubstr("delete it again")));  // T-33
  // The ledger has the second record before the tracker hears the answer.
  EXPECT_TRUE(Eventually([&] { return node_->accounting()->counters["num_vm_error"] == 2; }));
}

TEST_F(RestartTest, OneThatCannotBeSettledDoesNotStopTheOthers) {
  placement_->write = [this](const v1::RecordWrite& write) {
    const bool refused = write.instance().uuid() == kGuest;
    return std::make_optional(
        ledger_.Answer(write, refused ? grpc::StatusCode::UNAVAILABLE : ledger_.Apply(write)));
  };
  StartWithRecords();
  std::vector<std::string> texts;
  EXPECT_TRUE(Eventually([&] {
    for (std::string& text : Pass().repairs) texts.push_back(std::move(text));
    uplink_->Notify();
    return StateOf(kOther) == "error/" && texts.size() > 3;  // T-33
  }));
  EXPECT_THAT(texts, testing::Contains(testing::AllOf(HasSubstr("has not written the record"),
                                                      HasSubstr(kGuest))));  // T-33
  EXPECT_EQ(StateOf(kGuest), "building/spawning");
}

// A claim of this process is not interrupted, whatever its record and the host's clock say.
TEST_F(RestartTest, WhatIsClaimedAfterTheStartIsLeftAlone) {
  StartWithRecords();
  PassUntilQuiet();
  constexpr char kNew[] = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";
  ASSERT_TRUE(Answered(Claim(ledger_.Create(kNew))));
  ledger_.SetState(kNew, "building");
  ASSERT_TRUE(Tell(kNew));
  EXPECT_THAT(Pass().repairs, IsEmpty());
  EXPECT_EQ(StateOf(kNew), "building/spawning");
}

}  // namespace
}  // namespace berth::tracker
