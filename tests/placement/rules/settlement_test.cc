// What both consumers of a move hold when it has ended, however its parts were divided.
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/placement/rules/move_world.h"
#include "tests/worlds/safety.h"

namespace berth::placement {
namespace {

using enum MoveEnd;
using enum MigrationType;

// The type of a move that may end so.
MigrationType TypeFor(MoveEnd end) {
  if (end == kDone) return kEvacuation;
  return end == kCompleted || end == kCancelled ? kLive : kCold;
}

constexpr MoveEnd kArriving[] = {kConfirmed, kCompleted};
constexpr MoveEnd kReturning[] = {kReverted, kFailed, kCancelled};

// A move from h1 to h2. Its record of the instance says h1 until the end.
struct Divided {
  const char* instance;   // what the instance's consumer holds
  const char* migration;  // what the migration's consumer holds
};

// What serves all nodes: nothing, the pool, which is then below n1, or n1 itself.
enum class Shared { kNothing, kPool, kRoot };

class SettlementTest : public testing::Test {
 protected:
  // Ends the move with the instance on `host`: "OK", or the refusal.
  std::string EndOf(const Divided& before, MoveEnd end, int host, int destination = 2) {
    move_ = std::make_unique<MoveWorld>();
    if (shared_ == Shared::kPool) move_->SharePool();
    if (shared_ == Shared::kRoot) move_->ShareRoot();
    if (disk_of_ > 0) move_->ShareDisk(disk_of_);
    EXPECT_EQ(move_->Answer(SetInstance{move_->On(1), std::nullopt}), "OK");
    move_->Hold("vm", before.instance);
    move_->Hold("move", before.migration);
    EXPECT_EQ(move_->Answer(CreateMigration{move_->Move(TypeFor(end), 1, destination)}), "OK");
    const std::string answer = move_->Answer(move_->End(end, host));
    if (answer == "OK") {
      EXPECT_EQ(move_->Held("move"), "");  // T-221
    }
    CheckSafety(move_->world().state());
    return answer;
  }
  std::string Held() { return move_->Held("vm"); }

