// Reports of trackers that the operator's access file limits: withheld names and ceilings.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "placement/rules/rules.h"
#include "placement/values/refusal.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/script.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class RulesReportLimits : public testing::Test {
 protected:
  RulesReportLimits() {
    fleet_.Register("h1", 1, "machine-a");
    fleet_.Register("h2", 2, "machine-b");
    WithheldNames withheld;
    withheld.traits = {"CUSTOM_LICENSED", "HW_CPU_X86_AVX"};
    withheld.resource_classes = {"CUSTOM_GOLD", "DISK_GB"};
    limits_.withheld = std::make_shared<const WithheldNames>(std::move(withheld));
    limits_.ceilings = {{"VCPU", 40}, {"CUSTOM_VF", 10}};
  }

  // The report with the limits, as it comes from a tracker with a certificate.
  std::string Send(ApplyReport report) {
    report.identified = true;
    report.limits = std::make_shared<const TrackerLimits>(limits_);
    return fleet_.Send(report);
  }
  std::string Report(absl::string_view notation) {
    return Send(fleet_.MakeReport("h1", 1, notation, ++sequence_));
  }
  // `notation` as a delta of the node cn1 of h1.
  std::string Delta(absl::string_view notation) {
    return Send(FleetWorld::Delta(fleet_.MakeReport("h1", 1, notation, ++sequence_),
                                  fleet_.world.provider("cn1"), "cn1"));
  }
  void Do(const std::string& line) { fleet_.world.Must(ParseCommand(fleet_.world, line)); }

  // The inventory of the provider; a total of 0: it has none.
  Inventory Row(absl::string_view provider, absl::string_view resource_class) {
    const ProviderConfig& config = fleet_.world.place(provider).config();
    const auto id = fleet_.world.state().catalog().classes.Find(resource_class);
    const int at = id ? config.FindInventory(*id) : -1;
    return at < 0 ? Inventory() : config.inventories[at].inventory;
  }
  Amount Total(absl::string_view provider, absl::string_view resource_class = "VCPU") {
    return Row(provider, resource_class).total;
  }
  // What the last report was told, such as "cn1 VCPU 64>40", "cn1 CUSTOM_GOLD 5>0 withheld" and
  // "cn1 CUSTOM_LICENSED".
  std::vector<std::string> Limited() {
    std::vector<std::string> told;
    for (const LimitedPart& part : fleet_.last.result.limited) {
      const std::string& name = fleet_.world.state().FindProvider(part.provider)->config().name;
      told.push_back(part.trait.empty()
                         ? absl::StrCat(name, " ", part.resource_class, " ", part.asked, ">",
                                        part.stored, part.withheld ? " withheld" : "")
                         : absl::StrCat(name, " ", part.trait));
    }
    return told;
  }

  // Reports `notation`, in which the consumer shall hold `allocations`.
  std::string Move(absl::string_view notation, absl::string_view consumer,
                   absl::string_view allocations) {
    ApplyReport report = fleet_.MakeReport("h1", 1, notation, sequence_ + 1);
    const ConsumerAllocations wanted = fleet_.world.Claim(consumer, allocations);
    report.holdings = {
        {wanted.consumer, *fleet_.world.consumer_generation(consumer), wanted.allocations}};
    report.identified = true;
    report.limits = std::make_shared<const TrackerLimits>(limits_);
    const auto decided = Decide(fleet_.world.state(), report, RuleContext());
    refusal_ = decided.ok() ? std::nullopt : RefusalOf(decided.status());
    const std::string answer = Send(report);
    if (answer == "OK") ++sequence_;
    return answer;
  }
  // Whether the refusal of the last Move says that the limits may have caused it.
  bool IsForLimits() const {
    return refusal_ && !refusal_->items.empty() && refusal_->items[0].contains("limited");
  }

  FleetWorld fleet_;
  TrackerLimits limits_;
  std::optional<Refusal> refusal_;
  int64_t sequence_ = 0;
};

