// A node goes to another host, with the records that are about it (T-22, T-369).
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/placement/rules/move_world.h"

namespace berth::placement {
namespace {

class RulesNodeMove : public ::testing::Test {
 protected:
  RulesNodeMove() {
    EXPECT_EQ(moves_.fleet.Register("renamed", 9, "machine-1"), "OK");
    EXPECT_EQ(moves_.Answer(SetInstance{moves_.On(1), std::nullopt}), "OK");
  }

  MoveNode Command(const std::string& from, const std::string& to) {
    return {world().provider("n1"), from, to, std::nullopt};
  }
  World& world() { return moves_.world(); }
  FleetWorld& fleet() { return moves_.fleet; }

  MoveWorld moves_;
};

TEST_F(RulesNodeMove, Ladder) {
  MoveNode command = Command("h1", "");
  EXPECT_EQ(moves_.Answer(command), "INVALID_FIELD host");
  command.to = std::string(256, 'h');
  EXPECT_EQ(moves_.Answer(command), "INVALID_FIELD host");
  command.node = ProviderId{Uuid{1, 2}};
  command.to = "gone";
  EXPECT_EQ(moves_.Answer(command), "NODE_NOT_FOUND");
  EXPECT_EQ(moves_.Answer(Command("h2", "gone")), "RECORD_CONFLICT");         // T-41
  EXPECT_EQ(moves_.Answer(Command("h1", "gone")), "HOST_NOT_FOUND host");     // T-8
  EXPECT_EQ(moves_.Answer(Command("h1", "renamed")), "SERVICE_IN_USE host");  // T-387: it is up
  EXPECT_EQ(fleet().Mark("h1", 1, false), "OK");
  EXPECT_EQ(moves_.Answer(Command("h1", "renamed")), "OK");  // T-22, T-387: its lease is over
}

TEST_F(RulesNodeMove, AHostHasOneNodeOfAName) {
  ASSERT_EQ(fleet().Mark("h1", 1, false), "OK");
  ApplyReport report = fleet().MakeReport("renamed", 9, "twin{VCPU:8}", 1);
  ASSERT_EQ(fleet().Send(report), "OK");
  world().Must(UpdateProvider{world().provider("n1"), {"other"}, {}, {}});
  world().Must(UpdateProvider{world().provider("twin"), {"n1"}, {}, {}});
  report = fleet().MakeReport("renamed", 9, "twin{VCPU:8}", 2);
  report.node_name = "n1";
  report.providers[0].name = "n1";
  ASSERT_EQ(fleet().Send(report), "OK");
  EXPECT_EQ(moves_.Answer(Command("h1", "renamed")), "DUPLICATE_NODE host");  // T-5
}

TEST_F(RulesNodeMove, TheRecordsOfTheNodeGoAlong) {
  ASSERT_EQ(moves_.Answer(CreateMigration{moves_.Move(MigrationType::kLive, 1, 2)}), "OK");
  ASSERT_EQ(fleet().Update("h1", {}, "", true), "OK");
  ASSERT_EQ(fleet().Update("renamed", true, "", {}), "OK");
  const std::string facts = *fleet().node("n1").facts;
  ASSERT_EQ(moves_.Answer(Command("h1", "renamed")), "OK");  // T-387: forced down is down
  EXPECT_EQ(fleet().node("n1").host, "renamed");             // T-22, T-369
  EXPECT_EQ(*fleet().node("n1").facts, facts);
  EXPECT_TRUE(fleet().HasTrait("n1", "COMPUTE_STATUS_DISABLED"));  // T-295: as its new service
  EXPECT_EQ(moves_.Instance()->host, "renamed");                   // T-369
  EXPECT_EQ(moves_.Instance()->node, world().provider("n1"));      // T-369
  EXPECT_EQ(moves_.Migration()->source_host, "renamed");           // T-369
  EXPECT_EQ(moves_.Migration()->destination_host, "h2");
  EXPECT_EQ(moves_.Answer(Command("h1", "renamed")), "RECORD_CONFLICT");
  MoveNode stays = Command("renamed", "renamed");
  EXPECT_EQ(moves_.Answer(stays), "OK");
  EXPECT_TRUE(moves_.last.changes.empty());
  stays.retired = true;
  EXPECT_EQ(moves_.Answer(stays), "OK");
  EXPECT_TRUE(fleet().node("n1").retired);
}

TEST_F(RulesNodeMove, RecordsOfOtherNodesStay) {
  ASSERT_EQ(fleet().Report("h1", 1, "second{VCPU:8}", 1), "OK");
  InstanceRecord homeless = moves_.On(1);
  homeless.id = InstanceId{world().consumer("homeless").uuid};
  homeless.node.reset();
  ASSERT_EQ(moves_.Answer(SetInstance{homeless, std::nullopt}), "OK");
  InstanceRecord other = moves_.On(1);
  other.id = InstanceId{world().consumer("other").uuid};
  other.node = world().provider("second");
  ASSERT_EQ(moves_.Answer(SetInstance{other, std::nullopt}), "OK");
  ASSERT_EQ(moves_.Answer(CreateMigration{moves_.Move(MigrationType::kLive, 1, 2)}), "OK");
  moves_.SetStatus("error");
  ASSERT_EQ(fleet().Mark("h1", 1, false), "OK");
  ASSERT_EQ(moves_.Answer(Command("h1", "renamed")), "OK");
  const auto host_of = [&](const InstanceRecord& record) {
    return world().state().records().FindInstance(record.id)->host;
  };
  EXPECT_EQ(host_of(homeless), "h1");                     // T-369: which node it is on is not known
  EXPECT_EQ(host_of(other), "h1");                        // T-369
  EXPECT_EQ(moves_.Migration()->source_host, "renamed");  // T-369: the leftovers are there
}

}  // namespace
}  // namespace berth::placement
