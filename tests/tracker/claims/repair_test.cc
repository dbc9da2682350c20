// The records that a pass corrects.
#include "tracker/claims/repair.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/account/sample_records.h"

namespace berth::tracker {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class RepairTest : public testing::Test {
 protected:
  static Instance On(const HostAndNode& on) {
    return MakeInstance("i", on, MakeFlavor("f", 1, 512, 1));
  }
  std::vector<Repair> Find(const Instance& instance, const std::vector<Migration>& migrations,
                           const std::set<std::string>& guests) {
    NodeAccount account(kHere, NodeResources());
    account.ReplaceRecords({instance}, migrations);
    return FindRepairs(account, guests);
  }
};

TEST_F(RepairTest, AnInstanceWithoutANodeGetsTheNodeOfItsGuest) {
  Instance instance = On({"h1", ""});
  const std::vector<Repair> repairs = Find(instance, {}, {"i"});
  ASSERT_THAT(repairs, SizeIs(1));
  EXPECT_EQ(repairs[0].instance.on, kHere);  // T-28
  EXPECT_FALSE(repairs[0].migration.has_value());
  EXPECT_THAT(Find(instance, {}, {"another guest"}), IsEmpty()) << "it may be on another node";
  EXPECT_THAT(Find(On(kHere), {}, {"i"}), IsEmpty());  // T-28: it is right
  EXPECT_THAT(Find(On({"", ""}), {}, {"i"}), IsEmpty()) << "nobody has claimed it";
  instance.unreadable = "numa_cells";
  EXPECT_THAT(Find(instance, {}, {"i"}), IsEmpty()) << "the write would lose the cells";
  instance.unreadable.clear();
  instance.deleted = true;
  EXPECT_THAT(Find(instance, {}, {"i"}), IsEmpty());
}

TEST_F(RepairTest, AMigrationWithTheContextOfAnotherOneFails) {
  Instance instance = On(kThere);
  instance.vm_state = "resized";
  instance.context.emplace().migration_uuid = "another";
  const Migration migration =
      MakeMigration(instance, MigrationType::kResize, "migrating", kThere, kHere);
  const std::vector<Repair> repairs = Find(instance, {migration}, {});
  ASSERT_THAT(repairs, SizeIs(1));
  EXPECT_EQ(repairs[0].migration->status, "error");  // T-129
  EXPECT_FALSE(repairs[0].ends_move) << "it may still hold something";
  instance.context->migration_uuid = "m";
  EXPECT_THAT(Find(instance, {migration}, {}), IsEmpty());
}

TEST_F(RepairTest, AnEvacuationEndsWhenItsGuestHasGone) {
  const Instance instance = On(kThere);
  const auto evacuation = [&](const char* status, const HostAndNode& from, const HostAndNode& to) {
    return MakeMigration(instance, MigrationType::kEvacuation, status, from, to);
  };
  const std::vector<Repair> repairs = Find(instance, {evacuation("done", kHere, kThere)}, {});
  ASSERT_THAT(repairs, SizeIs(1));
  EXPECT_EQ(repairs[0].migration->status, "completed");                                // T-146
  EXPECT_TRUE(repairs[0].ends_move);                                                   // T-146
  EXPECT_THAT(Find(instance, {evacuation("done", kHere, kThere)}, {"i"}), IsEmpty());  // T-146
  EXPECT_THAT(Find(instance, {evacuation("accepted", kHere, kThere)}, {}), IsEmpty());
  EXPECT_THAT(Find(instance, {evacuation("done", {"h1", "node-9"}, kThere)}, {}), IsEmpty());
  EXPECT_THAT(Find(On({"h3", "n"}), {evacuation("done", kHere, kThere)}, {}), IsEmpty())
      << "it has moved on";
  EXPECT_THAT(Find(On(kHere), {evacuation("done", kHere, kThere)}, {}), IsEmpty());  // T-147
}

}  // namespace
}  // namespace berth::tracker
