// A node between its reports: who makes it, what does not disturb it, and how it comes again.
#include <string>

#include "gtest/gtest.h"
#include "placement/search/search.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/request_notation.h"
#include "tests/worlds/script.h"

namespace berth::placement {
namespace {

class RulesNode : public testing::Test {
 protected:
  RulesNode() { fleet_.Register("h1", 1, "machine-a"); }

  size_t CandidatesFor(const std::string& ask) {
    World& world = fleet_.world;
    const auto found = FindCandidates(world.state(), ParseRequest(world, ask), SearchBudget{});
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? found->candidates.size() : 0;
  }

  FleetWorld fleet_;
};

TEST_F(RulesNode, IsMadeByItsFirstReport) {
  EXPECT_TRUE(fleet_.service("h1").up);
  EXPECT_FALSE(fleet_.HasNode("cn1"));  // T-9: the service alone makes none
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 1), "OK");
  EXPECT_TRUE(fleet_.HasNode("cn1"));  // T-9
}

TEST_F(RulesNode, ClaimsDoNotDisturbReports) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 1), "OK");
  const ApplyReport report = fleet_.MakeReport("h1", 1, "cn1{VCPU:9}", 2);
  RunScript(fleet_.world, R"(
    claim c1 new cn1{VCPU:1}           OK
    claim c1 @                         OK
  )");
  EXPECT_EQ(fleet_.Send(report), "OK");  // T-188 as decided, T-368
}

TEST_F(RulesNode, NothingIsEmptiedUnseen) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 1), "OK");
  const ApplyReport report = fleet_.MakeReport("h1", 1, "cn1", 2);
  fleet_.world.Must(ParseCommand(fleet_.world, "inventory add cn1 DISK_GB:5"));
  EXPECT_EQ(fleet_.Send(report), "PROVIDER_GENERATION_CONFLICT");        // T-187, T-195
  EXPECT_EQ(fleet_.world.place("cn1").config().inventories.size(), 2u);  // T-195
}

TEST_F(RulesNode, ComesAgainAfterItsDeletion) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 7), "OK");
  EXPECT_EQ(fleet_.Answer(DeleteNode{fleet_.world.provider("cn1"), true}), "OK");
  EXPECT_FALSE(fleet_.HasNode("cn1"));
  EXPECT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 8), "OK");  // T-27, T-300, T-371: the same uuid
  EXPECT_TRUE(fleet_.HasNode("cn1"));
}

TEST_F(RulesNode, IsDeletedTogetherWithItsProviders) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 1), "OK");
  RunScript(fleet_.world, "claim c1 new cn1{VCPU:1}   OK");
  EXPECT_EQ(fleet_.Answer(DeleteNode{fleet_.world.provider("cn1"), false}), "PROVIDER_IN_USE");
  EXPECT_TRUE(fleet_.HasNode("cn1"));  // T-42
  EXPECT_TRUE(fleet_.Has("cn1"));
  EXPECT_EQ(fleet_.Answer(DeleteNode{fleet_.world.provider("cn1"), true}), "OK");
  EXPECT_FALSE(fleet_.HasNode("cn1"));
  EXPECT_FALSE(fleet_.Has("cn1"));  // T-42
}

TEST_F(RulesNode, MayBeMadeBeforeItsFirstReport) {
  CreateNode command{fleet_.world.provider("cn1"), "cn1", "h1"};
  ASSERT_EQ(fleet_.Update("h1", true, "why", std::nullopt), "OK");
  ASSERT_EQ(fleet_.Answer(command), "OK");
  EXPECT_TRUE(fleet_.last.result.created);
  EXPECT_EQ(fleet_.node("cn1").host, "h1");
  EXPECT_EQ(fleet_.node("cn1").name, "cn1");
  EXPECT_TRUE(fleet_.world.place("cn1").config().inventories.empty());
  EXPECT_TRUE(fleet_.HasTrait("cn1", "COMPUTE_STATUS_DISABLED"));  // T-295
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 1), "OK");       // the record is no obstacle
  EXPECT_FALSE(fleet_.last.result.created);
  EXPECT_EQ(fleet_.world.place("cn1").config().inventories.size(), 1u);
  // The report of another host is not accepted while the tracker of h1 is up.
  fleet_.Register("h2", 2, "machine-b");
  EXPECT_EQ(fleet_.Report("h2", 2, "cn1{VCPU:8}", 1), "POLICY_DENIED");  // T-387
}

TEST_F(RulesNode, MadeByHandIsRefusedInOrder) {
  fleet_.world.Add("taken{VCPU:4}");
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 1), "OK");
  fleet_.world.Must(UpdateProvider{fleet_.world.provider("cn1"), {"renamed"}, {}, {}});
  CreateNode command{ProviderId{}, "", ""};
  EXPECT_EQ(fleet_.Answer(command), "INVALID_FIELD");
  command.node = fleet_.world.provider("cn1");
  EXPECT_EQ(fleet_.Answer(command), "INVALID_FIELD");
  command.name = "cn1";
  EXPECT_EQ(fleet_.Answer(command), "INVALID_FIELD");
  command.host = "h1";
  EXPECT_EQ(fleet_.Answer(command), "DUPLICATE_NODE");  // the uuid
  command.node = fleet_.world.provider("taken");
  EXPECT_EQ(fleet_.Answer(command), "DUPLICATE_NODE");  // the name on this host
  command.host = "elsewhere";
  EXPECT_EQ(fleet_.Answer(command), "DUPLICATE_PROVIDER");  // the uuid
  command.node = fleet_.world.provider("new");
  command.name = "taken";
  EXPECT_EQ(fleet_.Answer(command), "DUPLICATE_PROVIDER");  // the name
  command.name = "new";
  EXPECT_EQ(fleet_.Answer(command), "OK");  // its host has no tracker yet
}

TEST_F(RulesNode, OfADisabledServiceCanBeLeftOut) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 1), "OK");
  const char* const enabled_only = "r VCPU:1 root !COMPUTE_STATUS_DISABLED";
  EXPECT_EQ(CandidatesFor(enabled_only), 1u);
  ASSERT_EQ(fleet_.Update("h1", true, "why", std::nullopt), "OK");
  EXPECT_EQ(CandidatesFor(enabled_only), 0u);  // T-340
  EXPECT_EQ(CandidatesFor("r VCPU:1"), 1u);
}

}  // namespace
}  // namespace berth::placement