TEST_F(RulesReportLimits, AWithheldTraitStaysAsItIs) {
  ASSERT_EQ(Report("cn1[CUSTOM_LICENSED,CUSTOM_OWN,CUSTOM_LICENSED,HW_CPU_X86_AVX]"), "OK");
  EXPECT_TRUE(fleet_.HasTrait("cn1", "CUSTOM_OWN"));
  EXPECT_FALSE(fleet_.world.state().catalog().traits.Find("CUSTOM_LICENSED")) << "it is not made";
  EXPECT_THAT(Limited(), ElementsAre("cn1 CUSTOM_LICENSED", "cn1 HW_CPU_X86_AVX"));
  EXPECT_THAT(fleet_.last.result.unknown_traits, IsEmpty());

  // An operator gives it.
  fleet_.world.Must(EnsureTrait{"CUSTOM_LICENSED"});
  Do("traits cn1@ CUSTOM_LICENSED,CUSTOM_OWN,OWNER_NOVA");
  ASSERT_EQ(Report("cn1[CUSTOM_LICENSED]"), "OK");
  EXPECT_TRUE(fleet_.HasTrait("cn1", "CUSTOM_LICENSED"));
  EXPECT_THAT(Limited(), IsEmpty()) << "it is as the tracker wants it";
  ASSERT_EQ(Report("cn1"), "OK");
  EXPECT_TRUE(fleet_.HasTrait("cn1", "CUSTOM_LICENSED"));
  ApplyReport report = fleet_.MakeReport("h1", 1, "cn1", ++sequence_);
  report.providers[0].traits_absent = {"CUSTOM_LICENSED", "CUSTOM_OWN", "CUSTOM_LICENSED"};
  ASSERT_EQ(Send(report), "OK");
  EXPECT_TRUE(fleet_.HasTrait("cn1", "CUSTOM_LICENSED"));
  EXPECT_FALSE(fleet_.HasTrait("cn1", "CUSTOM_OWN"));
  EXPECT_THAT(Limited(), ElementsAre("cn1 CUSTOM_LICENSED"));
}

TEST_F(RulesReportLimits, AWithheldClassStaysAsItIs) {
  ASSERT_EQ(Report("cn1{VCPU:8, CUSTOM_GOLD:5, CUSTOM_NEW:1}\n  a{DISK_GB:7}"), "OK");
  EXPECT_EQ(Total("cn1", "CUSTOM_NEW"), 1);
  EXPECT_EQ(Total("a", "DISK_GB"), 0);
  EXPECT_FALSE(fleet_.world.state().catalog().classes.Find("CUSTOM_GOLD")) << "it is not made";
  EXPECT_THAT(Limited(), ElementsAre("cn1 CUSTOM_GOLD 5>0 withheld", "a DISK_GB 7>0 withheld"));

  // An operator makes an inventory of it, which consumers use.
  fleet_.world.Must(CreateClass{"CUSTOM_GOLD"});
  Do("inventory add cn1 CUSTOM_GOLD:3");
  Do("claim c1 new cn1{CUSTOM_GOLD:2}");
  const Inventory gold = Row("cn1", "CUSTOM_GOLD");
  ASSERT_EQ(Report("cn1{VCPU:8}"), "OK") << "the complete set does not have it";
  EXPECT_EQ(Row("cn1", "CUSTOM_GOLD"), gold);
  EXPECT_EQ(Total("cn1", "CUSTOM_NEW"), 0) << "other classes go";
  EXPECT_THAT(Limited(), ElementsAre("cn1 CUSTOM_GOLD 0>3 withheld"));
  ASSERT_EQ(Delta("cn1{VCPU:8, CUSTOM_GOLD:9 reserved 9}"), "OK");
  EXPECT_EQ(Row("cn1", "CUSTOM_GOLD"), gold);
  EXPECT_THAT(Limited(), ElementsAre("cn1 CUSTOM_GOLD 9>3 withheld"));
  ASSERT_EQ(Delta("cn1{VCPU:8, CUSTOM_GOLD:3}"), "OK");
  EXPECT_THAT(Limited(), IsEmpty()) << "it is as the tracker wants it";
  ASSERT_EQ(fleet_.last.changes.size(), 1u) << "the provider did not change";
  ASSERT_EQ(Delta("cn1{VCPU:8, CUSTOM_GOLD:3 reserved 1}"), "OK");
  EXPECT_THAT(Limited(), ElementsAre("cn1 CUSTOM_GOLD 3>3 withheld"));
  EXPECT_EQ(Row("cn1", "CUSTOM_GOLD"), gold);
}