  std::unique_ptr<MoveWorld> move_;
  Shared shared_ = Shared::kNothing;
  int disk_of_ = 0;  // the host whose node has disk for all nodes; 0: there is none
};

struct DividedCase {
  Divided before;
  const char* returned;  // what the instance holds if it is on the source afterwards
  const char* arrived;   // the same on the destination
};
constexpr DividedCase kDividedCases[] = {
    // As T-221 divides them.
    {{"n2{VCPU:3}", "n1{VCPU:2} n1-gpu{VGPU:1}"}, "n1{VCPU:2} n1-gpu{VGPU:1}", "n2{VCPU:3}"},
    // The migration has the part of the destination.
    {{"n1{VCPU:2}", "n2{VCPU:3}"}, "n1{VCPU:2}", "n2{VCPU:3}"},
    // The migration has only some providers of the source.
    {{"n1{VCPU:2} n2{VCPU:3}", "n1-gpu{VGPU:1}"}, "n1{VCPU:2} n1-gpu{VGPU:1}", "n2{VCPU:3}"},
    // A share of a pool: of the instance, of both, of the migration.
    {{"n2{VCPU:3} pool{DISK_GB:10}", "n1{VCPU:2}"},
     "n1{VCPU:2} pool{DISK_GB:10}",
     "n2{VCPU:3} pool{DISK_GB:10}"},
    {{"n2{VCPU:3} pool{DISK_GB:20}", "n1{VCPU:2} pool{DISK_GB:10}"},
     "n1{VCPU:2} pool{DISK_GB:10}",
     "n2{VCPU:3} pool{DISK_GB:20}"},
    {{"n2{VCPU:3}", "n1{VCPU:2} pool{DISK_GB:10}"}, "n1{VCPU:2} pool{DISK_GB:10}", "n2{VCPU:3}"},
    // The instance was back on the source and has grown there, before this move was ended.
    {{"n1{VCPU:6}", "n1{VCPU:2}"}, "n1{VCPU:6}", nullptr},
};

// A pool that serves all nodes is of no side, wherever it is. The root of a node is of its side.
class SharedSettlementTest : public SettlementTest, public testing::WithParamInterface<Shared> {};
INSTANTIATE_TEST_SUITE_P(Settlement, SharedSettlementTest,
                         testing::Values(Shared::kNothing, Shared::kPool, Shared::kRoot));

TEST_P(SharedSettlementTest, EachSideIsSettledWhoeverHoldsIt) {
  shared_ = GetParam();
  for (size_t i = 0; i < std::size(kDividedCases); ++i) {
    const DividedCase& one = kDividedCases[i];
    SCOPED_TRACE(i);
    for (const MoveEnd end : kReturning) {
      ASSERT_EQ(EndOf(one.before, end, 1), "OK");
      EXPECT_EQ(Held(), one.returned);  // T-174, T-178, T-221
    }
    for (const MoveEnd end : kArriving) {
      if (one.arrived == nullptr) continue;
      ASSERT_EQ(EndOf(one.before, end, 2), "OK");
      EXPECT_EQ(Held(), one.arrived);  // T-173, T-221
    }
  }
}

// The disk is that of n3, and the guest is on n1 or n2.
TEST_F(SettlementTest, DiskOfAThirdNodesRootIsOfNoSide) {
  disk_of_ = 3;
  const DividedCase cases[] = {
      {{"n2{VCPU:3} n3{DISK_GB:10}", "n1{VCPU:2}"},
       "n1{VCPU:2} n3{DISK_GB:10}",
       "n2{VCPU:3} n3{DISK_GB:10}"},
      {{"n2{VCPU:3} n3{DISK_GB:20}", "n1{VCPU:2} n3{DISK_GB:10}"},
       "n1{VCPU:2} n3{DISK_GB:10}",
       "n2{VCPU:3} n3{DISK_GB:20}"},
      {{"n2{VCPU:3}", "n1{VCPU:2} n3{DISK_GB:10}"}, "n1{VCPU:2} n3{DISK_GB:10}", "n2{VCPU:3}"},
  };
  for (const DividedCase& one : cases) {
    SCOPED_TRACE(testing::Message() << one.before.instance << " / " << one.before.migration);
    for (const MoveEnd end : kReturning) {
      ASSERT_EQ(EndOf(one.before, end, 1), "OK");
      EXPECT_EQ(Held(), one.returned);  // T-174, T-178, T-221
    }
    for (const MoveEnd end : kArriving) {
      ASSERT_EQ(EndOf(one.before, end, 2), "OK");
      EXPECT_EQ(Held(), one.arrived);  // T-173, T-221
    }
    ASSERT_EQ(EndOf(one.before, kFailed, 1, 0), "OK");  // the destination is not known
    EXPECT_EQ(Held(), one.returned);                    // T-178, T-221
  }
  // The scheduler has chosen n3, and no tracker has become the destination.
  ASSERT_EQ(EndOf({"n3{VCPU:3, DISK_GB:20}", "n1{VCPU:2}"}, kFailed, 1, 0), "OK");
  EXPECT_EQ(Held(), "n1{VCPU:2}");  // T-178
}

TEST_F(SettlementTest, DiskOfAThirdNodesRootIsNotThatOfAnUnknownSource) {
  MoveWorld move;
  move.ShareDisk(3);
  InstanceRecord instance = move.On(1);
  instance.node.reset();
  ASSERT_EQ(move.Answer(SetInstance{instance, std::nullopt}), "OK");
  move.Hold("move", "n1{VCPU:2}");
  move.Hold("vm", "n2{VCPU:3} n3{DISK_GB:10}");
  MigrationRecord record = move.Move(kLive, 1, 2);
  record.source_node.reset();
  ASSERT_EQ(move.Answer(CreateMigration{record}), "OK");
  ASSERT_EQ(move.Answer(move.End(kCompleted, 2)), "OK");
  EXPECT_EQ(move.Held("vm"), "n2{VCPU:3} n3{DISK_GB:10}");  // T-173, T-221
}

// A guest of n1 moves to n3, or from n1 whose disk it takes along to n2.
TEST_F(SettlementTest, DiskOfASidesRootIsOfTheSideWhoseCpusAreBesideIt) {
  disk_of_ = 3;
  const Divided to_disk = {"n3{VCPU:3, DISK_GB:20}", "n1{VCPU:2} n3{DISK_GB:10}"};
  ASSERT_EQ(EndOf(to_disk, kReverted, 1, 3), "OK");
  EXPECT_EQ(Held(), "n1{VCPU:2} n3{DISK_GB:10}");  // T-174, T-221
  ASSERT_EQ(EndOf(to_disk, kConfirmed, 3, 3), "OK");
  EXPECT_EQ(Held(), "n3{VCPU:3} n3{DISK_GB:20}");  // T-173, T-221
  disk_of_ = 1;
  const Divided from_disk = {"n2{VCPU:3} n1{DISK_GB:20}", "n1{VCPU:2, DISK_GB:10}"};
  ASSERT_EQ(EndOf(from_disk, kReverted, 1), "OK");
  EXPECT_EQ(Held(), "n1{VCPU:2} n1{DISK_GB:10}");  // T-174, T-221
  ASSERT_EQ(EndOf(from_disk, kConfirmed, 2), "OK");
  EXPECT_EQ(Held(), "n1{DISK_GB:20} n2{VCPU:3}");  // T-173, T-221
  const Divided left_there = {"n2{VCPU:3} n1{DISK_GB:10}", "n1{VCPU:2}"};
  ASSERT_EQ(EndOf(left_there, kReverted, 1), "OK");
  EXPECT_EQ(Held(), "n1{VCPU:2} n1{DISK_GB:10}");  // T-174, T-221
  ASSERT_EQ(EndOf({"n1{VCPU:2, DISK_GB:10} n2{VCPU:3}", ""}, kConfirmed, 2), "OK");
  EXPECT_EQ(Held(), "n2{VCPU:3}");  // T-173: the parts were not divided
}

TEST_F(SettlementTest, AResizeOnOneNodeChangesItsDevice) {
  const Divided before = {"n1{VCPU:3} n1-gpu2{VGPU:1}", "n1{VCPU:2} n1-gpu{VGPU:1}"};
  ASSERT_EQ(EndOf(before, kReverted, 1, 1), "OK");
  EXPECT_EQ(Held(), before.migration);  // T-174, T-221
  ASSERT_EQ(EndOf(before, kConfirmed, 1, 1), "OK");
  EXPECT_EQ(Held(), before.instance);  // T-173, T-221
  ASSERT_EQ(EndOf({"n1{VCPU:3}", ""}, kReverted, 1, 1), "OK");
  EXPECT_EQ(Held(), "n1{VCPU:3}");  // the parts were not divided
}

// The first move is stuck, and the second one goes to a third node.
TEST_F(SettlementTest, WhatAnotherMoveHoldsStays) {
  MoveWorld move;
  ASSERT_EQ(move.Answer(SetInstance{move.On(1), std::nullopt}), "OK");
  move.Hold("move", "n1{VCPU:2}");
  move.Hold("vm", "n3{VCPU:4}");
  ASSERT_EQ(move.Answer(CreateMigration{move.Move(kLive, 1, 2)}), "OK");
  move.SetStatus("error");
  MigrationRecord second = move.Move(kLive, 1, 3);
  second.id = MigrationId{Uuid{12, 1}};
  ASSERT_EQ(move.Answer(CreateMigration{second}), "OK");
  ASSERT_EQ(move.Answer(move.End(kFailed)), "OK");
  EXPECT_EQ(move.Held("vm"), "n1{VCPU:2} n3{VCPU:4}");  // T-136
  EndMove completed = move.End(kCompleted, 3);
  completed.migration = second.id;
  completed.expected_generation =
      move.world().state().records().FindMigration(second.id)->generation;
  ASSERT_EQ(move.Answer(completed), "OK");
  EXPECT_EQ(move.Held("vm"), "n3{VCPU:4}");  // T-221
}

// A guest runs where the move leaves it, and something is allocated for it there; else the next
// claim would get what the guest uses.
TEST_F(SettlementTest, NoEndLeavesAGuestWithoutAllocations) {
  struct HeldCase {
    Divided before;
    bool returns;  // whether the move may end with the instance on the source
    bool arrives;  // the same on the destination
  };
  const HeldCase cases[] = {
      {{"", "n1{VCPU:2}"}, true, false},            // the claim of the destination has ended
      {{"n2{VCPU:3}", ""}, false, true},            // the same of the source
      {{"n1{VCPU:2}", ""}, true, false},            // the destination is not claimed yet
      {{"n3{VCPU:3}", ""}, false, false},           // another node
      {{"n3{VCPU:3}", "n1{VCPU:2}"}, true, false},  // the same, with the part of the source
      {{"", ""}, true, true},                       // nobody allocates
      {{"pool{DISK_GB:1}", ""}, true, true},        // nobody allocates on nodes
  };
  for (const HeldCase& one : cases) {
    SCOPED_TRACE(testing::Message() << one.before.instance << " / " << one.before.migration);
    for (const MoveEnd end : kReturning) {
      EXPECT_EQ(EndOf(one.before, end, 1), one.returns ? "OK" : "NOTHING_HELD end");
    }
    for (const MoveEnd end : {kConfirmed, kCompleted, kDone}) {
      EXPECT_EQ(EndOf(one.before, end, 2), one.arrives ? "OK" : "NOTHING_HELD end");  // T-177
    }
  }
}

// The scheduler has claimed n2, but no tracker has become the destination.
TEST_F(SettlementTest, AnUnknownDestinationIsReleased) {
  ASSERT_EQ(EndOf({"n1{VCPU:2} n2{VCPU:3} pool{DISK_GB:1}", ""}, kFailed, 1, 0), "OK");
  EXPECT_EQ(Held(), "n1{VCPU:2} pool{DISK_GB:1}");  // T-178
  for (const MoveEnd end : {kConfirmed, kCompleted, kDone}) {
    EXPECT_EQ(EndOf({"n2{VCPU:3}", "n1{VCPU:2}"}, end, 2, 0), "WRONG_MOVE_END end");
  }
}

TEST_F(SettlementTest, AnUnknownDestinationIsNotThatOfAnotherMove) {
  MoveWorld move;
  ASSERT_EQ(move.Answer(SetInstance{move.On(1), std::nullopt}), "OK");
  move.Hold("vm", "n1{VCPU:2} n2{VCPU:3} n3{VCPU:4}");
  ASSERT_EQ(move.Answer(CreateMigration{move.Move(kLive, 1, 0)}), "OK");
  MigrationRecord other = move.Move(kEvacuation, 3, 1);  // h3 is not back yet
  other.id = MigrationId{Uuid{12, 1}};
  other.source_node.reset();
  ASSERT_EQ(move.Answer(CreateMigration{other}), "OK");
  EndMove done = move.End(kDone);
  done.migration = other.id;
  done.expected_generation = move.world().state().records().FindMigration(other.id)->generation;
  ASSERT_EQ(move.Answer(done), "OK");
  ASSERT_EQ(move.Answer(move.End(kFailed)), "OK");
  EXPECT_EQ(move.Held("vm"), "n1{VCPU:2} n3{VCPU:4}");  // T-148, T-178
}

TEST_F(SettlementTest, ASideWithoutANodeIsAllNodesOfItsHost) {
  MoveWorld move;
  ASSERT_EQ(move.Answer(SetInstance{move.On(1), std::nullopt}), "OK");
  MigrationRecord record = move.Move(kLive, 1, 2);
  record.source_node.reset();
  record.destination_node.reset();
  ASSERT_EQ(move.Answer(CreateMigration{record}), "OK");
  move.Hold("vm", "n1{VCPU:2} n1-gpu{VGPU:1} n2{VCPU:3}");
  ASSERT_EQ(move.Answer(move.End(kFailed)), "OK");
  EXPECT_EQ(move.Held("vm"), "n1{VCPU:2} n1-gpu{VGPU:1}");  // T-178
}

// The source is known by its host alone, and its node has another host by now.
TEST_F(SettlementTest, ANodeThatChangedItsHostIsStillTheSource) {
  for (const bool on_record : {false, true}) {
    MoveWorld move;
    InstanceRecord instance = move.On(1);
    if (!on_record) instance.node.reset();
    ASSERT_EQ(move.Answer(SetInstance{instance, std::nullopt}), "OK");
    move.Hold("move", "n1{VCPU:2}");
    move.Hold("vm", "n1-gpu{VGPU:1} n2{VCPU:3}");
    MigrationRecord record = move.Move(kLive, 1, 2);
    record.source_node.reset();
    ASSERT_EQ(move.Answer(CreateMigration{record}), "OK");
    EXPECT_EQ(move.Migration()->source_node.has_value(), on_record);  // T-168
    ASSERT_EQ(move.fleet.Mark("h1", 1, false), "OK");
    ASSERT_EQ(move.fleet.Report("h3", 3, "n1{VCPU:8}\n  n1-gpu{VGPU:8}\n  n1-gpu2{VGPU:8}", 1),
              "OK");
    ASSERT_EQ(move.Answer(move.End(kCompleted, 2)), "OK");
    EXPECT_EQ(move.Held("vm"), "n2{VCPU:3}");  // T-22, T-221
  }
}

// The move was given up, and the instance has gone on to a third host since.
TEST_F(SettlementTest, AMoveThatFailedElsewhereReleasesBothSides) {
  const Divided before = {"n2{VCPU:3} n3{VCPU:4} pool{DISK_GB:1}", "n1{VCPU:2}"};
  ASSERT_EQ(EndOf(before, kFailed, 3), "OK");
  EXPECT_EQ(Held(), "n3{VCPU:4} pool{DISK_GB:1}");  // T-221
  ASSERT_EQ(EndOf(before, kFailed, 0), "OK");       // it is on no host: shelved, for example
  EXPECT_EQ(Held(), "n3{VCPU:4} pool{DISK_GB:1}");
  for (const MoveEnd end : {kReverted, kCancelled}) {
    EXPECT_EQ(EndOf(before, end, 3), "INSTANCE_ELSEWHERE end");  // T-174
  }
  EXPECT_EQ(EndOf(before, kFailed, 2), "INSTANCE_ELSEWHERE end");
}

// If a migration had the uuid of another consumer, its end would release what that consumer holds.
TEST_F(SettlementTest, OnlyTheOwnConsumerOfTheMigrationIsSettled) {
  for (const MoveEnd end : {kConfirmed, kReverted}) {
    MoveWorld move;
    move.Begin(kCold);
    move.HoldFor("move", "n1{VCPU:2}", "another project");
    const int host = end == kConfirmed ? 2 : 1;
    EXPECT_EQ(move.Answer(move.End(end, host)), "FOREIGN_CONSUMER end");
    // A ledger that was written by hand may have a migration with the uuid of an instance.
    State spoiled = move.world().state();
    auto same = std::make_shared<MigrationRecord>(move.Move(kCold, 1, 2));
    same->id = MigrationId{move.vm().uuid};
    same->status = "accepted";
    same->generation = Generation{1};
    spoiled.Apply({MigrationPut{same}});
    EndMove command = move.End(end, host);
    command.migration = same->id;
    command.expected_generation = same->generation;
    const auto outcome = Decide(spoiled, Command{"", "", "", {}, command}, RuleContext{});
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(RefusalOf(outcome.status())->reason, "FOREIGN_CONSUMER");
  }
}

}  // namespace
}  // namespace berth::placement
