#include "placement/ledger/loss.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/worlds/fleet_world.h"

namespace berth::placement {
namespace {

const char* KindInLoss(EntityKind kind) {
  switch (kind) {
    case EntityKind::kResourceClass:
      return "class";
    case EntityKind::kTrait:
      return "trait";
    case EntityKind::kProvider:
      return "provider";
    case EntityKind::kProviderUsage:
      return "usage";
    case EntityKind::kConsumer:
      return "consumer";
    case EntityKind::kService:
      return "service";
    case EntityKind::kNode:
      return "node";
    case EntityKind::kAggregate:
      return "aggregate";
    case EntityKind::kServerGroup:
      return "server group";
    case EntityKind::kInstance:
      return "instance";
    case EntityKind::kMigration:
      return "migration";
  }
  return "";
}

std::vector<std::string> Listed(const State& a, const State& b) {
  std::vector<std::string> listed;
  for (const EntityKey& difference : Differences(a, b)) {
    listed.push_back(absl::StrCat(KindInLoss(difference.kind), " ", difference.key));
  }
  return listed;
}

CommandBody EnsureClass(const std::string& name) { return CreateClass{name, true}; }

TEST(Loss, EqualStatesHaveNone) {
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  ASSERT_EQ(fleet.Report("h1", 1, "n1{VCPU:8}", 1), "OK");
  EXPECT_EQ(Listed(fleet.world.state(), fleet.world.state()), std::vector<std::string>());
}

TEST(Loss, EveryKindIsToldInBothDirections) {
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  ASSERT_EQ(fleet.Report("h1", 1, "n1{VCPU:8}", 1), "OK");
  const State before = fleet.world.state();
  const ProviderId node = fleet.node("n1").id;
  ASSERT_EQ(fleet.Answer(EnsureClass("CUSTOM_LOST")), "OK");
  ASSERT_EQ(fleet.Answer(EnsureTrait{"CUSTOM_GONE"}), "OK");
  ASSERT_EQ(
      fleet.Answer(SetAllocations{
          {{ConsumerId{Uuid{9, 9}}, std::nullopt, "p", "u", "INSTANCE", {{node, {{"VCPU", 2}}}}}},
          false}),
      "OK");
  ASSERT_EQ(fleet.Answer(CreateProvider{ProviderId{Uuid{8, 8}}, "other", std::nullopt}), "OK");
  fleet.Register("h2", 2, "machine-b");
  ASSERT_EQ(fleet.Answer(RetireNode{node, true}), "OK");
  Aggregate aggregate;
  aggregate.id = AggregateId{Uuid{3, 3}};
  aggregate.name = "rack";
  ASSERT_EQ(fleet.Answer(SetAggregate{aggregate, std::nullopt}), "OK");
  InstanceRecord instance;
  instance.id = InstanceId{Uuid{5, 5}};
  instance.project = instance.user = instance.vm_state = "any";
  ASSERT_EQ(fleet.Answer(SetInstance{instance, std::nullopt}), "OK");
  MigrationRecord migration;
  migration.id = MigrationId{Uuid{6, 6}};
  migration.instance = instance.id;
  migration.source_host = "h1";
  ASSERT_EQ(fleet.Answer(CreateMigration{migration}), "OK");
  const std::vector<std::string> wanted = {
      "class CUSTOM_LOST",
      "trait CUSTOM_GONE",
      absl::StrCat("provider ", Uuid{8, 8}.ToString()),
      absl::StrCat("usage ", node.ToString()),
      absl::StrCat("consumer ", Uuid{9, 9}.ToString()),
      absl::StrCat("service ", fleet.service("h2").id.ToString()),
      absl::StrCat("node ", node.ToString()),
      absl::StrCat("aggregate ", Uuid{3, 3}.ToString()),
      absl::StrCat("instance ", Uuid{5, 5}.ToString()),
      absl::StrCat("migration ", Uuid{6, 6}.ToString()),
  };
  EXPECT_EQ(Listed(fleet.world.state(), before), wanted);
  EXPECT_EQ(Listed(before, fleet.world.state()), wanted);
}

// Two histories may have given one id to two names: what looks equal by its ids is not.
TEST(Loss, AnIdThatStandsForAnotherNameIsADifference) {
  World one, other;
  for (World* world : {&one, &other}) {
    const char* name = world == &one ? "CUSTOM_ONE" : "CUSTOM_OTHER";
    ASSERT_TRUE(world->Do(EnsureClass(name)).ok());
    const ProviderId id{Uuid{8, 8}};
    ASSERT_TRUE(world->Do(CreateProvider{id, "p", std::nullopt}).ok());
    const Generation generation = world->state().FindProvider(id)->config().generation;
    Inventory inventory;
    inventory.total = 4;
    ASSERT_TRUE(world->Do(SetInventories{id, generation, {{name, inventory}}}).ok());
  }
  EXPECT_EQ(Listed(one.state(), other.state()),
            (std::vector<std::string>{"class CUSTOM_ONE", "class CUSTOM_OTHER",
                                      absl::StrCat("provider ", Uuid{8, 8}.ToString()),
                                      absl::StrCat("usage ", Uuid{8, 8}.ToString())}));
}

}  // namespace
}  // namespace berth::placement
