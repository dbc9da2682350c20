// Reports that also say what consumers shall hold.
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/script.h"

namespace berth::placement {
namespace {

// A node whose root has VGPU, of which `c1` holds 2 and `c2` holds 1. `c1` holds a disk elsewhere.
class RulesReportReshape : public testing::Test {
 protected:
  RulesReportReshape() {
    fleet_.Register("h1", 1, "machine-a");
    fleet_.world.Add("shared{DISK_GB:100}");
    EXPECT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8, VGPU:4}", 1), "OK");
    Do("claim c1 new cn1{VCPU:1, VGPU:2} shared{DISK_GB:5}");
    Do("claim c2 new cn1{VGPU:1}");
    Do("claim stranger new shared{DISK_GB:1}");
  }

  void Do(const std::string& line) { fleet_.world.Must(ParseCommand(fleet_.world, line)); }
  // What the consumer shall hold on the node, from what it has now.
  ReportedHolding Holding(const std::string& consumer, const std::string& notation) {
    ConsumerAllocations wanted = fleet_.world.Claim(consumer, notation);
    return {wanted.consumer, fleet_.world.consumer_generation(consumer).value_or(Generation{1}),
            wanted.allocations};
  }
  // The report that moves VGPU to a child, with what the consumers shall hold.
  ApplyReport Move(std::vector<ReportedHolding> holdings) {
    ApplyReport report = fleet_.MakeReport("h1", 1, "cn1{VCPU:8}\n  gpu{VGPU:3}", 2);
    report.holdings = std::move(holdings);
    return report;
  }

