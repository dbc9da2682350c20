#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "placement/values/faults.h"
#include "placement/values/refusal.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/script.h"

namespace berth::placement {
namespace {

class RulesReport : public testing::Test {
 protected:
  RulesReport() {
    fleet_.Register("h1", 1, "machine-a");
    fleet_.Register("h2", 2, "machine-b");
  }
  Amount used(absl::string_view name) { return fleet_.world.used(name, "VCPU"); }

  FleetWorld fleet_;
};

TEST_F(RulesReport, MakesTheTreeAndTheNode) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}\n  pf1{CUSTOM_VF:4}[CUSTOM_NET]", 1), "OK");
  EXPECT_TRUE(fleet_.last.result.created);
  EXPECT_EQ(fleet_.world.place("pf1").tree->root_id(), fleet_.world.provider("cn1"));  // T-226
  EXPECT_TRUE(fleet_.world.state().catalog().classes.Find("CUSTOM_VF"));               // T-194
  EXPECT_TRUE(fleet_.HasTrait("pf1", "CUSTOM_NET"));                                   // T-194
  const NodeRecord node = fleet_.node("cn1");
  EXPECT_EQ(node.host, "h1");  // T-8
  EXPECT_EQ(node.name, "cn1");
  EXPECT_EQ(node.report_sequence, 1);
  EXPECT_EQ(node.digest, "digest 1");
  EXPECT_EQ(*node.facts, "facts 1");
  EXPECT_EQ(node.account, "account 1");
  ASSERT_EQ(node.reported.size(), 2u);
  EXPECT_EQ(node.reported[0].second, fleet_.world.generation("cn1"));  // T-226
  EXPECT_EQ(node.reported[1].first, fleet_.world.provider("pf1"));
  ASSERT_EQ(fleet_.last.result.providers.size(), 2u);
  EXPECT_EQ(fleet_.last.result.providers[1].root, fleet_.world.provider("cn1"));
}

// Errors by precedence: each step repairs the one before it.
TEST_F(RulesReport, Ladder) {
  FleetWorld& fleet = fleet_;
  fleet.world.Add("other{VCPU:4}\ntaken");
  ASSERT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}\n  pf1", 5), "OK");
  fleet.world.Must(ParseCommand(fleet.world, "claim c1 new cn1{VCPU:1}"));
  ApplyReport report = fleet.MakeReport("h2", 9, "cn1{NO_SUCH:1 reserved 2}\n  taken", 5);
  report.providers[0].base_generation = Generation{77};
  report.providers[1].id = fleet.world.provider("other");
  report.node_name = "";
  EXPECT_EQ(fleet.Send(report), "INVALID_FIELD");
  report.node_name = "cn1";
  report.host = "h3";
  EXPECT_EQ(fleet.Send(report), "SERVICE_NOT_REGISTERED");  // T-299
  report.host = "h2";
  EXPECT_EQ(fleet.Send(report), "TRACKER_FENCED");  // R-14: not its newest process
  report.incarnation = FleetWorld::Process(2);
  EXPECT_EQ(fleet.Send(report), "POLICY_DENIED");  // T-387: the node is of h1, which is up
  report.host = "h1";
  EXPECT_EQ(fleet.Send(report), "TRACKER_FENCED");  // R-14
  report.incarnation = FleetWorld::Process(1);
  EXPECT_EQ(fleet.Send(report), "OK");  // T-398: a duplicate, whatever it says
  EXPECT_TRUE(fleet.last.changes.empty());
  report.digest = "digest of another report";
  EXPECT_EQ(fleet.Send(report), "REPORT_GAP");  // T-398: the number is taken, by another report
  for (const int64_t wrong : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()}) {
    report.sequence = wrong;
    EXPECT_EQ(fleet.Send(report), "INVALID_FIELD") << wrong;
  }
  report.sequence = 4;
  EXPECT_EQ(fleet.Send(report), "OK");  // T-398: overtaken
  EXPECT_TRUE(fleet.last.changes.empty());
  report.sequence = 6;
  EXPECT_EQ(fleet.Send(report), "POLICY_DENIED");  // "other" is not of this node
  report.providers[1].id = fleet.world.provider("pf1");
  EXPECT_EQ(fleet.Send(report), "DUPLICATE_PROVIDER");  // T-189: the name is somebody else's
  report.providers[1].name = "pf1";
  EXPECT_EQ(fleet.Send(report), "PROVIDER_GENERATION_CONFLICT");  // T-229
  report.providers[0].base_generation = fleet.world.generation("cn1");
  EXPECT_EQ(fleet.Send(report), "PROVIDER_GENERATION_CONFLICT");  // pf1's is missing
  report.providers[1].base_generation = fleet.world.generation("pf1");
  EXPECT_EQ(fleet.Send(report), "INVALID_INVENTORY");  // T-204
  report.providers[0].inventories[0].inventory.reserved = 1;
  EXPECT_EQ(fleet.Send(report), "RESOURCE_CLASS_NOT_FOUND");
  report.providers[0].inventories[0].resource_class = "CUSTOM_NEW";
  EXPECT_EQ(fleet.Send(report), "INVENTORY_IN_USE");  // VCPU is held
  report.providers[0].inventories.push_back({"VCPU", {.total = 1}});
  EXPECT_EQ(fleet.Send(report), "OK");
  EXPECT_EQ(fleet.node("cn1").report_sequence, 6);
}

