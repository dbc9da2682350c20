// Moves from one tracker to another: records, allocations and both accounts after each step.
#include <gmock/gmock.h>

#include <string>

#include "tests/e2e/stub_call.h"
#include "tests/e2e/two_hosts.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

using ::testing::ElementsAre;

constexpr char kNothing[] = "0 MiB, moving 0 MiB, CPUs ";
constexpr char kOnSource[] = "256 MiB, moving 0 MiB, CPUs 2";
constexpr char kOnDestination[] = "512 MiB, moving 0 MiB, CPUs 2,4";

class MoveTest : public TwoHosts {
 protected:
  // Resizes the instance from the source to the destination, until its user has to say whether the
  // resize shall stay.
  void Resize() {
    const pb::Flavor large = FlavorOf("large", 2, 512);
    Build(FlavorOf("small", 1, 256));
    ExpectAccounts(kOnSource, kNothing);  // T-155
    BeginMove(pb::MIGRATION_TYPE_RESIZE, large);
    ExpectAccounts(kOnSource, kNothing);  // T-133: it counts here already
    ClaimMove(large);
    EXPECT_EQ(Migration().status(), "pre-migrating");                        // T-168
    EXPECT_EQ(Migration().destination_node_uuid(), destination_.node);       // T-168
    EXPECT_EQ(Instance().host(), "h1");                                      // T-169
    EXPECT_EQ(Instance().flavor().id(), "small");                            // T-169
    EXPECT_EQ(Instance().migration_context().migration_uuid(), migration_);  // T-168
    ExpectAccounts(kOnSource, "0 MiB, moving 512 MiB, CPUs 2,4");            // T-133, T-134
    ExpectBothHold();
    Arrive();
    ExpectAccounts("0 MiB, moving 256 MiB, CPUs 2", kOnDestination);  // T-125, T-133, T-395
    ExpectBothHold();
  }
  // Until the move ends, the migration has the part of the source (T-221).
  void ExpectBothHold() {
    EXPECT_EQ(HeldBy(migration_), "h1{MEMORY_MB:256 PCPU:1}");  // T-221
    EXPECT_EQ(HeldBy(instance_), "h2{MEMORY_MB:512 PCPU:2}");   // T-221
  }
};

TEST_F(MoveTest, AConfirmedResizeFreesTheSource) {
  ASSERT_NO_FATAL_FAILURE(Resize());
  bool dropped = false;
  const grpc::Status confirmed = DropSide(source_, tracker_pb::MOVE_SIDE_OLD, &dropped);
  ASSERT_TRUE(confirmed.ok()) << confirmed.error_message();
  EXPECT_TRUE(dropped);                          // T-176
  EXPECT_EQ(Migration().status(), "confirmed");  // T-173
  const pb::Instance record = Instance();
  EXPECT_EQ(record.host(), "h2");                            // T-173
  EXPECT_EQ(record.flavor().id(), "large");                  // T-173
  EXPECT_FALSE(record.has_migration_context());              // T-173
  EXPECT_EQ(HeldBy(migration_), "");                         // T-173, T-221
  EXPECT_EQ(HeldBy(instance_), "h2{MEMORY_MB:512 PCPU:2}");  // T-173, T-221
  ExpectAccounts(kNothing, kOnDestination);                  // T-173
  const grpc::Status again = DropSide(source_, tracker_pb::MOVE_SIDE_OLD, &dropped);
  EXPECT_TRUE(again.ok()) << again.error_message();
  EXPECT_FALSE(dropped);  // T-176
}

TEST_F(MoveTest, ARevertedResizeFreesTheDestination) {
  ASSERT_NO_FATAL_FAILURE(Resize());
  bool dropped = false;
  EXPECT_THAT(Reasons(DropSide(destination_, tracker_pb::MOVE_SIDE_NEW, &dropped)),
              ElementsAre("WRONG_STATE"));  // T-174
  EXPECT_TRUE(DropSide(source_, tracker_pb::MOVE_SIDE_NEW, &dropped).ok());
  EXPECT_FALSE(dropped);                        // T-176: the source has no part of that side
  EXPECT_EQ(Migration().status(), "finished");  // T-174
  pb::Instance record = Instance();
  record.set_task_state("resize_reverting");
  AwaitRecord(destination_, Store(record));
  const grpc::Status reverted = DropSide(destination_, tracker_pb::MOVE_SIDE_NEW, &dropped);
  ASSERT_TRUE(reverted.ok()) << reverted.error_message();
  EXPECT_TRUE(dropped);                         // T-176
  EXPECT_EQ(Migration().status(), "reverted");  // T-174
  record = Instance();
  EXPECT_EQ(record.host(), "h1");                // T-174
  EXPECT_EQ(record.node_uuid(), source_.node);   // T-174
  EXPECT_EQ(record.flavor().id(), "small");      // T-174
  EXPECT_FALSE(record.has_migration_context());  // T-174
  ASSERT_EQ(record.numa_cells_size(), 1);
  EXPECT_EQ(record.numa_cells(0).pinning().at(0), 2);        // T-174
  EXPECT_EQ(HeldBy(migration_), "");                         // T-174, T-221
  EXPECT_EQ(HeldBy(instance_), "h1{MEMORY_MB:256 PCPU:1}");  // T-174, T-221
  ExpectAccounts(kOnSource, kNothing);                       // T-174
}

}  // namespace
}  // namespace berth::e2e