  FleetWorld fleet_;
};

TEST_F(RulesReportReshape, MovesWhatConsumersHold) {  // T-209
  Do("lease c2@ 60");
  const auto lease = fleet_.world.state().FindConsumer(fleet_.world.consumer("c2"));
  ASSERT_TRUE(lease->lease_expires_at.has_value());
  EXPECT_EQ(fleet_.Send(Move({})), "INVENTORY_IN_USE");
  ASSERT_EQ(
      fleet_.Send(Move({Holding("c1", "cn1{VCPU:1} gpu{VGPU:2}"), Holding("c2", "gpu{VGPU:1}")})),
      "OK");
  EXPECT_EQ(fleet_.world.used("gpu", "VGPU"), 3);  // T-209
  EXPECT_EQ(fleet_.world.used("cn1", "VCPU"), 1);
  EXPECT_EQ(fleet_.world.used("shared", "DISK_GB"), 6);  // T-209: what others hold stays
  const ProviderConfig& root = fleet_.world.place("cn1").config();
  EXPECT_EQ(root.inventories.size(), 1u);
  EXPECT_EQ(fleet_.node("cn1").report_sequence, 2);
  const auto after = fleet_.world.state().FindConsumer(fleet_.world.consumer("c2"));
  EXPECT_EQ(after->lease_expires_at, lease->lease_expires_at);
  EXPECT_EQ(after->owner, lease->owner);
}

// Errors by precedence: each step repairs the one before it.
TEST_F(RulesReportReshape, Ladder) {
  const std::string before = fleet_.world.Text();
  ReportedHolding c1 = Holding("c1", "gpu{VGPU:4}");
  const ReportedHolding c2 = Holding("c2", "gpu{VGPU:1}");
  EXPECT_EQ(fleet_.Send(Move({c1, c1})), "DUPLICATE_PARAMETER");
  EXPECT_EQ(fleet_.Send(Move({Holding("c1", "gpu{VGPU:0}")})), "INVALID_FIELD");
  EXPECT_EQ(fleet_.Send(Move({{c1.consumer, c1.expected_generation, {}}})), "INVALID_FIELD");
  EXPECT_EQ(fleet_.Send(Move({Holding("stranger", "gpu{VGPU:1}")})), "POLICY_DENIED");  // T-370
  EXPECT_EQ(fleet_.Send(Move({Holding("c1", "shared{DISK_GB:1}")})), "POLICY_DENIED");  // T-370
  EXPECT_EQ(fleet_.Send(Move({Holding("gone", "gpu{VGPU:1}")})), "CONSUMER_GENERATION_CONFLICT");
  c1.expected_generation.value += 1000;
  EXPECT_EQ(fleet_.Send(Move({c1, c2})), "CONSUMER_GENERATION_CONFLICT");
  c1.expected_generation.value -= 1000;
  EXPECT_EQ(fleet_.Send(Move({c1})), "INVENTORY_IN_USE");  // c2 is not listed
  EXPECT_EQ(fleet_.Send(Move({c1, Holding("c2", "cn1{VGPU:1}")})), "NO_INVENTORY");
  EXPECT_EQ(fleet_.Send(Move({c1, c2})), "UNIT_CONSTRAINT_VIOLATED");
  c1.allocations[0].amounts[0].amount = 3;
  EXPECT_EQ(fleet_.Send(Move({c1, c2})), "CAPACITY_EXCEEDED");
  EXPECT_EQ(fleet_.world.Text(), before) << "nothing of a refused report is applied";
  c1.allocations[0].amounts[0].amount = 2;
  EXPECT_EQ(fleet_.Send(Move({c1, c2})), "OK");
}

// The answer names the classes of over-committed inventories. The state before the report has no
// name for a class that the report creates.
TEST_F(RulesReportReshape, CreatesClassesBesideMoves) {
  const std::vector<ReportedHolding> holdings = {Holding("c1", "cn1{VCPU:1} gpu{VGPU:2}"),
                                                 Holding("c2", "gpu{VGPU:1}")};
  for (const std::string card : {"card{CUSTOM_NEW:1}", "card{CUSTOM_NEW:1, CUSTOM_MORE:2}"}) {
    SCOPED_TRACE(card);
    ApplyReport report = fleet_.MakeReport("h1", 1, "cn1{VCPU:8}\n  gpu{VGPU:2}\n  " + card, 2);
    report.holdings = holdings;
    // Nothing can be allocated of this inventory.
    report.providers.back().inventories.front().inventory.min_unit = 9;
    report.providers.back().inventories.front().inventory.max_unit = 1;
    EXPECT_EQ(fleet_.Send(report), "CAPACITY_EXCEEDED");
    report.providers[1].inventories.front().inventory.total = 3;
    report.holdings[0].allocations[1].amounts[0].resource_class = "CUSTOM_NEW";
    EXPECT_EQ(fleet_.Send(report), "RESOURCE_CLASS_NOT_FOUND") << "nobody can hold of it yet";
    report.providers.back().inventories.front().resource_class = "NEW";
    report.holdings = holdings;
    EXPECT_EQ(fleet_.Send(report), "RESOURCE_CLASS_NOT_FOUND") << "no tracker creates such a class";
  }
  ApplyReport report =
      fleet_.MakeReport("h1", 1, "cn1{VCPU:8}\n  gpu{VGPU:3}\n  card{CUSTOM_NEW:1}", 2);
  report.holdings = holdings;
  EXPECT_EQ(fleet_.Send(report), "OK");  // T-194
  EXPECT_EQ(fleet_.world.used("gpu", "VGPU"), 3);
  EXPECT_EQ(fleet_.world.place("card").config().inventories.size(), 1u);
}

// A retired node whose last allocations go is removed with them. Whether they go is seen in the
// state after the report, which has the names that the report creates.
TEST_F(RulesReportReshape, CreatesNamesOnARetiredNode) {
  for (const bool with_trait : {false, true}) {
    const int64_t sequence = with_trait ? 3 : 2;
    ASSERT_EQ(fleet_.Answer(RetireNode{fleet_.world.provider("cn1"), true}), "OK");
    ApplyReport report =
        fleet_.MakeReport("h1", 1, "cn1{VCPU:8}\n  gpu{VGPU:3}\n  card{CUSTOM_NEW:1}", sequence);
    report.holdings = {Holding("c1", "cn1{VCPU:1} gpu{VGPU:2}"), Holding("c2", "gpu{VGPU:1}")};
    if (with_trait) report.providers.back().traits_present = {"CUSTOM_NEW_TRAIT"};
    ASSERT_EQ(fleet_.Send(report), "OK");
    EXPECT_FALSE(fleet_.node("cn1").retired);
  }
  EXPECT_TRUE(fleet_.HasTrait("card", "CUSTOM_NEW_TRAIT"));
}

// Claims do not change the generation with which a tracker reports.
TEST_F(RulesReportReshape, AClaimNeedsNoNewReport) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8, VGPU:4}\n  card{CUSTOM_PCI_1:2}", 2), "OK");
  const ApplyReport known =
      fleet_.MakeReport("h1", 1, "cn1{VCPU:8, VGPU:4}\n  card{CUSTOM_PCI_1:3}", 3);
  Do("claim c3 new card{CUSTOM_PCI_1:1}");
  EXPECT_EQ(fleet_.Send(known), "OK");  // T-264
  EXPECT_EQ(fleet_.world.used("card", "CUSTOM_PCI_1"), 1);
}

}  // namespace
}  // namespace berth::placement