TEST_F(RulesReport, Form) {
  const auto answer = [&](auto change) {
    ApplyReport report = fleet_.MakeReport("h1", 1, "cn1{VCPU:8}\n  pf1\n    vf1", 1);
    change(report);
    return fleet_.Send(report);
  };
  using Report = ApplyReport;
  EXPECT_EQ(answer([](Report& r) { r.host = ""; }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.providers.clear(); }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.node = ProviderId{}; }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.node_name = "other"; }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.node_name = r.providers[0].name = "c\n1"; }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.providers[0].parent = r.providers[1].id; }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.providers[1].parent.reset(); }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.providers[1].parent = r.providers[2].id; }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.providers[1].name = ""; }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.providers[1].name = "cn1"; }), "DUPLICATE_PARAMETER");
  EXPECT_EQ(answer([](Report& r) { r.providers[2].id = r.providers[1].id; }),
            "DUPLICATE_PARAMETER");
  EXPECT_EQ(answer([](Report& r) { r.providers[0].inventories[0].inventory.total = 0; }),
            "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) {
              r.providers[0].inventories.resize(2, {"VCPU", {.total = 1}});
            }),
            "DUPLICATE_PARAMETER");
  EXPECT_EQ(answer([](Report& r) { r.providers[0].traits_present = {"lower"}; }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.providers[0].traits_absent = {""}; }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.providers[0].aggregates.emplace(2, AggregateId{}); }),
            "DUPLICATE_PARAMETER");
  EXPECT_EQ(answer([](Report& r) { r.removed.push_back(ProviderId{}); }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) {
              r.facts = std::make_shared<const std::string>(kFactsBytesMax + 1, 'x');
            }),
            "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.account.resize(kAccountBytesMax + 1); }), "INVALID_FIELD");
  // The digest is bytes: those that begin no character count, too.
  EXPECT_EQ(answer([](Report& r) { r.digest.assign(256, '\x80'); }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report& r) { r.sums.storage_id.assign(256, 'x'); }), "INVALID_FIELD");
  EXPECT_EQ(answer([](Report&) {}), "OK");
}

TEST_F(RulesReport, UnchangedOnesAreLeftAlone) {
  const std::string tree = "cn1{VCPU:8}[CUSTOM_A]\n  pf1{CUSTOM_VF:4}";
  ASSERT_EQ(fleet_.Report("h1", 1, tree, 1), "OK");
  const Generation root = fleet_.world.generation("cn1"), child = fleet_.world.generation("pf1");
  ASSERT_EQ(fleet_.Report("h1", 1, tree, 2), "OK");
  ASSERT_EQ(fleet_.last.changes.size(), 1u);  // T-193: the node's record alone
  EXPECT_EQ(fleet_.node("cn1").report_sequence, 2);
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:9}[CUSTOM_A]\n  pf1{CUSTOM_VF:4}", 3), "OK");
  EXPECT_EQ(fleet_.last.changes.size(), 2u);  // T-193: and what differs
  EXPECT_EQ(fleet_.world.generation("cn1"), root.Next());
  EXPECT_EQ(fleet_.world.generation("pf1"), child);
  EXPECT_EQ(fleet_.node("cn1").reported[0].second, root.Next());
}

