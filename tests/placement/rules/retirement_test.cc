// Nodes that were taken out of the configuration, and how they end (T-40).

#include <gtest/gtest.h>

#include "placement/values/refusal.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/script.h"

namespace berth::placement {
namespace {

class RulesRetirement : public ::testing::Test {
 protected:
  void SetUp() override {
    fleet_.Register("h1", 1, "machine-a");
    ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}\n  pf1{VCPU:8}", 1), "OK");
    fleet_.world.Add("keep{VCPU:8}");
    node_ = fleet_.world.provider("cn1");
  }

  std::string Retire() { return fleet_.Answer(RetireNode{node_, true}); }
  void Do(absl::string_view line) { fleet_.world.Must(ParseCommand(fleet_.world, line)); }
  bool Stands() { return fleet_.Has("cn1") && fleet_.Has("pf1") && fleet_.HasNode("cn1"); }
  bool Gone() { return !fleet_.Has("cn1") && !fleet_.Has("pf1") && !fleet_.HasNode("cn1"); }

  FleetWorld fleet_;
  ProviderId node_;
};

TEST_F(RulesRetirement, ARetiredNodeGoesWithItsLastAllocation) {
  Do("claim c1 new cn1{VCPU:1} keep{VCPU:1}");
  Do("claim c2 new pf1{VCPU:1}");
  ASSERT_EQ(Retire(), "OK");
  const Generation keep = fleet_.world.allocation_generation("keep");
  Do("release c2");
  EXPECT_TRUE(Stands());  // T-40: c1 holds something
  const ConsumerAllocations rest = fleet_.world.Claim("c1", "keep{VCPU:1}");
  fleet_.world.Must(SetAllocations{{rest}, false});
  EXPECT_TRUE(Gone());  // T-40
  EXPECT_EQ(fleet_.world.used("keep", "VCPU"), 1);
  EXPECT_GE(fleet_.world.allocation_generation("keep"), keep);
}

TEST_F(RulesRetirement, WhatOneCommandMovesWithinTheNodeKeepsIt) {
  Do("claim c1 new cn1{VCPU:1}");
  ASSERT_EQ(Retire(), "OK");
  const ConsumerAllocations moved = fleet_.world.Claim("c1", "pf1{VCPU:1}");
  fleet_.world.Must(SetAllocations{{moved}, false});
  EXPECT_TRUE(Stands());
  // A successor takes over in the command that releases the last one.
  const ConsumerAllocations out = fleet_.world.Claim("c1", "");
  const ConsumerAllocations in = fleet_.world.Claim("c2", "cn1{VCPU:2}");
  fleet_.world.Must(SetAllocations{{out, in}, false});
  EXPECT_TRUE(Stands());
  Do("release c2");
  EXPECT_TRUE(Gone());  // T-40
}

// However the last allocation goes.
TEST_F(RulesRetirement, EveryCommandThatReleasesEndsTheNode) {
  for (const char* last :
       {"release c1", "drop c1 nobody", "expire now", "adjust c1@ cn1{VCPU:-1} pf1{VCPU:-1}",
        "claim c1 @ keep{VCPU:2}", "reshape keep@ VCPU:8 with c1 @ keep{VCPU:2}",
        "reshape cn1@ VCPU:4 | pf1@ none with c1 @", "reshape cn1@ none with c1 @ keep{VCPU:2}",
        "topology cn1@ {VCPU:4} | keep@ {VCPU:4} with c1 @", "topology -pf1@ with c1 @",
        "topology -pf1@ | cn1@ {} with c1 @ keep{VCPU:2}"}) {
    FleetWorld fleet;
    fleet.Register("h1", 1, "machine-a");
    ASSERT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}\n  pf1{VCPU:8}", 1), "OK");
    fleet.world.Add("keep{VCPU:8}");
    const auto run = [&](absl::string_view line) {
      fleet.world.Must(ParseCommand(fleet.world, line));
    };
    run("claim c1 new cn1{VCPU:1} pf1{VCPU:1} keep{VCPU:1}");
    run("lease c1 1");
    run("claim c2 new cn1{VCPU:1}");
    ASSERT_EQ(fleet.Answer(RetireNode{fleet.world.provider("cn1"), true}), "OK");
    run("release c2");
    ASSERT_TRUE(fleet.HasNode("cn1")) << last;  // T-40: c1 holds something
    run(last);
    EXPECT_FALSE(fleet.Has("cn1") || fleet.Has("pf1") || fleet.HasNode("cn1")) << last;  // T-40
    EXPECT_TRUE(fleet.Has("keep")) << last;
    // The name is free again.
    EXPECT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}\n  pf1{VCPU:8}", 2), "OK") << last;
  }
}