// Otherwise a delta could remove a provider, and the next one make it again without what it had.
TEST_F(RulesReportLimits, AProviderWithSomethingWithheldStays) {
  const std::string all = "cn1{VCPU:8}\n  a{VCPU:1}\n    b{VCPU:1}\n  c{VCPU:1}\n  d{VCPU:1}";
  ASSERT_EQ(Report(all), "OK");
  fleet_.world.Must(EnsureTrait{"CUSTOM_LICENSED"});
  fleet_.world.Must(CreateClass{"CUSTOM_GOLD"});
  Do("traits b@ CUSTOM_LICENSED,OWNER_NOVA");
  Do("inventory add c CUSTOM_GOLD:3");
  ApplyReport report = FleetWorld::Delta(fleet_.MakeReport("h1", 1, "cn1", ++sequence_),
                                         fleet_.world.provider("cn1"), "cn1");
  report.removed = {fleet_.world.provider("b"), fleet_.world.provider("c")};
  ASSERT_EQ(Send(report), "OK");
  EXPECT_TRUE(fleet_.HasTrait("b", "CUSTOM_LICENSED"));
  EXPECT_EQ(Total("c", "CUSTOM_GOLD"), 3);
  EXPECT_EQ(fleet_.last.result.warnings.size(), 2u);
  ASSERT_EQ(Report("cn1{VCPU:8}"), "OK");
  EXPECT_TRUE(fleet_.HasTrait("b", "CUSTOM_LICENSED"));
  EXPECT_TRUE(fleet_.Has("a")) << "it is above b";
  EXPECT_EQ(Total("c", "CUSTOM_GOLD"), 3);
  EXPECT_FALSE(fleet_.Has("d"));
  EXPECT_EQ(fleet_.last.result.warnings.size(), 3u);
  // What is not withheld goes, and so does what the tracker may give again.
  limits_.withheld = nullptr;
  ASSERT_EQ(Report("cn1{VCPU:8}"), "OK");
  EXPECT_FALSE(fleet_.Has("a") || fleet_.Has("b") || fleet_.Has("c"));
}

TEST_F(RulesReportLimits, AHostGetsItsCeilingAndNoMore) {
  ASSERT_EQ(Report("cn1{VCPU:400 reserved 100 ratio 16, MEMORY_MB:9000}"), "OK");
  EXPECT_EQ(Total("cn1"), 40);
  EXPECT_EQ(Row("cn1", "VCPU").reserved, 40) << "at most the total";
  EXPECT_EQ(Row("cn1", "VCPU").allocation_ratio, 16) << "no ratio is limited";
  EXPECT_EQ(Total("cn1", "MEMORY_MB"), 9000);
  EXPECT_THAT(Limited(), ElementsAre("cn1 VCPU 400>40"));
  ASSERT_EQ(Report("cn1{VCPU:40 reserved 3}"), "OK");
  EXPECT_EQ(Row("cn1", "VCPU").reserved, 3);
  EXPECT_THAT(Limited(), IsEmpty());
  // In the order of the report. A class that nothing is left of is not made.
  ASSERT_EQ(Report("cn1{VCPU:30}\n  a{VCPU:30}\n  b{VCPU:30}"), "OK");
  EXPECT_EQ(Total("cn1"), 30);
  EXPECT_EQ(Total("a"), 10);
  EXPECT_EQ(Total("b"), 0);
  EXPECT_THAT(Limited(), ElementsAre("a VCPU 30>10", "b VCPU 30>0"));
}

TEST_F(RulesReportLimits, ADeltaLeavesTheOthersWhatTheyHave) {
  ASSERT_EQ(Report("cn1{VCPU:8}\n  a{VCPU:8}\n  b{VCPU:8}"), "OK");
  ASSERT_EQ(Delta("a{VCPU:39}"), "OK");
  EXPECT_EQ(Total("a"), 24);
  EXPECT_THAT(Limited(), ElementsAre("a VCPU 39>24"));
  ASSERT_EQ(Delta("b{VCPU:39}"), "OK");
  EXPECT_EQ(Total("b"), 8) << "two deltas do not exceed together what one could not";
  ASSERT_EQ(Delta("c{VCPU:1}"), "OK");
  EXPECT_EQ(Total("c"), 0) << "a new provider neither";
  // What goes with the delta is free for the providers of the delta.
  ApplyReport report = FleetWorld::Delta(fleet_.MakeReport("h1", 1, "b{VCPU:39}", ++sequence_),
                                         fleet_.world.provider("cn1"), "cn1");
  report.removed = {fleet_.world.provider("a")};
  ASSERT_EQ(Send(report), "OK");
  EXPECT_EQ(Total("b"), 32);
}

