// What evacuated instances hold on a host that is cut off is released before the host is back.
#include <string>

#include "gtest/gtest.h"
#include "tests/placement/rules/move_world.h"

namespace berth::placement {
namespace {

constexpr char kBoth[] = "n1{VCPU:2} n1-gpu{VGPU:1} n2{VCPU:3}";

class RulesEvacuation : public ::testing::Test {
 protected:
  // The instance was evacuated from h1 to h2, and holds the parts of both.
  void Evacuate() {
    moves_.Begin(MigrationType::kEvacuation, false);
    ASSERT_EQ(moves_.Answer(moves_.End(MoveEnd::kDone, 2)), "OK");
    ASSERT_EQ(moves_.Held("vm"), kBoth);  // T-148
  }
  void ForceDown() { ASSERT_EQ(moves_.fleet.Update("h1", {}, "", true), "OK"); }

  MoveWorld moves_;
};

TEST_F(RulesEvacuation, Ladder) {
  EXPECT_EQ(moves_.Answer(ReleaseEvacuated{""}), "INVALID_FIELD host");
  EXPECT_EQ(moves_.Answer(ReleaseEvacuated{"gone"}), "HOST_NOT_FOUND host");
  Evacuate();
  EXPECT_EQ(moves_.Answer(ReleaseEvacuated{"h1"}), "SERVICE_NOT_FORCED_DOWN host");  // T-344
  EXPECT_EQ(moves_.fleet.Mark("h1", 1, false), "OK");
  EXPECT_EQ(moves_.Answer(ReleaseEvacuated{"h1"}), "SERVICE_NOT_FORCED_DOWN host");  // T-344
}

TEST_F(RulesEvacuation, TheSourcePartIsReleasedAndTheRestStays) {
  Evacuate();
  ForceDown();
  EXPECT_EQ(moves_.Answer(ReleaseEvacuated{"h1"}), "OK");
  EXPECT_EQ(moves_.Held("vm"), "n2{VCPU:3}");  // T-344
  EXPECT_TRUE(moves_.last.result.warnings.empty());
  EXPECT_EQ(moves_.Migration()->status, "done");    // T-344: the guest is still to be removed
  EXPECT_EQ(moves_.world().used("n1", "VCPU"), 0);  // T-344
  EXPECT_EQ(moves_.Answer(ReleaseEvacuated{"h1"}), "OK");
  EXPECT_TRUE(moves_.last.changes.empty());  // T-344: a repeat has nothing to do
  EXPECT_EQ(moves_.fleet.Update("h1", {}, "", false), "EVACUATION_PENDING");  // T-298
  // The host is back: its tracker ends the evacuation as if the part were still there.
  EXPECT_EQ(moves_.Answer(moves_.End(MoveEnd::kCompleted)), "OK");  // T-344
  EXPECT_EQ(moves_.Held("vm"), "n2{VCPU:3}");                       // T-344
}

TEST_F(RulesEvacuation, OtherMovesAreLeftAlone) {
  moves_.Begin(MigrationType::kEvacuation, false);
  ForceDown();
  EXPECT_EQ(moves_.Answer(ReleaseEvacuated{"h1"}), "OK");
  EXPECT_EQ(moves_.Held("vm"), kBoth);  // T-344: the evacuation is not done
  ASSERT_EQ(moves_.Answer(moves_.End(MoveEnd::kDone, 2)), "OK");
  ASSERT_EQ(moves_.fleet.Update("h2", {}, "", true), "OK");
  EXPECT_EQ(moves_.Answer(ReleaseEvacuated{"h2"}), "OK");
  EXPECT_EQ(moves_.Held("vm"), kBoth);  // T-344: h2 is the destination
}

TEST_F(RulesEvacuation, AnInstanceThatIsBackKeepsWhatItHolds) {
  Evacuate();
  ForceDown();
  InstanceRecord back = moves_.On(1);
  ASSERT_EQ(moves_.Answer(SetInstance{back, moves_.Instance()->generation}), "OK");
  EXPECT_EQ(moves_.Answer(ReleaseEvacuated{"h1"}), "OK");
  EXPECT_EQ(moves_.Held("vm"), kBoth);                // T-344: the record says that it is there
  ASSERT_EQ(moves_.last.result.warnings.size(), 1u);  // T-344: the caller gets the reason
  EXPECT_NE(moves_.last.result.warnings[0].find("h1"), std::string::npos);
}

}  // namespace
}  // namespace berth::placement