TEST_F(RulesReport, TraitsMerge) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1[CUSTOM_MINE,CUSTOM_OLD]", 1), "OK");
  fleet_.world.Must(EnsureTrait{"CUSTOM_OPERATOR"});
  fleet_.world.Must(
      ParseCommand(fleet_.world, "traits cn1@ CUSTOM_MINE,CUSTOM_OLD,CUSTOM_OPERATOR,OWNER_NOVA"));
  ApplyReport report = fleet_.MakeReport("h1", 1, "cn1[CUSTOM_MINE,CUSTOM_NEW,HW_NOT_KNOWN]", 2);
  report.providers[0].traits_absent = {"CUSTOM_OLD", "CUSTOM_NEVER", "HW_NOT_KNOWN_EITHER"};
  ASSERT_EQ(fleet_.Send(report), "OK");
  EXPECT_TRUE(fleet_.HasTrait("cn1", "CUSTOM_OPERATOR"));  // T-211: neither present nor absent
  EXPECT_TRUE(fleet_.HasTrait("cn1", "CUSTOM_NEW"));       // T-211
  EXPECT_FALSE(fleet_.HasTrait("cn1", "CUSTOM_OLD"));      // T-211
  EXPECT_EQ(fleet_.last.result.unknown_traits, std::vector<std::string>{"HW_NOT_KNOWN"});  // T-213
  EXPECT_FALSE(fleet_.world.state().catalog().traits.Find("CUSTOM_NEVER"));  // T-211: not made
}

TEST_F(RulesReport, AggregatesAreReplaced) {
  const AggregateId first{Uuid{7, 1}}, second{Uuid{7, 2}};
  ApplyReport report = fleet_.MakeReport("h1", 1, "cn1\n  pf1", 1);
  report.providers[0].aggregates = {second, first};
  ASSERT_EQ(fleet_.Send(report), "OK");
  const auto aggregates = [&] { return fleet_.world.place("cn1").config().aggregates; };
  EXPECT_EQ(aggregates(), (std::vector<AggregateId>{first, second}));
  EXPECT_TRUE(fleet_.world.place("pf1").config().aggregates.empty());
  const Generation before = fleet_.world.generation("cn1");
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1\n  pf1", 2), "OK");
  EXPECT_EQ(aggregates().size(), 2u);  // they are not named: they stay
  EXPECT_EQ(fleet_.world.generation("cn1"), before);
  report = fleet_.MakeReport("h1", 1, "cn1\n  pf1", 3);
  report.providers[0].aggregates.emplace();
  ASSERT_EQ(fleet_.Send(report), "OK");
  EXPECT_TRUE(aggregates().empty());
  EXPECT_EQ(fleet_.world.generation("cn1"), before.Next());
}

TEST_F(RulesReport, InventoriesAreReplaced) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8, DISK_GB:10}", 1), "OK");
  fleet_.world.Must(ParseCommand(fleet_.world, "inventory add cn1 MEMORY_MB:64"));
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 2), "OK");
  EXPECT_EQ(fleet_.world.place("cn1").config().inventories.size(), 1u);  // T-201
  fleet_.world.Must(ParseCommand(fleet_.world, "claim c1 new cn1{VCPU:6}"));
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:4}", 3), "OK");  // P-89, P-91
  ASSERT_EQ(fleet_.last.result.over_capacity.size(), 1u);     // P-89
  EXPECT_EQ(fleet_.last.result.over_capacity[0].provider, fleet_.world.provider("cn1"));
  EXPECT_EQ(used("cn1"), 6);
}

TEST_F(RulesReport, WhatIsNotReportedGoes) {
  ASSERT_EQ(fleet_.Report("h1", 1, R"(
    cn1{VCPU:8}
      a{VCPU:1}
        aa{VCPU:1}
      b{VCPU:1}
        bb{VCPU:1}
      c{VCPU:1}
        moved{VCPU:1}
      d{VCPU:1})",
                          1),
            "OK");
  fleet_.world.Must(
      CreateProvider{fleet_.world.provider("foreign"), "foreign", fleet_.world.provider("d")});
  fleet_.world.Must(ParseCommand(fleet_.world, "claim c1 new bb{VCPU:1}"));
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}\n  moved{VCPU:1}", 2), "OK");
  EXPECT_FALSE(fleet_.Has("a"));   // T-194
  EXPECT_FALSE(fleet_.Has("aa"));  // T-194: children first
  EXPECT_TRUE(fleet_.Has("b"));    // T-196: it has a child that stays
  EXPECT_TRUE(fleet_.Has("bb"));   // T-196: it is in use
  EXPECT_FALSE(fleet_.Has("c"));   // its child has moved away
  EXPECT_EQ(fleet_.world.place("moved").config().parent, fleet_.world.provider("cn1"));
  EXPECT_TRUE(fleet_.Has("foreign"));                 // T-202
  EXPECT_TRUE(fleet_.Has("d"));                       // T-202: what is above it stays too
  EXPECT_EQ(fleet_.last.result.warnings.size(), 3u);  // b, bb, d
  EXPECT_EQ(fleet_.node("cn1").reported.size(), 2u);
}