TEST_F(RulesReportLimits, AllNodesOfAHostShareItsCeiling) {
  ASSERT_EQ(Report("cn1{VCPU:30}"), "OK");
  ASSERT_EQ(Send(fleet_.MakeReport("h1", 1, "cn2{VCPU:30}\n  x{CUSTOM_VF:99}", 1)), "OK");
  EXPECT_EQ(Total("cn2"), 10);
  EXPECT_EQ(Total("x", "CUSTOM_VF"), 10) << "a class that the report makes";
  ASSERT_EQ(Send(fleet_.MakeReport("h2", 2, "cn3{VCPU:30}\n  y{CUSTOM_VF:5}", 1)), "OK");
  EXPECT_EQ(Total("cn3"), 30) << "another host";
  EXPECT_EQ(Total("y", "CUSTOM_VF"), 5);
  // A node that comes from another host brings what it has. Then it counts.
  ASSERT_EQ(fleet_.Update("h2", std::nullopt, "", true), "OK");  // its tracker is forced down
  fleet_.world.Must(MoveNode{fleet_.world.provider("cn3"), "h2", "h1", std::nullopt});
  EXPECT_EQ(Total("cn3"), 30);
  ASSERT_EQ(Delta("cn1{VCPU:30}"), "OK");
  EXPECT_EQ(Total("cn1"), 0);
  ASSERT_EQ(Send(fleet_.MakeReport("h1", 1, "cn3{VCPU:35}\n  y{CUSTOM_VF:5}", 1)), "OK");
  EXPECT_EQ(Total("cn3"), 30) << "cn2 has 10";
  EXPECT_EQ(Total("y", "CUSTOM_VF"), 0) << "x has 10";
  // A root that operators made is no node.
  fleet_.world.Add("pool{VCPU:500}");
  ASSERT_EQ(Send(fleet_.MakeReport("h1", 1, "cn2{VCPU:10}\n  x", 2)), "OK");
  EXPECT_EQ(Total("cn2"), 10);
}

TEST_F(RulesReportLimits, ALowerCeilingCountsFromTheNextReportOfAProvider) {
  ASSERT_EQ(Report("cn1{VCPU:20}\n  a{VCPU:20}"), "OK");
  limits_.ceilings["VCPU"] = 10;
  EXPECT_EQ(Total("cn1"), 20);
  ASSERT_EQ(Delta("b{MEMORY_MB:1}"), "OK");
  EXPECT_EQ(Total("a"), 20) << "it is not named";
  ASSERT_EQ(Delta("a{VCPU:20}"), "OK");
  EXPECT_EQ(Total("a"), 0) << "the root has more than the ceiling";
  ASSERT_EQ(Report("cn1{VCPU:20}\n  a{VCPU:20}\n  b"), "OK");
  EXPECT_EQ(Total("cn1"), 10);
  limits_.ceilings["VCPU"] = 25;
  ASSERT_EQ(Report("cn1{VCPU:20}\n  a{VCPU:20}\n  b"), "OK");
  EXPECT_EQ(Total("cn1"), 20);
  EXPECT_EQ(Total("a"), 5);
}

