// Whom each kind of change concerns: what is pushed to trackers is routed by it.
#include "placement/log/concerned.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "placement/log/codec.h"
#include "placement/log/feed.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/touched_records.h"

namespace berth::placement {
namespace {

using Hosts = std::vector<std::string>;

// What `changes`, made for `before`, concern; a process that reads them in the log finds the same.
Concerned Of(const State& before, const Changes& changes) {
  ScopeMaker maker(before, changes);
  State after = before;
  after.Apply(changes);
  auto scope = std::make_shared<const Scope>(std::move(maker).Finish(after));
  const Concerned concerned = ConcernedBy(changes, *scope);
  const auto logged = DecodeBatch(
      EncodeBatch({{"actor", "", std::make_shared<const Changes>(changes), "", scope}}));
  EXPECT_TRUE(logged.ok()) << logged.status();
  const FeedBatchPtr read = FeedBatchOf(Position(), *logged);
  EXPECT_EQ(read->commands[0].concerned.hosts, concerned.hosts);
  EXPECT_EQ(read->commands[0].concerned.nodes, concerned.nodes);
  return concerned;
}

Hosts HostsOf(const Concerned& concerned) {
  Hosts hosts;
  for (const HostNews& news : concerned.hosts) hosts.push_back(news.host);
  return hosts;
}

// "h1: 0 2; h2: 1": the hosts, each with the positions of the changes that concern it.
std::string TextOfHosts(const Concerned& concerned) {
  return absl::StrJoin(concerned.hosts, "; ", [](std::string* out, const HostNews& news) {
    absl::StrAppend(out, news.host, ": ", absl::StrJoin(news.changes, " "));
  });
}

class ConcernedTest : public testing::Test {
 protected:
  ConcernedTest() {
    fleet_.Register("h1", 1, "machine-1");
    fleet_.Register("h2", 2, "machine-2");
    fleet_.Report("h1", 1, "cn1{VCPU:8}\n  pf1{SRIOV_NET_VF:8}", 1);
  }

  const State& state() const { return fleet_.world.state(); }
  NodePut Node(const std::string& host) {
    NodeRecord node = fleet_.node("cn1");
    node.host = host;
    return NodePut{std::make_shared<const NodeRecord>(node)};
  }
  ProviderId root() { return fleet_.world.provider("cn1"); }
  // "cn1: 0 2; rack renewed: ": the nodes by their names, likewise.
  std::string TextOfNodes(const Concerned& concerned) {
    return absl::StrJoin(concerned.nodes, "; ", [this](std::string* out, const NodeNews& news) {
      std::string name = "?";
      for (const char* known : {"cn1", "cn2", "rack", "pf1"}) {
        if (fleet_.world.provider(known) == news.node) name = known;
      }
      absl::StrAppend(out, name, news.renewed ? " renewed" : "", ": ",
                      absl::StrJoin(news.changes, " "));
    });
  }
  // The provider `name` as it is, below `parent` from now on.
  ProviderPut Below(absl::string_view name, std::optional<ProviderId> parent) {
    ProviderConfig config = fleet_.world.place(name).config();
    config.parent = parent;
    config.generation = config.generation.Next();
    return ProviderPut{std::make_shared<const ProviderConfig>(config)};
  }
  // A claim of a slot of the provider by consumer c1.
  Changes ClaimOf(absl::string_view provider, absl::string_view resource_class) {
    Consumer consumer;
    consumer.id = fleet_.world.consumer("c1");
    consumer.owner = state().ShareOwner({"project", "user", "TYPE"});
    consumer.allocations = {
        {fleet_.world.provider(provider), *state().catalog().classes.Find(resource_class), 1}};
    const Allocation row = consumer.allocations[0];
    return {ConsumerPut{std::make_shared<const Consumer>(consumer)},
            ProviderUsed{row.provider, Generation{99}, {{row.resource_class, 1}}}};
  }