TEST_F(RulesReport, NamesMayBePassedOn) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1\n  a\n  b\n  c", 1), "OK");
  ApplyReport report = fleet_.MakeReport("h1", 1, "cn1\n  a\n  b\n  d", 2);
  std::swap(report.providers[1].name, report.providers[2].name);
  report.providers[3].name = "c";
  ASSERT_EQ(fleet_.Send(report), "OK");  // a and b swap; c goes and leaves its name to d
  EXPECT_EQ(fleet_.world.place("a").config().name, "b");
  EXPECT_EQ(fleet_.world.place("d").config().name, "c");
  EXPECT_FALSE(fleet_.Has("c"));
}

TEST_F(RulesReport, RootOfAnotherUuidKeepsItsName) {
  fleet_.world.Add("cn1");
  ApplyReport report = fleet_.MakeReport("h1", 1, "cn2", 1);
  report.node_name = report.providers[0].name = "cn1";
  ASSERT_EQ(fleet_.Send(report), "DUPLICATE_PROVIDER");  // T-12, T-189
  const auto refusal = RefusalOf(fleet_.world.Do(report).status());
  EXPECT_EQ(refusal->items.at(0).at("provider"), fleet_.world.provider("cn1").ToString());
  EXPECT_EQ(fleet_.Report("h1", 1, "cn1", 1), "OK");  // T-22: a root that nobody owns is adopted
}

TEST_F(RulesReport, NodeOfAnotherHostKeepsItsName) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1", 1), "OK");
  ApplyReport report = fleet_.MakeReport("h2", 2, "cn2", 1);
  report.node_name = report.providers[0].name = "cn1";
  EXPECT_EQ(fleet_.Send(report), "DUPLICATE_PROVIDER");  // T-23, T-24
  EXPECT_EQ(fleet_.node("cn1").host, "h1");              // T-23: it is not adopted by its name
  EXPECT_FALSE(fleet_.HasNode("cn2"));                   // T-24
  ASSERT_EQ(fleet_.Answer(DeleteNode{fleet_.world.provider("cn1"), true}), "OK");
  EXPECT_EQ(fleet_.Send(report), "OK");  // T-24: once the name is free
}

// Nodes of one host have names of their own, whatever else the report says or does not.
TEST_F(RulesReport, NodeOfAnotherUuidKeepsItsName) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1", 1), "OK");
  ASSERT_EQ(fleet_.Report("h1", 1, "cn2", 1), "OK");
  ApplyReport report =
      FleetWorld::Delta(fleet_.MakeReport("h1", 1, "cn2", 2), fleet_.world.provider("cn2"), "cn1");
  report.providers.clear();
  ASSERT_EQ(fleet_.Send(report), "DUPLICATE_PROVIDER");  // T-12
  const absl::Status refused = fleet_.world.Do(report).status();
  const auto refusal = RefusalOf(refused);
  ASSERT_EQ(refusal->items.size(), 1u);
  EXPECT_EQ(refusal->items[0].at("provider"), fleet_.world.provider("cn1").ToString());
  EXPECT_EQ(refusal->items[0].at("field"), "node_name");
  EXPECT_TRUE(absl::StrContains(refused.message(), fleet_.world.provider("cn2").ToString()));
}

TEST_F(RulesReport, ReHoming) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 7), "OK");
  EXPECT_EQ(fleet_.Report("h2", 2, "cn1{VCPU:8}", 1), "POLICY_DENIED");  // T-387
  EXPECT_EQ(fleet_.Mark("h1", 1, false), "OK");
  EXPECT_EQ(fleet_.Report("h2", 2, "cn1{VCPU:8}", 1), "OK");  // T-22, T-387
  EXPECT_EQ(fleet_.node("cn1").host, "h2");                   // T-22
  EXPECT_EQ(fleet_.Mark("h1", 1, true), "OK");
  EXPECT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 8), "POLICY_DENIED");  // T-387
}

TEST_F(RulesReport, SequencesAreOfOneProcess) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:8}", 7), "OK");
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:6}", 6), "OK");
  EXPECT_TRUE(fleet_.last.changes.empty());  // T-398
  ASSERT_EQ(fleet_.last.result.providers.size(), 1u);
  EXPECT_EQ(fleet_.last.result.providers[0].config->generation, fleet_.world.generation("cn1"));
  fleet_.Register("h1", 3, "machine-a");
  EXPECT_EQ(fleet_.Report("h1", 1, "cn1{VCPU:6}", 8),
            "TRACKER_FENCED");                                // T-14, T-373, T-397, R-14
  ASSERT_EQ(fleet_.Report("h1", 3, "cn1{VCPU:6}", 1), "OK");  // T-226: it begins anew
  EXPECT_EQ(fleet_.node("cn1").report_sequence, 1);
}

