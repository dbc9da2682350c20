// The records that a pass corrects.
#include "tracker/claims/repair.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"

namespace berth::tracker {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RepairTest : public testing::Test {
 protected:
  static Instance On(const HostAndNode& on) {
    return MakeInstance("i", on, MakeFlavor("f", 1, 512, 1));
  }
  std::vector<Repair> Find(const Instance& instance, const std::vector<Migration>& migrations,
                           const std::set<Uuid>& guests) {
    NodeAccount account(kHere, NodeResources());
    account.ReplaceRecords({instance}, migrations);
    return FindRepairs(account, guests);
  }
};

TEST_F(RepairTest, AnInstanceWithoutANodeGetsTheNodeOfItsGuest) {
  Instance instance = On({"h1", ""_uuid});
  const std::vector<Repair> repairs = Find(instance, {}, {"i"_uuid});
  ASSERT_THAT(repairs, SizeIs(1));
  EXPECT_EQ(repairs[0].instance.on, kHere);  // T-28
  EXPECT_FALSE(repairs[0].migration.has_value());
  EXPECT_THAT(Find(instance, {}, {"another guest"_uuid}), IsEmpty()) << "it may be on another node";
  EXPECT_THAT(Find(On(kHere), {}, {"i"_uuid}), IsEmpty());  // T-28: it is right
  EXPECT_THAT(Find(On({"", Uuid()}), {}, {"i"_uuid}), IsEmpty()) << "nobody has claimed it";
  instance.unreadable = "numa_cells";
  EXPECT_THAT(Find(instance, {}, {"i"_uuid}), IsEmpty()) << "the write would lose the cells";
  instance.unreadable.clear();
  instance.has_unknown_fields = true;
  EXPECT_THAT(Find(instance, {}, {"i"_uuid}), IsEmpty()) << "the write would lose the fields";
  instance.has_unknown_fields = false;
  instance.deleted = true;
  EXPECT_THAT(Find(instance, {}, {"i"_uuid}), IsEmpty());
}

TEST_F(RepairTest, AMigrationWithTheContextOfAnotherOneFails) {
  Instance instance = On(kThere);
  instance.vm_state = "resized";
  instance.context.emplace().migration_uuid = "another"_uuid;
  Migration migration = MakeMigration(instance, MigrationType::kResize, "migrating", kThere, kHere);
  const std::vector<Repair> repairs = Find(instance, {migration}, {});
  ASSERT_THAT(repairs, SizeIs(1));
  EXPECT_EQ(repairs[0].migration->status, "error");  // T-129
  EXPECT_FALSE(repairs[0].ends_move) << "it may still hold something";
  migration.unreadable = "source_node_uuid is not a uuid";
  EXPECT_THAT(Find(instance, {migration}, {}), IsEmpty()) << "the write would lose the rest";
  migration.unreadable.clear();
  instance.context->migration_uuid = "m"_uuid;
  EXPECT_THAT(Find(instance, {migration}, {}), IsEmpty());
}

TEST_F(RepairTest, AnEvacuationEndsWhenItsGuestHasGone) {
  const Instance instance = On(kThere);
  const auto evacuation = [&](const char* status, const HostAndNode& from, const HostAndNode& to) {
    return MakeMigration(instance, MigrationType::kEvacuation, status, from, to);
  };
  const std::vector<Repair> repairs = Find(instance, {evacuation("done", kHere, kThere)}, {});
  ASSERT_THAT(repairs, SizeIs(1));
  EXPECT_EQ(repairs[0].migration->status, "completed");                                     // T-146
  EXPECT_TRUE(repairs[0].ends_move);                                                        // T-146
  EXPECT_THAT(Find(instance, {evacuation("done", kHere, kThere)}, {"i"_uuid}), IsEmpty());  // T-146
  EXPECT_THAT(Find(instance, {evacuation("accepted", kHere, kThere)}, {}), IsEmpty());
  EXPECT_THAT(Find(instance, {evacuation("done", {"h1", "node-9"_uuid}, kThere)}, {}), IsEmpty());
  EXPECT_THAT(Find(On({"h3", "n"_uuid}), {evacuation("done", kHere, kThere)}, {}), IsEmpty())
      << "it has moved on";
  EXPECT_THAT(Find(On(kHere), {evacuation("done", kHere, kThere)}, {}), IsEmpty());  // T-147
}

constexpr absl::Time kBoot = absl::FromUnixSeconds(3600);

// An instance of this node that was last changed before the host was started.
Instance Interrupted(const std::string& vm_state, const std::string& task_state) {
  Instance instance = MakeInstance("i", kHere, MakeFlavor("f", 1, 512, 1));
  instance.vm_state = vm_state;
  instance.task_state = task_state;
  instance.updated_at = kBoot - absl::Seconds(1);
  return instance;
}

std::vector<Interruption> Examined(const Instance& instance, GuestState state,
                                   const std::vector<Migration>& migrations = {}) {
  NodeAccount account(kHere, NodeResources());
  account.ReplaceRecords({instance}, migrations);
  Guest guest;
  guest.uuid = "i"_uuid;
  guest.state = state;
  return FindInterrupted(account, {guest}, kBoot);
}

TEST(Interruptions, AreSettledByTheFirstRuleThatFits) {
  constexpr GuestState kOff = GuestState::kShutOff;
  constexpr GuestState kRuns = GuestState::kRunning;
  const struct {
    const char* vm_state;
    const char* task_state;
    GuestState guest;
    const char* becomes;  // state and task; empty: the record stays
    const char* advice;   // empty: people have nothing to do
  } cases[] = {
      {"building", "", kOff, "error/", ""},                     // T-33
      {"building", "spawning", kRuns, "error/", ""},            // T-33
      {"building", "deleting", kOff, "error/", ""},             // T-33: building comes first
      {"shelved_offloaded", "spawning", kOff, "error/", ""},    // T-33
      {"active", "scheduling", kRuns, "error/", ""},            // T-33
      {"active", "block_device_mapping", kRuns, "error/", ""},  // T-33
      {"active", "networking", kRuns, "error/", ""},            // T-33
      {"active", "rebuilding", kRuns, "error/", ""},            // T-33
      {"stopped", "rebuild_spawning", kOff, "error/", ""},      // T-33
      {"paused", "rebuilding", kRuns, "", ""},                  // T-33: only these two states
      {"active", "image_snapshot", kRuns, "active/", ""},       // T-33
      {"active", "image_uploading", kOff, "active/", "start its guest"},  // T-33: and goes on
      {"stopped", "resize_prep", kOff, "stopped/", ""},                   // T-33
      {"active", "deleting", kRuns, "", "delete it again"},               // T-33
      {"error", "deleting", kOff, "", "delete it again"},                 // T-33
      {"active", "reboot_started", kOff, "", "reboot it again"},          // T-33
      {"active", "reboot_pending_hard", kOff, "", "reboot it again"},     // T-33
      {"active", "powering-off", kRuns, "", "stop it again"},             // T-33
      {"stopped", "powering-on", kOff, "", "start it again"},             // T-33
      {"active", "rebooting", kRuns, "active/", ""},                      // T-33
      {"active", "pausing", kRuns, "active/", ""},                        // T-33
      {"paused", "unpausing", kRuns, "active/", ""},                      // T-33
      {"paused", "unpausing", GuestState::kPaused, "", ""},               // T-33: it does not run
      {"active", "resize_migrating", kOff, "", "revert its move"},        // T-33
      {"error", "resize_migrating", kOff, "", "revert its move"},         // T-33
      {"active", "", kOff, "", "start its guest"},                        // T-33
      {"active", "", kRuns, "", ""},
      {"stopped", "", kOff, "", ""},
      {"error", "", kOff, "", ""},            // T-33
      {"error", "spawning", kOff, "", ""},    // T-33
      {"soft-delete", "", kOff, "", ""},      // T-33
      {"deleted", "deleting", kOff, "", ""},  // what is left of it is a finding
  };
  for (const auto& one : cases) {
    const auto found = Examined(Interrupted(one.vm_state, one.task_state), one.guest);
    const std::string becomes = one.becomes;
    const std::string advice = one.advice;
    SCOPED_TRACE(std::string(one.vm_state) + "/" + one.task_state);
    ASSERT_EQ(found.size(), becomes.empty() && advice.empty() ? 0u : 1u);
    if (found.empty()) continue;
    const Instance& after = found[0].instance;
    EXPECT_EQ(found[0].changes, !becomes.empty());
    if (found[0].changes) {
      EXPECT_EQ(after.vm_state + "/" + after.task_state, becomes);
    }
    EXPECT_THAT(found[0].text,
                HasSubstr("instance " + "i"_uuid.ToString() + " was " + std::string(one.vm_state)));
    EXPECT_THAT(found[0].text, HasSubstr(advice));
  }
}

TEST(Interruptions, AreOnlyOfThisHostAndOfTheTimeBeforeItsStart) {
  constexpr GuestState kOff = GuestState::kShutOff;
  Instance instance = Interrupted("building", "spawning");
  ASSERT_THAT(Examined(instance, kOff), SizeIs(1));
  instance.updated_at = kBoot;
  EXPECT_THAT(Examined(instance, kOff), IsEmpty()) << "its builder is at work";
  instance.updated_at = absl::InfinitePast();
  EXPECT_THAT(Examined(instance, kOff), IsEmpty()) << "nobody knows how old the record is";
  instance = Interrupted("building", "spawning");
  instance.on = kThere;
  EXPECT_THAT(Examined(instance, kOff), IsEmpty());  // T-33
  instance = Interrupted("active", "rebuilding");
  Migration migration =
      MakeMigration(instance, MigrationType::kEvacuation, "accepted", kHere, kThere);
  EXPECT_THAT(Examined(instance, kOff, {migration}), IsEmpty()) << "the new host works on it";
  migration.status = "failed";
  EXPECT_THAT(Examined(instance, kOff, {migration}), SizeIs(1));
  instance.unreadable = "numa_cells";
  const auto found = Examined(instance, kOff);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_FALSE(found[0].changes) << "the write would lose the cells";
  EXPECT_EQ(found[0].instance.vm_state, "active");
}

}  // namespace
}  // namespace berth::tracker