  FleetWorld fleet_;
};

TEST_F(ConcernedTest, AServiceConcernsItsHostAlone) {
  const Concerned put =
      Of(state(), {ServicePut{std::make_shared<const ServiceRecord>(fleet_.service("h2"))}});
  EXPECT_EQ(HostsOf(put), Hosts{"h2"});
  EXPECT_TRUE(put.nodes.empty());
  EXPECT_EQ(HostsOf(Of(state(), {ServiceRemoved{"h2", "berth-tracker"}})), Hosts{"h2"});
}

TEST_F(ConcernedTest, ANodeConcernsItsHostBeforeAndAfter) {
  EXPECT_EQ(HostsOf(Of(state(), {Node("h1")})), Hosts{"h1"});
  const Concerned moved = Of(state(), {Node("h2")});
  EXPECT_EQ(HostsOf(moved), (Hosts{"h1", "h2"}));
  EXPECT_EQ(TextOfNodes(moved), "cn1 renewed: ");
  EXPECT_EQ(HostsOf(Of(state(), {NodeRemoved{root()}})), Hosts{"h1"});
}

// Its tracker may have a session that was told of nothing, when there was no such provider.
TEST_F(ConcernedTest, ATreeThatBecomesANodeIsRenewed) {
  fleet_.world.Add("rack");
  NodeRecord node;
  node.id = fleet_.world.provider("rack");
  node.name = "rack";
  node.host = "h2";
  const NodePut put{std::make_shared<const NodeRecord>(node)};
  EXPECT_EQ(TextOfNodes(Of(state(), {Below("rack", std::nullopt), put})), "rack renewed: 0");
  node.id = fleet_.world.provider("cn2");
  ProviderConfig root;
  root.id = node.id;
  root.name = node.name = "cn2";
  const Changes made = {ProviderPut{std::make_shared<const ProviderConfig>(root)},
                        NodePut{std::make_shared<const NodeRecord>(node)}};
  EXPECT_EQ(TextOfNodes(Of(state(), made)), "cn2: 0");
}

TEST_F(ConcernedTest, AClaimConcernsTheNodeOfItsProviders) {
  const Concerned concerned = Of(state(), ClaimOf("pf1", "SRIOV_NET_VF"));
  EXPECT_TRUE(concerned.hosts.empty());
  EXPECT_EQ(TextOfNodes(concerned), "cn1: 0");
}

// The root of a node may be anywhere in a tree. Below it all belongs to it, down to the next node.
TEST_F(ConcernedTest, AClaimBelowANodeInATreeConcernsThatNodeAlone) {
  fleet_.Report("h2", 2, "cn2{VCPU:8}", 1);
  fleet_.world.Add("rack");
  State below = state();
  below.Apply({Below("cn1", fleet_.world.provider("rack"))});
  EXPECT_EQ(TextOfNodes(Of(below, ClaimOf("pf1", "SRIOV_NET_VF"))), "cn1: 0");
  EXPECT_EQ(TextOfNodes(Of(below, ClaimOf("cn1", "VCPU"))), "cn1: 0");
  below.Apply({Below("cn2", fleet_.world.provider("pf1"))});
  EXPECT_EQ(TextOfNodes(Of(below, ClaimOf("cn2", "VCPU"))), "cn2: 0");
  EXPECT_EQ(TextOfNodes(Of(below, ClaimOf("pf1", "SRIOV_NET_VF"))), "cn1: 0");
}

TEST_F(ConcernedTest, AProviderThatMovesRenewsTheNodesOfItsSubtree) {
  fleet_.Report("h2", 2, "cn2{VCPU:8}", 1);
  fleet_.world.Add("rack");
  // The node keeps all that belongs to it.
  EXPECT_EQ(TextOfNodes(Of(state(), {Below("cn1", fleet_.world.provider("rack"))})), "cn1: 0");
  EXPECT_EQ(TextOfNodes(Of(state(), {Below("pf1", fleet_.world.provider("cn2"))})),
            "cn1 renewed: ; cn2 renewed: 0");
}

// The scope of a rack of 10,000 nodes would name each of them.
TEST_F(ConcernedTest, AnAggregateOfARackNamesNoNodesBelowIt) {
  fleet_.world.Add("rack");
  State below = state();
  below.Apply({Below("cn1", fleet_.world.provider("rack"))});
  ProviderConfig rack = fleet_.world.place("rack").config();
  rack.aggregates = {AggregateId{Uuid{5, 1}}};
  rack.generation = rack.generation.Next();
  const Changes joins = {ProviderPut{std::make_shared<const ProviderConfig>(rack)}};
  ScopeMaker maker(below, joins);
  State after = below;
  after.Apply(joins);
  const Scope scope = std::move(maker).Finish(after);
  EXPECT_FALSE(scope.neighbours.empty());
  EXPECT_TRUE(scope.nodes.empty());
  EXPECT_EQ(TextOfNodes(ConcernedBy(joins, scope)), "rack: 0");
}

// What is gone is told to the node to which it belonged.
TEST_F(ConcernedTest, WhatIsRemovedConcernsItsNodeOfBefore) {
  EXPECT_EQ(TextOfNodes(Of(state(), {ProviderRemoved{fleet_.world.provider("pf1")}})), "cn1: 0");
  const Changes claim = ClaimOf("pf1", "SRIOV_NET_VF");
  State held = state();
  held.Apply(claim);
  const ProviderId pf1 = fleet_.world.provider("pf1");
  const ClassId vf = *state().catalog().classes.Find("SRIOV_NET_VF");
  EXPECT_EQ(TextOfNodes(Of(held, {ConsumerRemoved{fleet_.world.consumer("c1")},
                                  ProviderUsed{pf1, Generation{100}, {{vf, 0}}}})),
            "cn1: 0");
}

std::shared_ptr<InstanceRecord> InstanceAt(const std::string& host, int64_t generation) {
  auto instance = std::make_shared<InstanceRecord>();
  instance->id = InstanceId{Uuid{11, 1}};
  instance->generation = Generation{generation};
  instance->host = host;
  return instance;
}

std::shared_ptr<MigrationRecord> MoveOf(const std::string& source, const std::string& destination,
                                        const std::string& status, int64_t generation) {
  auto migration = std::make_shared<MigrationRecord>();
  migration->id = MigrationId{Uuid{12, 1}};
  migration->generation = Generation{generation};
  migration->instance = InstanceId{Uuid{11, 1}};
  migration->source_host = source;
  migration->destination_host = destination;
  migration->status = status;
  return migration;
}

TEST_F(ConcernedTest, AnInstanceConcernsItsHostBeforeAndAfter) {
  State before = state();
  EXPECT_EQ(HostsOf(Of(before, {InstancePut{InstanceAt("", 1)}})), Hosts());
  EXPECT_EQ(HostsOf(Of(before, {InstancePut{InstanceAt("h1", 1)}})), Hosts{"h1"});
  before.Apply({InstancePut{InstanceAt("h1", 1)}});
  EXPECT_EQ(HostsOf(Of(before, {InstancePut{InstanceAt("h2", 2)}})), (Hosts{"h1", "h2"}));
  EXPECT_EQ(HostsOf(Of(before, {InstancePut{InstanceAt("", 2)}})), Hosts{"h1"});
  EXPECT_EQ(HostsOf(Of(before, {InstanceRemoved{InstanceId{Uuid{11, 1}}}})), Hosts{"h1"});
}

TEST_F(ConcernedTest, AMigrationConcernsBothHostsBeforeAndAfter) {
  State before = state();
  before.Apply({InstancePut{InstanceAt("h1", 1)}});
  EXPECT_EQ(HostsOf(Of(before, {MigrationPut{MoveOf("h1", "", "accepted", 1)}})), Hosts{"h1"});
  before.Apply({MigrationPut{MoveOf("h1", "h2", "accepted", 1)}});
  EXPECT_EQ(HostsOf(Of(before, {MigrationPut{MoveOf("h1", "h3", "accepted", 2)}})),
            (Hosts{"h1", "h2", "h3"}));
  EXPECT_EQ(HostsOf(Of(before, {MigrationPut{MoveOf("h1", "h2", "done", 2)}})),
            (Hosts{"h1", "h2"}));
  EXPECT_EQ(HostsOf(Of(before, {MigrationRemoved{MigrationId{Uuid{12, 1}}}})), (Hosts{"h1", "h2"}));
}

TEST_F(ConcernedTest, AnInstanceThatMovesConcernsBothSides) {
  State before = state();
  before.Apply({InstancePut{InstanceAt("h1", 1)}, MigrationPut{MoveOf("h1", "h2", "error", 1)}});
  EXPECT_EQ(HostsOf(Of(before, {InstancePut{InstanceAt("h1", 2)}})), (Hosts{"h1", "h2"}));
  before.Apply({MigrationPut{MoveOf("h1", "h2", "done", 2)}});
  EXPECT_EQ(HostsOf(Of(before, {InstancePut{InstanceAt("h1", 2)}})), Hosts{"h1"});
}

// The source of an evacuation that is over was told of the instance, and is told that it is gone.
TEST_F(ConcernedTest, AnInstanceThatIsRemovedConcernsTheHostsOfAllItsMigrations) {
  State before = state();
  before.Apply({InstancePut{InstanceAt("h2", 1)}, MigrationPut{MoveOf("h1", "h2", "done", 1)}});
  EXPECT_EQ(TextOfHosts(Of(before, {MigrationRemoved{MigrationId{Uuid{12, 1}}},
                                    InstanceRemoved{InstanceId{Uuid{11, 1}}}})),
            "h1: 0 1; h2: 0 1");
}

// Each host is told of its own part of a command about many.
TEST_F(ConcernedTest, AHostIsConcernedByItsOwnChangesAlone) {
  auto second = std::make_shared<InstanceRecord>(*InstanceAt("h2", 1));
  second->id = InstanceId{Uuid{11, 2}};
  const Changes both = {InstancePut{InstanceAt("h1", 1)}, InstancePut{second},
                        MigrationPut{MoveOf("h1", "h3", "accepted", 1)}};
  EXPECT_EQ(TextOfHosts(Of(state(), both)), "h1: 0 2; h2: 1; h3: 2");
  State before = state();
  before.Apply({InstancePut{InstanceAt("h1", 1)}, InstancePut{second}});
  auto moved = std::make_shared<InstanceRecord>(*second);
  moved->host = "h3";
  moved->generation = Generation{2};
  EXPECT_EQ(TextOfHosts(Of(before, {InstancePut{moved}, InstancePut{InstanceAt("h1", 2)}})),
            "h1: 1; h2: 0; h3: 0");
}

// An instance keeps its finished migrations for ever.
TEST_F(ConcernedTest, AnInstanceIsWrittenWithoutReadingItsFinishedMigrations) {
  constexpr uint64_t kFinished = 200;
  TouchedRecords kept(kFinished);
  State moved = state();
  auto instance = std::make_shared<InstanceRecord>();
  instance->id = InstanceId{Uuid{11, 1}};
  instance->host = "h1";
  moved.Apply({InstancePut{instance}});
  for (uint64_t i = 1; i <= kFinished; ++i) {
    MigrationRecord migration;
    migration.id = MigrationId{Uuid{12, i}};
    migration.instance = instance->id;
    migration.source_host = "h2";
    migration.status = "done";
    moved.Apply({MigrationPut{kept.Keep(std::move(migration))}});
  }
  auto written = std::make_shared<InstanceRecord>(*instance);
  written->generation = Generation{2};
  const Changes changes = {InstancePut{std::move(written)}};
  Concerned concerned;
  EXPECT_EQ(kept.Count([&] { concerned = Of(moved, changes); }), 0);
  EXPECT_EQ(HostsOf(concerned), Hosts{"h1"});
}

}  // namespace
}  // namespace berth::placement
