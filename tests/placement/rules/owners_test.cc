// No tracker gives an instance what another instance has, or what a node of another host has.
#include "placement/rules/owners.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/placement/rules/cpus.h"
#include "tests/placement/rules/move_world.h"

namespace berth::placement {
namespace {

// The instance `vm` moves from h1 to h2, and its task says so. It has the CPUs 1 and 2 of h1.
class OwnersWorld : public MoveWorld {
 public:
  explicit OwnersWorld(MigrationType type) {
    Begin(type, type != MigrationType::kEvacuation);
    Set(1, "1 2");
  }

  InstanceRecord On(int host, const std::string& details) {
    InstanceRecord record = MoveWorld::On(host);
    record.task_state = "migrating";
    record.held = Cpus(details);
    return record;
  }
  ProviderId Node(int host) { return *MoveWorld::On(host).node; }
  // What somebody writes who is no tracker.
  void Set(int host, const std::string& details) {
    ASSERT_EQ(Answer(SetInstance{On(host, details), Instance()->generation}), "OK");
  }
  // Another instance on host `host`.
  void SetOther(int host, const std::string& details) {
    InstanceRecord other = On(host, details);
    other.id = InstanceId{Uuid{21, 1}};
    ASSERT_EQ(Answer(SetInstance{other, std::nullopt}), "OK");
  }
  // Another migration of the instance.
  MigrationRecord Another() {
    MigrationRecord record = *Migration();
    record.id = MigrationId{Uuid{12, 1}};
    return record;
  }
  // Another migration of the instance, which names no node of its source.
  void MoveWithoutNodeFrom(const std::string& host) {
    MigrationRecord wide = Another();
    wide.source_host = host;
    wide.source_node.reset();
    ASSERT_EQ(Answer(CreateMigration{wide}), "OK");
  }
  // The tracker of host `tracker` writes both records for its node.
  std::string Write(int tracker, int host, const std::string& details,
                    std::optional<MoveEnd> end = std::nullopt) {
    const MigrationPtr before = Migration();
    return Answer(WriteRecords{Tracker(tracker), Node(tracker), vm(), Instance()->generation,
                               CpuWrite(On(host, "").host, Node(host), details),
                               MigrationEdit{move(), before->generation, end, before->status,
                                             before->destination_host, before->destination_node}});
  }
};

TEST(RulesOwners, ATrackerGivesNothingOfAnotherNode) {
  OwnersWorld world(MigrationType::kLive);
  EXPECT_EQ(world.Write(1, 1, "1 2 new 4"), "POLICY_DENIED instance");            // T-395
  EXPECT_EQ(world.Write(2, 1, "1 2 3 new 4"), "POLICY_DENIED instance");          // T-395
  EXPECT_EQ(world.Write(2, 1, "1 2 new 4 old 1 2 3"), "POLICY_DENIED instance");  // T-395
  EXPECT_EQ(world.Write(1, 1, "1 2 3"), "OK");
  EXPECT_EQ(world.Write(2, 1, "1 2 3 new 4 old 1 2"), "OK");
  EXPECT_EQ(world.Write(1, 1, "1 2 new 4 5"), "POLICY_DENIED instance");  // T-395
  EXPECT_EQ(world.Write(1, 1, "1 2 new 4"), "OK");
  world.Set(2, "4 old 1 2");
  EXPECT_EQ(world.Write(1, 2, "4 5 old 1 2"), "POLICY_DENIED instance");    // T-395
  EXPECT_EQ(world.Write(2, 2, "4 5 old 1 2 3"), "POLICY_DENIED instance");  // T-395
  EXPECT_EQ(world.Write(2, 2, "4 5 old 1 2"), "OK");
}

// A tracker tries again after a RECORD_CONFLICT. To try again does not help against POLICY_DENIED.
TEST(RulesOwners, AGiftIsDeniedBeforeAConflictIsTold) {
  OwnersWorld world(MigrationType::kLive);
  world.SetOther(1, "3");
  EXPECT_EQ(world.Write(1, 1, "1 2 3"), "RECORD_CONFLICT instance");      // T-395
  EXPECT_EQ(world.Write(1, 1, "1 2 3 new 4"), "POLICY_DENIED instance");  // T-395
}

// Each node of a host has a pass and claims of its own.
TEST(RulesOwners, ANodeGivesNothingOfItsNeighbour) {
  OwnersWorld world(MigrationType::kCold);
  ASSERT_EQ(world.fleet.Report("h1", 1, "second{VCPU:8}", 1), "OK");
  const std::optional<ProviderId> second = world.world().provider("second");
  ASSERT_EQ(world.Answer(UpdateMigration{world.move(), "accepted", "", "h1", second}), "OK");
  EXPECT_EQ(world.Write(1, 1, "1 2 new 4"), "POLICY_DENIED instance");  // T-395
}

// A side of a move without a node names what the move gives it on each node of its host. It counts on
// none of them.
TEST(RulesOwners, APlaceWithoutANodeIsEachNodeOfItsHost) {
  OwnersWorld world(MigrationType::kCold);
  world.MoveWithoutNodeFrom("h2");
  world.SetOther(2, "2");
  EXPECT_EQ(world.Write(1, 1, "1 2 old 1"), "POLICY_DENIED instance");  // T-395
  EXPECT_EQ(world.Write(2, 1, "1 2 old 2"), "OK");                      // T-123
}

// A move may have begun before it was known on which node the instance is.
TEST(RulesOwners, WhatAnInstanceHasOnANodeItsMoveMayHaveOnTheHost) {
  OwnersWorld world(MigrationType::kCold);
  InstanceRecord placed = world.On(1, "");
  placed.node.reset();
  ASSERT_EQ(world.Answer(SetInstance{placed, world.Instance()->generation}), "OK");
  world.MoveWithoutNodeFrom("h1");
  world.Set(1, "1 2");
  EXPECT_EQ(world.Write(2, 1, "1 2 new 4 old 1 2 3"), "POLICY_DENIED instance");  // T-395
  EXPECT_EQ(world.Write(2, 1, "1 2 new 4 old 1 2"), "OK");
}

// What people read of a part, which the record names in a short form.
TEST(RulesOwners, ARefusalNamesThePartInWords) {
  const std::string unit = "unit ns/0 of CUSTOM_PMEM of provider " + Uuid{7, 7}.ToString();
  const std::pair<std::string, std::string> parts[] = {
      {"c1/3", "CPU 3 of cell 1"},
      {"d0000:3b:00.1", "PCI device 0000:3b:00.1"},
      {"u" + Uuid{7, 7}.ToString() + "/CUSTOM_PMEM/ns/0", unit}};
  for (const auto& [name, words] : parts) {
    OwnersWorld world(MigrationType::kLive);
    const auto with_part = [&, name = name](int host) {
      InstanceRecord record = world.On(host, "");
      auto held = std::make_shared<HeldParts>();
      held->own = PartNames({name});
      record.held = held;
      return record;
    };
    InstanceRecord other = with_part(1);
    other.id = InstanceId{Uuid{21, 1}};
    ASSERT_EQ(world.Answer(SetInstance{other, std::nullopt}), "OK");
    const auto write = [&](int tracker, int host) {
      const SetInstance set{with_part(host), world.Instance()->generation,
                            MoveWorld::Tracker(tracker)};
      return std::string(world.world().Do(set).status().message());
    };
    EXPECT_THAT(write(1, 1), testing::HasSubstr(" cannot get " + words + ", which instance "));
    EXPECT_THAT(write(1, 2), testing::HasSubstr("it would get " + words + " of node "));
  }
}

// Each command with which a tracker writes records is judged so.
TEST(RulesOwners, NoCommandGoesRoundTheOwners) {
  OwnersWorld world(MigrationType::kLive);
  world.SetOther(1, "3");
  const auto set = [&](int tracker, int host, const std::string& details) {
    return world.Answer(SetInstance{world.On(host, details), world.Instance()->generation,
                                    MoveWorld::Tracker(tracker), ""});
  };
  const auto end = [&](int tracker, MoveEnd how, int host, const std::string& details) {
    EndMove command = world.End(how);
    command.instance = std::make_shared<const InstanceRecord>(world.On(host, details));
    command.tracker = MoveWorld::Tracker(tracker);
    return world.Answer(command);
  };
  EXPECT_EQ(set(1, 1, "1 3"), "RECORD_CONFLICT instance");      // T-395
  EXPECT_EQ(set(1, 2, "4"), "POLICY_DENIED instance");          // T-395
  EXPECT_EQ(set(2, 1, "1 2 5"), "POLICY_DENIED instance");      // T-395
  EXPECT_EQ(set(1, 1, "1 2 new 4"), "POLICY_DENIED instance");  // T-395
  EXPECT_EQ(set(2, 1, "1 2 new 4"), "OK");
  EXPECT_EQ(end(1, MoveEnd::kCompleted, 2, "4 5"), "POLICY_DENIED instance");          // T-395
  EXPECT_EQ(end(2, MoveEnd::kFailed, 1, "1 2 5"), "POLICY_DENIED instance");           // T-395
  EXPECT_EQ(end(1, MoveEnd::kFailed, 1, "1 3"), "RECORD_CONFLICT instance");           // T-395
  EXPECT_EQ(world.Write(1, 2, "4 5", MoveEnd::kCompleted), "POLICY_DENIED instance");  // T-395
  EXPECT_EQ(world.Write(1, 1, "1 3", MoveEnd::kFailed), "RECORD_CONFLICT instance");   // T-395
  EXPECT_EQ(end(1, MoveEnd::kCompleted, 2, "4"), "OK");
  EXPECT_EQ(set(2, 2, "4 5"), "OK");
}

// The record may say what a move gives before there is the move, or before it has a destination.
TEST(RulesOwners, AMigrationGivesNothingThatItsTrackerMayNotGive) {
  OwnersWorld world(MigrationType::kCold);
  world.SetOther(1, "3");
  const std::optional<ProviderId> unknown;
  ASSERT_EQ(world.Answer(UpdateMigration{world.move(), "accepted", "", "", unknown}), "OK");
  const auto update = [&](int host) {
    const std::string name = MoveWorld::Tracker(host).host;
    return world.Answer(UpdateMigration{world.move(), "accepted", "", name, world.Node(host),
                                        MoveWorld::Tracker(1), ""});
  };
  const auto create = [&](int host) {
    MigrationRecord record = world.Another();
    record.destination_host = MoveWorld::Tracker(host).host;
    record.destination_node = world.Node(host);
    return world.Answer(CreateMigration{record, MoveWorld::Tracker(1), ""});
  };
  world.Set(1, "1 2 new 3");
  EXPECT_EQ(update(2), "POLICY_DENIED instance");    // T-395
  EXPECT_EQ(create(2), "POLICY_DENIED instance");    // T-395
  EXPECT_EQ(update(1), "RECORD_CONFLICT instance");  // T-395
  EXPECT_EQ(create(1), "RECORD_CONFLICT instance");  // T-395
  world.Set(1, "1 2");
  EXPECT_EQ(update(2), "OK");
  EXPECT_EQ(create(2), "OK");
}

struct Way {
  MigrationType type{};
  int tracker = 0;  // that ends the move
  int host = 0;     // on which the instance is afterwards
  const char* details = "";
  MoveEnd end{};
};

TEST(RulesOwners, EachMoveGoesItsWay) {
  const Way ways[] = {{MigrationType::kCold, 1, 2, "4", MoveEnd::kConfirmed},
                      {MigrationType::kResize, 2, 1, "1 2", MoveEnd::kReverted},
                      {MigrationType::kCold, 2, 1, "1 2", MoveEnd::kFailed},
                      {MigrationType::kLive, 1, 2, "4", MoveEnd::kCompleted},
                      {MigrationType::kLive, 2, 2, "4", MoveEnd::kCompleted},
                      {MigrationType::kEvacuation, 2, 2, "4", MoveEnd::kDone}};
  for (const Way& way : ways) {
    OwnersWorld world(way.type);
    SCOPED_TRACE(FindMoveEnding(way.end)->status);
    world.SetOther(2, "5");
    EXPECT_EQ(world.Write(2, 1, "1 2 new 5 old 1 2"), "RECORD_CONFLICT instance");  // T-395
    EXPECT_EQ(world.Write(2, 1, "1 2 new 4 old 1 2"), "OK");
    const bool waits = way.end == MoveEnd::kConfirmed || way.end == MoveEnd::kReverted;
    if (waits) {
      EXPECT_EQ(world.Write(2, 2, "4 new 4 old 1 2"), "OK");
    }
    EXPECT_EQ(world.Write(way.tracker, way.host, way.details, way.end), "OK");
    if (way.end != MoveEnd::kDone) continue;
    EXPECT_EQ(world.Write(1, 2, "4", MoveEnd::kCompleted), "OK");  // the source is back
  }
}

}  // namespace
}  // namespace berth::placement
