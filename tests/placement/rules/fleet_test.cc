#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/fleet_world.h"

namespace berth::placement {
namespace {

TEST(RulesFleet, RegisterMakesAndRenews) {
  FleetWorld fleet;
  EXPECT_EQ(fleet.Register("h1", 1, "machine-a"), "OK");
  const ServiceRecord first = fleet.service("h1");
  EXPECT_TRUE(first.up);  // T-1
  EXPECT_EQ(first.incarnation, FleetWorld::Process(1));
  EXPECT_EQ(first.id, (Uuid{5, 1}));
  EXPECT_FALSE(first.disabled);
  EXPECT_EQ(fleet.Register("h1", 1, "machine-a"), "OK");
  EXPECT_EQ(fleet.service("h1"), first);                  // nothing to change: not even the time
  EXPECT_EQ(fleet.Register("h2", 1, "machine-a"), "OK");  // T-1: unique by (host, binary)
}

TEST(RulesFleet, RegisterLadder) {
  FleetWorld fleet;
  EXPECT_EQ(fleet.Register("", 1, "machine-a"), "INVALID_FIELD");                     // T-1
  EXPECT_EQ(fleet.Register(std::string(256, 'h'), 1, "machine-a"), "INVALID_FIELD");  // T-1
  EXPECT_EQ(fleet.Register("h\n1", 1, "machine-a"), "INVALID_FIELD");
  EXPECT_EQ(fleet.Register("h\x7f", 1, "machine-a"), "INVALID_FIELD");
  EXPECT_EQ(fleet.Answer(RegisterService{"h1", "a\tb", Uuid{1, 1}, "", "", Uuid{}}),
            "INVALID_FIELD");
  EXPECT_EQ(fleet.Answer(RegisterService{"h1", "berth-tracker", Uuid{}, "", "", Uuid{}}),
            "INVALID_FIELD");
  RegisterService zoned{"h3", "berth-tracker", Uuid{1, 1}, "", "", Uuid{1, 3}, "zone-1"};
  EXPECT_EQ(fleet.Answer(zoned), "OK");
  EXPECT_EQ(fleet.service("h3").zone, "zone-1");
  zoned.zone = "zone-2";  // the host was given another zone, and its tracker was restarted
  zoned.incarnation = Uuid{1, 2};
  EXPECT_EQ(fleet.Answer(zoned), "OK");
  EXPECT_EQ(fleet.service("h3").zone, "zone-2");
  zoned.zone = "a\nb";
  EXPECT_EQ(fleet.Answer(zoned), "INVALID_FIELD");
  zoned.zone = std::string(256, 'z');
  EXPECT_EQ(fleet.Answer(zoned), "INVALID_FIELD");
  EXPECT_EQ(fleet.Register("h1", 1, "machine-a"), "OK");
  const Uuid id = fleet.service("h1").id;
  EXPECT_EQ(fleet.Register("h1", 2, "machine-b"), "SERVICE_IN_USE");  // T-14: has the lease
  EXPECT_EQ(fleet.Register("h1", 2, "machine-a"), "OK");              // T-14: the newest wins
  EXPECT_EQ(fleet.service("h1").id, id);  // the record's, whoever renews it
  EXPECT_EQ(fleet.Mark("h1", 2, false), "OK");
  EXPECT_EQ(fleet.Register("h1", 3, "machine-b"), "OK");  // T-14: the lease is over
  EXPECT_EQ(fleet.Update("h1", std::nullopt, "", true), "OK");
  EXPECT_EQ(fleet.Register("h1", 4, "machine-a"), "OK");  // T-298: fenced
  EXPECT_TRUE(fleet.service("h1").forced_down);           // T-298: a beat does not clear it
}

TEST(RulesFleet, MarkJudgesTheNewestProcessOnly) {
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  fleet.Register("h1", 2, "machine-a");
  EXPECT_EQ(fleet.Mark("h1", 1, false), "OK");
  EXPECT_TRUE(fleet.service("h1").up);  // T-14: of an older process
  EXPECT_EQ(fleet.Mark("h1", 2, false), "OK");
  EXPECT_FALSE(fleet.service("h1").up);
  EXPECT_EQ(fleet.Mark("h1", 2, true), "OK");
  EXPECT_TRUE(fleet.service("h1").up);
  EXPECT_EQ(fleet.Mark("gone", 2, true), "OK");
}

TEST(RulesFleet, UpdateLadder) {
  FleetWorld fleet;
  const std::optional<bool> unsaid;
  EXPECT_EQ(fleet.Update("gone", unsaid, "", unsaid), "INVALID_FIELD");
  EXPECT_EQ(fleet.Update("gone", true, "   ", unsaid), "INVALID_FIELD");                  // T-294
  EXPECT_EQ(fleet.Update("gone", true, std::string(256, 'x'), unsaid), "INVALID_FIELD");  // T-294
  EXPECT_EQ(fleet.Update("gone", false, "why", unsaid), "INVALID_FIELD");                 // T-294
  EXPECT_EQ(fleet.Update("gone", unsaid, "why", true), "INVALID_FIELD");                  // T-294
  EXPECT_EQ(fleet.Update("gone", true, "why", unsaid), "SERVICE_NOT_FOUND");              // T-294
  fleet.Register("h1", 1, "machine-a");
  EXPECT_EQ(fleet.Update("h1", true, std::string(255, 'x'), unsaid), "OK");  // T-294
  EXPECT_TRUE(fleet.service("h1").disabled);
  EXPECT_EQ(fleet.Update("h1", true, "because", unsaid), "OK");
  EXPECT_EQ(fleet.service("h1").disabled_reason, "because");
  EXPECT_EQ(fleet.Update("h1", false, "", unsaid), "OK");
  EXPECT_FALSE(fleet.service("h1").disabled);
  EXPECT_EQ(fleet.service("h1").disabled_reason, "");     // T-294
  EXPECT_EQ(fleet.Update("h1", unsaid, "", true), "OK");  // T-298
  EXPECT_TRUE(fleet.service("h1").forced_down);
  EXPECT_EQ(fleet.Update("h1", unsaid, "", false), "OK");
  EXPECT_FALSE(fleet.service("h1").forced_down);
  const auto other = fleet.world.Do(UpdateService{"h1", "berth-scheduler", true, "", {}});
  EXPECT_EQ(RefusalOf(other.status())->reason, "INVALID_FIELD");  // T-294
}

// What a tracker says of itself never overrides an operator, whoever was first (T-297).
TEST(RulesFleet, AnOperatorsWordStands) {
  const auto by_itself = [](bool disabled) {
    UpdateService update{"h1", "berth-tracker", disabled, disabled ? "AUTO: away" : "", {}};
    update.automatic = true;
    return update;
  };
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  EXPECT_EQ(fleet.Update("h1", true, "by hand", {}), "OK");
  for (const bool disabled : {true, false}) {
    EXPECT_EQ(fleet.Answer(by_itself(disabled)), "OK");
    EXPECT_TRUE(fleet.service("h1").disabled);                  // T-297
    EXPECT_EQ(fleet.service("h1").disabled_reason, "by hand");  // T-297
  }
  EXPECT_EQ(fleet.Update("h1", false, "", {}), "OK");
  EXPECT_EQ(fleet.Answer(by_itself(true)), "OK");
  EXPECT_EQ(fleet.service("h1").disabled_reason, "AUTO: away");
  EXPECT_EQ(fleet.Answer(by_itself(false)), "OK");
  EXPECT_FALSE(fleet.service("h1").disabled);
}

TEST(RulesFleet, DisablingMarksTheRootsOfTheHost) {
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  fleet.Register("h2", 2, "machine-b");
  ASSERT_EQ(fleet.Report("h1", 1, "cn1\n  pf1", 1), "OK");
  ASSERT_EQ(fleet.Report("h1", 1, "cn2", 1), "OK");
  ASSERT_EQ(fleet.Report("h2", 2, "cn3", 1), "OK");
  const Generation before = fleet.world.generation("cn1");
  EXPECT_EQ(fleet.Update("h1", true, "", {}), "OK");
  EXPECT_TRUE(fleet.HasTrait("cn1", "COMPUTE_STATUS_DISABLED"));   // T-295
  EXPECT_TRUE(fleet.HasTrait("cn2", "COMPUTE_STATUS_DISABLED"));   // T-295
  EXPECT_FALSE(fleet.HasTrait("pf1", "COMPUTE_STATUS_DISABLED"));  // T-295: roots only
  EXPECT_FALSE(fleet.HasTrait("cn3", "COMPUTE_STATUS_DISABLED"));  // T-295: of this host only
  EXPECT_EQ(fleet.world.generation("cn1"), before.Next());
  EXPECT_EQ(fleet.Update("h1", true, "again", {}), "OK");
  EXPECT_EQ(fleet.world.generation("cn1"), before.Next());  // T-295: only where it differs
  ASSERT_EQ(fleet.Report("h1", 1, "cn1[OWNER_NOVA]\n  pf1", 2), "OK");
  EXPECT_TRUE(fleet.HasTrait("cn1", "COMPUTE_STATUS_DISABLED"));  // T-212: whatever it reports
  EXPECT_EQ(fleet.Update("h1", false, "", {}), "OK");
  EXPECT_FALSE(fleet.HasTrait("cn1", "COMPUTE_STATUS_DISABLED"));  // T-295
  ASSERT_EQ(fleet.Report("h1", 1, "cn1[COMPUTE_STATUS_DISABLED]\n  pf1", 3), "OK");
  EXPECT_FALSE(fleet.HasTrait("cn1", "COMPUTE_STATUS_DISABLED"));  // T-212
  EXPECT_EQ(fleet.Update("h1", true, "", {}), "OK");
  ASSERT_EQ(fleet.Report("h1", 1, "cn4", 1), "OK");
  EXPECT_TRUE(fleet.HasTrait("cn4", "COMPUTE_STATUS_DISABLED"));  // T-212: a new node too
}

}  // namespace
}  // namespace berth::placement