TEST_F(RulesReportLimits, WhatIsInUseStaysAndIsOverCapacity) {
  ASSERT_EQ(Report("cn1{VCPU:20}\n  a{VCPU:20 reserved 2}"), "OK");
  Do("claim c1 new a{VCPU:6}");
  limits_.ceilings["VCPU"] = 10;
  ASSERT_EQ(Report("cn1{VCPU:20}\n  a{VCPU:20 reserved 2}"), "OK");
  EXPECT_EQ(Total("cn1"), 9);
  EXPECT_EQ(Total("a"), 1) << "the least that a row may have";
  EXPECT_EQ(Row("a", "VCPU").reserved, 1);
  EXPECT_EQ(fleet_.world.used("a", "VCPU"), 6);
  EXPECT_THAT(Limited(), ElementsAre("cn1 VCPU 20>9", "a VCPU 20>1"));
  ASSERT_EQ(fleet_.last.result.over_capacity.size(), 1u);
  EXPECT_EQ(fleet_.last.result.over_capacity[0].provider, fleet_.world.provider("a"));
  Do("release c1");
  ASSERT_EQ(Report("cn1{VCPU:20}\n  a{VCPU:20}"), "OK");
  EXPECT_EQ(Total("a"), 0);
}

TEST_F(RulesReportLimits, ResourcesThatMoveAreLimitedToo) {
  ASSERT_EQ(Report("cn1{VCPU:30}"), "OK");
  Do("claim c1 new cn1{VCPU:20}");
  limits_.ceilings["VCPU"] = 15;
  EXPECT_EQ(Move("cn1{MEMORY_MB:1}\n  a{VCPU:99}", "c1", "a{VCPU:20}"), "CAPACITY_EXCEEDED")
      << "as without limits";
  limits_.ceilings["VCPU"] = 25;
  ASSERT_EQ(Move("cn1{MEMORY_MB:1}\n  a{VCPU:99}", "c1", "a{VCPU:20}"), "OK");
  EXPECT_EQ(Total("a"), 25);
  EXPECT_EQ(fleet_.world.used("a", "VCPU"), 20);
  EXPECT_THAT(Limited(), ElementsAre("a VCPU 99>25"));
}

// The tracker says what moves, so that must not lift a ceiling.
TEST_F(RulesReportLimits, WhatMovesLiftsNoCeiling) {
  ASSERT_EQ(Report("cn1{VCPU:40}"), "OK");
  Do("claim c1 new cn1{VCPU:40}");
  EXPECT_EQ(Move("cn1{VCPU:40}\n  a{VCPU:1}", "c1", "cn1{VCPU:40} a{VCPU:1}"), "NO_INVENTORY");
  EXPECT_TRUE(IsForLimits()) << "a tracker gives the move up";
  EXPECT_EQ(Move("cn1{VCPU:1}\n  a{VCPU:99}", "c1", "cn1{VCPU:1} a{VCPU:50}"), "CAPACITY_EXCEEDED");
  EXPECT_TRUE(IsForLimits());
  EXPECT_EQ(Move("cn1{VCPU:1}\n  a{VCPU:9}", "c1", "a{VCPU:20}"), "UNIT_CONSTRAINT_VIOLATED");
  EXPECT_FALSE(IsForLimits()) << "the report asks for too little";
  ASSERT_EQ(Move("cn1{VCPU:1}\n  a{VCPU:39}", "c1", "cn1{VCPU:1} a{VCPU:39}"), "OK");
  // What is held now keeps 1 each, and the others get the rest.
  ASSERT_EQ(Report("cn1{VCPU:40}\n  a{VCPU:39}"), "OK");
  EXPECT_EQ(Total("cn1"), 39);
  EXPECT_EQ(Total("a"), 1);
}

TEST_F(RulesReportLimits, WhatStaysCountsAsWell) {
  std::string notation = "cn1{VCPU:1";
  for (size_t i = 1; i < 256; ++i) absl::StrAppend(&notation, ", CUSTOM_C", i, ":1");
  ASSERT_EQ(Report(notation + "}"), "OK");
  fleet_.world.Must(CreateClass{"CUSTOM_GOLD"});
  ASSERT_EQ(Report("cn1{VCPU:1}"), "OK");
  Do("inventory add cn1 CUSTOM_GOLD:3");
  EXPECT_EQ(Report(notation + "}"), "INVALID_FIELD") << "257 inventories";
}

