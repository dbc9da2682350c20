// What is new in a report or a Hello, beside what the tracker may still bring today.
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "placement/rules/rules.h"
#include "placement/values/refusal.h"
#include "tests/worlds/fleet_world.h"

namespace berth::placement {
namespace {

constexpr DailyLeft kNothing = {0, 0, 0};

class RulesDailyLimit : public testing::Test {
 protected:
  RulesDailyLimit() { fleet_.Register("h1", 1, "machine-a"); }

  std::string Report(const std::string& notation, int64_t sequence, const DailyLeft& left,
                     int process = 1) {
    ApplyReport report = fleet_.MakeReport("h1", process, notation, sequence);
    report.left = left;
    return fleet_.Send(report);
  }
  // What the refusal of the command says: "LIMIT requested/left FIELD" for each item.
  std::map<std::string, std::string> Lacking(const CommandBody& command) {
    const auto refusal = RefusalOf(fleet_.world.Do(command).status());
    std::map<std::string, std::string> lacking;
    if (!refusal || refusal->reason != "DAILY_LIMIT_REACHED") return {{"", "another answer"}};
    for (const FaultItem& item : refusal->items) {
      lacking[item.at("limit")] =
          item.at("requested") + "/" + item.at("left") + " " + item.at("field");
    }
    return lacking;
  }

  FleetWorld fleet_;
};

TEST_F(RulesDailyLimit, WhatIsNewIsCountedByKind) {
  const std::string tree = "cn1{VCPU:8,CUSTOM_A:1}[CUSTOM_T,CUSTOM_U]\n  pf1{CUSTOM_A:2}[CUSTOM_T]";
  ApplyReport report = fleet_.MakeReport("h1", 1, tree, 1);
  report.left = {2, 1, 0};
  EXPECT_EQ(fleet_.Send(report), "DAILY_LIMIT_REACHED");  // and nothing is left behind
  EXPECT_EQ(Lacking(report), (std::map<std::string, std::string>{{"names", "3/2 providers"},
                                                                 {"providers", "2/1 providers"},
                                                                 {"nodes", "1/0 node_uuid"}}));
  report.left = {2, 2, 1};
  EXPECT_EQ(Lacking(report), (std::map<std::string, std::string>{{"names", "3/2 providers"}}));
  EXPECT_EQ(Report(tree, 1, {3, 2, 1}), "OK");
}

TEST_F(RulesDailyLimit, WhatIsThereIsNotNew) {
  const std::string tree = "cn1{VCPU:8,CUSTOM_A:1}[CUSTOM_T]\n  pf1";
  ASSERT_EQ(Report(tree, 1, {2, 2, 1}), "OK");
  EXPECT_EQ(Report(tree, 1, kNothing), "OK") << "a repeat";
  EXPECT_EQ(Report("cn1{VCPU:9,CUSTOM_A:1}[CUSTOM_T]\n  pf1[CUSTOM_T]", 2, kNothing), "OK");
  // The tracker was started again: its first report is a snapshot.
  ASSERT_EQ(fleet_.Register("h1", 2, "machine-a"), "OK");
  EXPECT_EQ(Report(tree, 1, kNothing, 2), "OK");
  // A provider that went and comes again is new; its name is not.
  EXPECT_EQ(Report("cn1{VCPU:8}", 2, kNothing, 2), "OK");
  EXPECT_EQ(Report(tree, 3, kNothing, 2), "DAILY_LIMIT_REACHED");
  EXPECT_EQ(Report(tree, 3, {0, 1, 0}, 2), "OK");
}

TEST_F(RulesDailyLimit, ADeltaIsCountedToo) {
  ASSERT_EQ(Report("cn1{VCPU:8}", 1, {0, 1, 1}), "OK");
  ApplyReport delta = FleetWorld::Delta(fleet_.MakeReport("h1", 1, "pf1[CUSTOM_T]", 2),
                                        fleet_.world.provider("cn1"), "cn1");
  delta.left = {1, 0, 0};
  EXPECT_EQ(Lacking(delta), (std::map<std::string, std::string>{{"providers", "1/0 providers"}}));
  delta.left = {1, 1, 0};
  EXPECT_EQ(fleet_.Send(delta), "OK");
}

TEST_F(RulesDailyLimit, OtherFaultsAreToldFirst) {
  ApplyReport report = fleet_.MakeReport("h1", 1, "cn1{NO_SUCH:1}", 1);
  report.left = kNothing;
  EXPECT_EQ(fleet_.Send(report), "RESOURCE_CLASS_NOT_FOUND");
  report.providers[0].inventories[0].resource_class = "VCPU";
  EXPECT_EQ(fleet_.Send(report), "DAILY_LIMIT_REACHED");
}

// Of the two that a report with holdings goes through, this comes before the Reshape.
TEST_F(RulesDailyLimit, AReportThatMovesAllocationsIsCounted) {
  ASSERT_EQ(Report("cn1{VCPU:8}", 1, {0, 1, 1}), "OK");
  ApplyReport report = fleet_.MakeReport("h1", 1, "cn1{VCPU:8}\n  gpu{CUSTOM_CARD:3}", 2);
  ReportedHolding holding;
  holding.consumer = ConsumerId{Uuid{7, 7}};
  holding.allocations = {{report.providers[1].id, {{"CUSTOM_CARD", 1}}}};
  report.holdings = {holding};
  report.left = {0, 1, 0};
  EXPECT_EQ(fleet_.Send(report), "DAILY_LIMIT_REACHED");
  report.left = {1, 1, 0};
  EXPECT_EQ(fleet_.Send(report), "CONSUMER_GENERATION_CONFLICT") << "there is no such consumer";
}

TEST_F(RulesDailyLimit, AHelloMayNameWhatIsThere) {
  RegisterService hello{"h1", "berth-tracker", FleetWorld::Process(2), "machine-a", "", Uuid{5, 7}};
  hello.may_be_new = false;
  EXPECT_EQ(fleet_.Answer(hello), "OK") << "a restart";
  hello.binary = "another";
  EXPECT_EQ(fleet_.Answer(hello), "DAILY_LIMIT_REACHED");
  EXPECT_EQ(Lacking(hello), (std::map<std::string, std::string>{{"services", "1/0 host"}}));
  hello.may_be_new = true;
  EXPECT_EQ(fleet_.Answer(hello), "OK");
}

}  // namespace
}  // namespace berth::placement
