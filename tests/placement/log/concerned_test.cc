// Whom each kind of change concerns: what is pushed to trackers is routed by it.
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "placement/log/scope.h"
#include "tests/worlds/fleet_world.h"
#include "tests/worlds/touched_records.h"

namespace berth::placement {
namespace {

using Hosts = std::vector<std::string>;

// What `changes`, made for `before`, concern.
Concerned Of(const State& before, const Changes& changes) {
  ScopeMaker maker(before, changes);
  State after = before;
  after.Apply(changes);
  return ConcernedBy(changes, std::move(maker).Finish(after));
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

  FleetWorld fleet_;
};

TEST_F(ConcernedTest, AServiceConcernsItsHostAlone) {
  const Concerned put =
      Of(state(), {ServicePut{std::make_shared<const ServiceRecord>(fleet_.service("h2"))}});
  EXPECT_EQ(put.hosts, Hosts{"h2"});
  EXPECT_TRUE(put.roots.empty());
  EXPECT_EQ(Of(state(), {ServiceRemoved{"h2", "berth-tracker"}}).hosts, Hosts{"h2"});
}

TEST_F(ConcernedTest, ANodeConcernsItsHostBeforeAndAfter) {
  EXPECT_EQ(Of(state(), {Node("h1")}).hosts, Hosts{"h1"});
  const Concerned moved = Of(state(), {Node("h2")});
  EXPECT_EQ(moved.hosts, (Hosts{"h1", "h2"}));
  EXPECT_EQ(moved.roots, std::vector<ProviderId>{root()});
  EXPECT_EQ(Of(state(), {NodeRemoved{root()}}).hosts, Hosts{"h1"});
}

TEST_F(ConcernedTest, AClaimConcernsTheTreeOfItsProviders) {
  const ProviderId child = fleet_.world.provider("pf1");
  Consumer consumer;
  consumer.id = fleet_.world.consumer("c1");
  consumer.owner = state().ShareOwner({"project", "user", "TYPE"});
  consumer.allocations = {{child, *state().catalog().classes.Find("SRIOV_NET_VF"), 1}};
  const Changes changes = {
      ConsumerPut{std::make_shared<const Consumer>(consumer)},
      ProviderUsed{child, Generation{99}, {{consumer.allocations[0].resource_class, 1}}}};
  const Concerned concerned = Of(state(), changes);
  EXPECT_TRUE(concerned.hosts.empty());
  EXPECT_EQ(concerned.roots, std::vector<ProviderId>{root()});
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
  EXPECT_TRUE(Of(before, {InstancePut{InstanceAt("", 1)}}).hosts.empty());
  EXPECT_EQ(Of(before, {InstancePut{InstanceAt("h1", 1)}}).hosts, Hosts{"h1"});
  before.Apply({InstancePut{InstanceAt("h1", 1)}});
  EXPECT_EQ(Of(before, {InstancePut{InstanceAt("h2", 2)}}).hosts, (Hosts{"h1", "h2"}));
  EXPECT_EQ(Of(before, {InstancePut{InstanceAt("", 2)}}).hosts, Hosts{"h1"});
  EXPECT_EQ(Of(before, {InstanceRemoved{InstanceId{Uuid{11, 1}}}}).hosts, Hosts{"h1"});
}

TEST_F(ConcernedTest, AMigrationConcernsBothHostsBeforeAndAfter) {
  State before = state();
  before.Apply({InstancePut{InstanceAt("h1", 1)}});
  EXPECT_EQ(Of(before, {MigrationPut{MoveOf("h1", "", "accepted", 1)}}).hosts, Hosts{"h1"});
  before.Apply({MigrationPut{MoveOf("h1", "h2", "accepted", 1)}});
  EXPECT_EQ(Of(before, {MigrationPut{MoveOf("h1", "h3", "accepted", 2)}}).hosts,
            (Hosts{"h1", "h2", "h3"}));
  EXPECT_EQ(Of(before, {MigrationPut{MoveOf("h1", "h2", "done", 2)}}).hosts, (Hosts{"h1", "h2"}));
  EXPECT_EQ(Of(before, {MigrationRemoved{MigrationId{Uuid{12, 1}}}}).hosts, (Hosts{"h1", "h2"}));
}

TEST_F(ConcernedTest, AnInstanceThatMovesConcernsBothSides) {
  State before = state();
  before.Apply({InstancePut{InstanceAt("h1", 1)}, MigrationPut{MoveOf("h1", "h2", "error", 1)}});
  EXPECT_EQ(Of(before, {InstancePut{InstanceAt("h1", 2)}}).hosts, (Hosts{"h1", "h2"}));
  before.Apply({MigrationPut{MoveOf("h1", "h2", "done", 2)}});
  EXPECT_EQ(Of(before, {InstancePut{InstanceAt("h1", 2)}}).hosts, Hosts{"h1"});
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
  EXPECT_EQ(concerned.hosts, Hosts{"h1"});
}

}  // namespace
}  // namespace berth::placement