// Whatever is reported, in snapshots and deltas of two nodes, the host has at most its ceiling; and
// what it was told to be limited is what differs.
TEST_F(RulesReportLimits, RandomReportsStayBelowTheCeiling) {
  std::mt19937_64 random(Seed());
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  const std::vector<std::string> nodes = {"cn1", "cn2"};
  std::vector<int64_t> sequences = {0, 0};
  int cut = 0;
  for (int step = 0; step < 2000; ++step) {
    const int n = below(2);
    const bool whole = sequences[n] == 0 || below(3) == 0;
    std::string notation = nodes[n];
    if (whole || below(2) == 0) absl::StrAppend(&notation, "{VCPU:", 1 + below(30), "}");
    for (int child = 0; child < 3; ++child) {
      if (below(2) == 0) continue;
      absl::StrAppend(&notation, "\n  ", nodes[n], "-", child, "{VCPU:", 1 + below(30), "}");
    }
    ApplyReport report = fleet_.MakeReport("h1", 1, notation, ++sequences[n]);
    if (!whole) {
      report = FleetWorld::Delta(std::move(report), fleet_.world.provider(nodes[n]), nodes[n]);
    }
    ASSERT_EQ(Send(report), "OK") << notation;
    Amount sum = 0;
    for (const std::string& node : nodes) {
      for (const std::string& name :
           {node, absl::StrCat(node, "-0"), absl::StrCat(node, "-1"), absl::StrCat(node, "-2")}) {
        if (fleet_.Has(name)) sum += Total(name);
      }
    }
    ASSERT_LE(sum, 40) << "step " << step << ": " << notation;
    std::vector<std::string> differs;
    for (const ReportedProvider& provider : report.providers) {
      for (const NamedInventory& asked : provider.inventories) {
        const Amount stored = Total(provider.name);
        if (stored == asked.inventory.total) continue;
        differs.push_back(
            absl::StrCat(provider.name, " VCPU ", asked.inventory.total, ">", stored));
      }
    }
    ASSERT_EQ(Limited(), differs) << "step " << step << ": " << notation;
    cut += static_cast<int>(differs.size());
  }
  EXPECT_GT(cut, 500);
}

// Whatever a tracker says of what consumers hold, true or not, while others claim and release.
TEST_F(RulesReportLimits, RandomMovesStayBelowTheCeiling) {
  std::mt19937_64 random(Seed());
  const auto below = [&](Amount bound) { return static_cast<Amount>(random() % bound); };
  const std::vector<std::string> names = {"cn1", "a", "b"};
  ASSERT_EQ(Report("cn1{VCPU:40}\n  a{VCPU:40}\n  b{VCPU:40}"), "OK");
  std::map<std::string, Amount> held;  // by consumer
  int moved = 0;
  for (int step = 0; step < 1000; ++step) {
    const std::string& at = names[below(3)];
    const Amount free = Total(at) - (Total(at) > 0 ? fleet_.world.used(at, "VCPU") : 0);
    if (free > 0) {
      const std::string name = absl::StrCat("c", step);
      held[name] = 1 + below(free);
      Do(absl::StrCat("claim ", name, " new ", at, "{VCPU:", held[name], "}"));
    }
    if (held.empty()) continue;
    const auto mover = std::next(held.begin(), below(static_cast<Amount>(held.size())));
    const Amount kept = below(mover->second + 1);
    const Amount rest = mover->second - kept + below(3);
    std::string wanted;
    if (kept > 0) absl::StrAppend(&wanted, names[below(2)], "{VCPU:", kept, "}");
    if (rest > 0) absl::StrAppend(&wanted, " b{VCPU:", rest, "}");
    const std::string notation =
        absl::StrCat("cn1{VCPU:", 1 + below(40), " max 99}\n  a{VCPU:", 1 + below(40),
                     " max 99}\n  b{VCPU:40 max 99}");
    if (!wanted.empty() && Move(notation, mover->first, wanted) == "OK") {
      ++moved;
      mover->second = kept + rest;
    }
    ASSERT_LE(Total("cn1") + Total("a") + Total("b"), 40) << "step " << step << ": " << notation;
    if (below(2) == 0) continue;
    Do("release " + mover->first);
    held.erase(mover);
    ASSERT_TRUE(below(3) > 0 || Report(notation) == "OK");
    ASSERT_LE(Total("cn1") + Total("a") + Total("b"), 40) << "step " << step << ": " << notation;
  }
  EXPECT_GT(moved, 50);
}

}  // namespace
}  // namespace berth::placement