TEST_F(RulesReport, ConflictsNameAllProviders) {
  ASSERT_EQ(fleet_.Report("h1", 1, "cn1\n  a\n  b", 1), "OK");
  ApplyReport report = fleet_.MakeReport("h1", 1, "cn1\n  a\n  b\n  new", 2);
  report.providers[1].base_generation.reset();
  report.providers[3].base_generation = Generation{5};
  const auto refusal = RefusalOf(fleet_.world.Do(report).status());
  ASSERT_EQ(refusal->items.size(), 2u);  // T-229
  EXPECT_EQ(refusal->items[0].at("provider"), fleet_.world.provider("a").ToString());
  EXPECT_EQ(refusal->items[0].at("expected_generation"), "none");
  EXPECT_EQ(refusal->items[1].at("provider"), fleet_.world.provider("new").ToString());
  EXPECT_EQ(refusal->items[1].at("actual_generation"), "none");
}

TEST_F(RulesReport, NodesBelowNodes) {
  FleetWorld& fleet = fleet_;
  fleet.world.Add("rack");
  ASSERT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}\n  a", 1), "OK");
  ASSERT_EQ(fleet.Report("h2", 2, "cn2{VCPU:8}\n  b", 1), "OK");
  fleet.world.Must(ParseCommand(fleet.world, "move cn1 below rack"));
  fleet.world.Must(ParseCommand(fleet.world, "move cn2 below a"));
  ASSERT_EQ(fleet.Report("h1", 1, "cn1{VCPU:9}", 2), "OK");
  EXPECT_EQ(fleet.world.place("cn1").config().parent, fleet.world.provider("rack"));
  EXPECT_TRUE(fleet.Has("b"));  // another node's
  EXPECT_TRUE(fleet.Has("a"));  // and what is above it
  ApplyReport report = fleet.MakeReport("h1", 1, "cn1{VCPU:9}\n  b", 3);
  EXPECT_EQ(fleet.Send(report), "POLICY_DENIED");
}

TEST_F(RulesReport, RetireAndDelete) {
  FleetWorld& fleet = fleet_;
  EXPECT_EQ(fleet.Answer(RetireNode{fleet.world.provider("cn1"), true}), "NODE_NOT_FOUND");
  EXPECT_EQ(fleet.Answer(DeleteNode{fleet.world.provider("cn1"), true}), "NODE_NOT_FOUND");
  ASSERT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}\n  pf1{VCPU:8}", 1), "OK");
  fleet.world.Add("keep{VCPU:8}");
  const ProviderId node = fleet.world.provider("cn1");
  EXPECT_EQ(fleet.Answer(RetireNode{node, true}), "OK");
  EXPECT_TRUE(fleet.node("cn1").retired);  // T-40
  ASSERT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}\n  pf1{VCPU:8}", 2), "OK");
  EXPECT_FALSE(fleet.node("cn1").retired);  // it is configured again
  fleet.world.Must(
      CreateProvider{fleet.world.provider("foreign"), "foreign", fleet.world.provider("pf1")});
  RunScript(fleet.world, R"(
    claim c1 new cn1{VCPU:1} pf1{VCPU:2}               OK
    claim c2 new pf1{VCPU:1} keep{VCPU:3}              OK
  )");
  EXPECT_EQ(fleet.Answer(DeleteNode{node, false}), "PROVIDER_HAS_CHILDREN");  // T-202
  fleet.world.Must(DeleteProvider{fleet.world.provider("foreign")});
  EXPECT_EQ(fleet.Answer(DeleteNode{node, false}), "PROVIDER_IN_USE");  // T-40
  const Generation c2 = *fleet.world.consumer_generation("c2");
  EXPECT_EQ(fleet.Answer(DeleteNode{node, true}), "OK");
  EXPECT_FALSE(fleet.Has("cn1"));                               // T-225
  EXPECT_FALSE(fleet.Has("pf1"));                               // T-225
  EXPECT_FALSE(fleet.HasNode("cn1"));                           // T-225
  EXPECT_FALSE(fleet.world.consumer_generation("c1"));          // T-225
  EXPECT_EQ(fleet.world.consumer_generation("c2"), c2.Next());  // T-223: keeps the rest
  EXPECT_EQ(used("keep"), 3);
  ASSERT_EQ(fleet.last.result.consumers.size(), 1u);
}

}  // namespace
}  // namespace berth::placement
