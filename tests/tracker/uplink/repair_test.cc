// The records that a pass corrects, and their way into placement.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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
    move->set_destination_node_uuid("node-2");
  });
  ledger_.Place(kGuest, "h2");
  ASSERT_TRUE(Tell(kGuest));
  EXPECT_THAT(Pass().repairs, SizeIs(1));
  uplink_->Notify();
  EXPECT_TRUE(Eventually([&] { return ledger_.ends().size() == 1; }));
  EXPECT_THAT(ledger_.ends(), ElementsAre(v1::MOVE_END_COMPLETED));  // T-146
  EXPECT_EQ(ledger_.Find(kGuest).host(), "h2");
}

}  // namespace
}  // namespace berth::tracker