TEST_F(RulesRetirement, ATopologyThatPutsSomethingBelowTheNodeKeepsIt) {
  Do("claim c1 new cn1{VCPU:1}");
  ASSERT_EQ(Retire(), "OK");
  Do("topology keep@ below cn1 with c1 @");
  EXPECT_TRUE(Stands());  // T-202: what stands below it is not its own
  EXPECT_TRUE(fleet_.Has("keep"));
}

TEST_F(RulesRetirement, WhatLeavesTheNodeInTheSameCommandStays) {
  Do("claim c1 new cn1{VCPU:1}");
  ASSERT_EQ(Retire(), "OK");
  Do("topology pf1@ out | new1 below cn1 with c1 @");
  EXPECT_TRUE(fleet_.Has("pf1"));
  EXPECT_TRUE(fleet_.Has("new1"));
  Do("claim c2 new cn1{VCPU:1}");
  Do("topology -new1@ | -pf1@ with c2 @");
  EXPECT_FALSE(fleet_.Has("cn1") || fleet_.Has("pf1") || fleet_.HasNode("cn1"));  // T-40
}

TEST_F(RulesRetirement, ANodeThatIsNotRetiredStays) {
  Do("claim c1 new cn1{VCPU:1}");
  Do("release c1");
  EXPECT_TRUE(Stands());
  ASSERT_EQ(Retire(), "OK");
  EXPECT_TRUE(Stands());  // nobody's last allocation went: an operator may think better of it
}

TEST_F(RulesRetirement, ANodeWithOthersProvidersBelowItStays) {
  fleet_.world.Must(CreateProvider{fleet_.world.provider("foreign"), "foreign", node_});
  Do("claim c1 new cn1{VCPU:1}");
  ASSERT_EQ(Retire(), "OK");
  Do("release c1");
  EXPECT_TRUE(Stands());  // T-202
}

TEST_F(RulesRetirement, ARefusalNamesTheNodeThatDoesNotExist) {
  const std::vector<CommandBody> commands = {RetireNode{fleet_.world.provider("keep"), true},
                                             DeleteNode{fleet_.world.provider("keep"), true}};
  for (const CommandBody& command : commands) {
    const auto refused = fleet_.world.Do(command);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(RefusalOf(refused.status())->reason, "NODE_NOT_FOUND");
    EXPECT_EQ(RefusalOf(refused.status())->items,
              (std::vector<FaultItem>{{{"node", fleet_.world.provider("keep").ToString()}}}));
  }
}

TEST_F(RulesRetirement, TheRootOfANodeIsNotDeletedAsAProvider) {
  fleet_.world.Must(DeleteProvider{fleet_.world.provider("pf1")});
  const auto refused = fleet_.world.Do(DeleteProvider{node_});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(RefusalOf(refused.status())->reason, "PROVIDER_IN_USE");
  EXPECT_EQ(RefusalOf(refused.status())->items.at(0).at("node"), node_.ToString());
  const auto topology = fleet_.world.Do(ParseCommand(fleet_.world, "topology -cn1@"));
  ASSERT_FALSE(topology.ok());
  EXPECT_EQ(RefusalOf(topology.status())->reason, "PROVIDER_IN_USE");
  EXPECT_EQ(fleet_.Answer(DeleteNode{node_, false}), "OK");
  EXPECT_FALSE(fleet_.Has("cn1"));
}

TEST_F(RulesRetirement, DeleteWithForeignChildren) {
  FleetWorld& fleet = fleet_;
  fleet.Register("h2", 2, "machine-b");
  ASSERT_EQ(fleet.Report("h2", 2, "cn2{VCPU:8}", 1), "OK");
  fleet.world.Must(
      CreateProvider{fleet.world.provider("foreign"), "foreign", fleet.world.provider("cn1")});
  fleet.world.Must(ParseCommand(fleet.world, "move cn2 below cn1"));
  EXPECT_EQ(fleet.Answer(DeleteNode{node_, true}), "PROVIDER_HAS_CHILDREN");  // another node
  fleet.world.Must(ParseCommand(fleet.world, "move cn2 out"));
  EXPECT_EQ(fleet.Answer(DeleteNode{node_, true}), "OK");  // T-225
  EXPECT_FALSE(fleet.Has("foreign"));
  EXPECT_EQ(fleet.Answer(DeleteNode{fleet.world.provider("cn2"), false}), "OK");
}

}  // namespace
}  // namespace berth::placement
