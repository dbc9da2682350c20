// Reports of what changed since the report before.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/script.h"

namespace berth::placement {
namespace {

class RulesDelta : public testing::Test {
 protected:
  RulesDelta() {
    fleet_.Register("h1", 1, "machine-a");
    fleet_.Register("h2", 2, "machine-b");
  }

  FleetWorld fleet_;
};

TEST_F(RulesDelta, TheRestStays) {
  FleetWorld& fleet = fleet_;
  const auto delta = [&](absl::string_view notation, int64_t sequence) {
    return FleetWorld::Delta(fleet.MakeReport("h1", 1, notation, sequence),
                             fleet.world.provider("cn1"), "cn1");
  };
  EXPECT_EQ(fleet.Send(delta("a", 1)), "REPORT_GAP");  // T-226: begins with a snapshot
  ASSERT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}\n  a\n    aa\n  b", 1), "OK");
  EXPECT_EQ(fleet.Send(delta("a{VCPU:1}", 3)), "REPORT_GAP");  // T-229
  ApplyReport report = delta("a{VCPU:1}", 2);
  report.facts = nullptr;
  const auto facts = fleet.node("cn1").facts;
  ASSERT_EQ(fleet.Send(report), "OK");
  EXPECT_TRUE(fleet.Has("b"));                       // what it says nothing of stays
  EXPECT_EQ(fleet.node("cn1").reported.size(), 4u);  // and stands in the record
  EXPECT_EQ(fleet.node("cn1").facts, facts);         // not a copy
  EXPECT_EQ(std::get<NodePut>(fleet.last.changes.back()).node->facts, nullptr);
  EXPECT_EQ(fleet.node("cn1").account, "account 2");
  for (const auto& [id, generation] : fleet.node("cn1").reported) {
    EXPECT_EQ(generation, fleet.world.state().FindProvider(id)->config().generation);
  }
  EXPECT_EQ(fleet.Send(delta("b{VCPU:9}", 2)), "OK");  // T-229: a duplicate
  EXPECT_TRUE(fleet.last.changes.empty());
  report = delta("a", 3);
  report.providers[0].parent = fleet.world.provider("aa");
  EXPECT_EQ(fleet.Send(report), "PROVIDER_LOOP");
  report.providers[0].parent = fleet.world.provider("gone");
  EXPECT_EQ(fleet.Send(report), "PARENT_NOT_FOUND");
  report.providers[0].parent = fleet.world.provider("a");
  EXPECT_EQ(fleet.Send(report), "INVALID_FIELD");
  report = delta("b", 3);
  report.removed = {fleet.world.provider("aa"), fleet.world.provider("a"),
                    fleet.world.provider("gone")};
  ASSERT_EQ(fleet.Send(report), "OK");  // T-198: what is gone already too
  EXPECT_FALSE(fleet.Has("a"));
  EXPECT_EQ(fleet.node("cn1").reported.size(), 2u);
}

TEST_F(RulesDelta, RemovesItsOwnOnly) {
  FleetWorld& fleet = fleet_;
  ASSERT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}\n  a", 1), "OK");
  ASSERT_EQ(fleet.Report("h2", 2, "cn2{VCPU:8}\n  other", 1), "OK");
  fleet.world.Must(
      CreateProvider{fleet.world.provider("foreign"), "foreign", fleet.world.provider("cn1")});
  ApplyReport report =
      FleetWorld::Delta(fleet.MakeReport("h1", 1, "a", 2), fleet.world.provider("cn1"), "cn1");
  report.removed = {fleet.world.provider("other")};
  EXPECT_EQ(fleet.Send(report), "POLICY_DENIED");  // T-370
  report.removed = {fleet.world.provider("cn1")};
  EXPECT_EQ(fleet.Send(report), "INVALID_FIELD");
  report.removed = {fleet.world.provider("a")};
  EXPECT_EQ(fleet.Send(report), "INVALID_FIELD");
  report.removed = {fleet.world.provider("foreign")};
  EXPECT_EQ(fleet.Send(report), "OK");
  EXPECT_TRUE(fleet.Has("foreign"));  // T-202
  EXPECT_EQ(fleet.last.result.warnings.size(), 1u);
}

}  // namespace
}  // namespace berth::placement
