// The audit of allocations, and its repairs: allocations against the records of instances and
// migrations (T-345).
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/commands/allocation_audit.h"
#include "placement/reads/fleet_audit.h"
#include "tests/placement/rules/move_world.h"
#include "tests/worlds/script.h"

namespace berth::placement {
namespace {

using enum AllocationFault;

// n1 and n2 of hosts h1 and h2 have CPUs and memory; n1 also has disk. `pool` has disk for both.
class RulesAudit : public ::testing::Test {
 protected:
  RulesAudit() {
    EXPECT_EQ(
        fleet().Report("h1", 1, "n1{VCPU:8, MEMORY_MB:4096, DISK_GB:100}\n  n1-gpu{VGPU:8}", 2),
        "OK");
    EXPECT_EQ(fleet().Report("h2", 2, "n2{VCPU:8, MEMORY_MB:4096}", 2), "OK");
  }

  FleetWorld& fleet() { return moves_.fleet; }
  World& world() { return moves_.world(); }

  // The record of the instance `vm` on h1 or h2: 2 CPUs, 512 MiB, 10 + 5 + 1 GiB of disk.
  void Put(int host, const std::string& vm_state = "active") {
    InstanceRecord record = moves_.On(host);
    record.vm_state = vm_state;
    record.flavor = {2, 512, 10, 5, 1};
    const InstancePtr before = moves_.Instance();
    std::optional<Generation> expected;
    if (before != nullptr) expected = before->generation;
    ASSERT_EQ(moves_.Answer(SetInstance{record, expected}), "OK");
  }
  void Hold(const std::string& claim) { moves_.Hold("vm", claim); }

  std::optional<AllocationFinding> Find(const char* consumer = "vm") {
    return AuditConsumer(world().state(), world().consumer(consumer));
  }
  std::optional<AllocationFault> Fault(const char* consumer = "vm") {
    const auto finding = Find(consumer);
    return finding ? std::optional(finding->fault) : std::nullopt;
  }
  // Repairs the consumer. Afterwards nothing is wrong, and a repeat does nothing.
  std::string Repaired(const char* consumer = "vm") {
    const RepairAllocations repair{world().consumer(consumer), std::nullopt};
    EXPECT_EQ(moves_.Answer(repair), "OK");
    EXPECT_EQ(Fault(consumer), std::nullopt);
    EXPECT_EQ(moves_.Answer(repair), "OK");
    EXPECT_TRUE(moves_.last.changes.empty());  // T-345: idempotent
    return moves_.Held(consumer);
  }

  MoveWorld moves_;
};

constexpr char kRight[] = "n1{VCPU:2} n1{MEMORY_MB:512} n1{DISK_GB:16}";

TEST_F(RulesAudit, WhatTheFlavorSaysIsRight) {
  Put(1);
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16}");
  EXPECT_EQ(Fault(), std::nullopt);  // T-345
  Hold("n1{VCPU:2, MEMORY_MB:512} pool{DISK_GB:16}");
  EXPECT_EQ(Fault(), std::nullopt);  // T-345: the disk is on shared storage
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16} n1-gpu{VGPU:3}");
  EXPECT_EQ(Fault(), std::nullopt);  // T-345: other classes are not judged
}

// A repair would take the disk of running guests away.
TEST_F(RulesAudit, AShareOfAPoolBelowAnotherNodeIsRight) {
  moves_.SharePool();
  Put(2);
  Hold("n2{VCPU:2, MEMORY_MB:512} pool{DISK_GB:16}");
  EXPECT_EQ(Fault(), std::nullopt);  // T-345
  Hold("n2{VCPU:2, MEMORY_MB:512} pool{DISK_GB:17}");
  EXPECT_EQ(Fault(), kWrongAmount);  // T-345
  Put(1);
  Hold("pool{DISK_GB:16}");
  EXPECT_EQ(Fault(), kMissing);  // T-345: nothing on the node
}

TEST_F(RulesAudit, ARootThatServesOthersTooIsItsNode) {
  moves_.ShareRoot();
  Put(1);
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16}");
  EXPECT_EQ(Fault(), std::nullopt);  // T-345
  Put(2);
  Hold("n2{VCPU:2, MEMORY_MB:512} n1{DISK_GB:16}");
  EXPECT_EQ(Fault(), std::nullopt);  // T-345: n1 lets others use its disk
  Hold("n2{VCPU:2, MEMORY_MB:512} n1{VCPU:2, DISK_GB:16}");
  EXPECT_EQ(Fault(), kSuperfluous);  // T-345
}

TEST_F(RulesAudit, AnInstanceThatHoldsNothingIsMissing) {
  Put(1);
  EXPECT_EQ(Fault(), kMissing);   // T-345
  EXPECT_EQ(Repaired(), kRight);  // T-345, T-372
  Hold("pool{DISK_GB:16}");
  EXPECT_EQ(Fault(), kMissing);  // T-345: nothing on the node
  EXPECT_EQ(Repaired(), "n1{VCPU:2} n1{MEMORY_MB:512} pool{DISK_GB:16}");  // T-345
}

TEST_F(RulesAudit, OnAnotherNodeOnlyIsTheWrongProvider) {
  Put(1);
  Hold("n2{VCPU:2, MEMORY_MB:512}");
  EXPECT_EQ(Fault(), kWrongProvider);  // T-345
  EXPECT_EQ(Repaired(), kRight);       // T-345
}

TEST_F(RulesAudit, OnAnotherNodeTooIsSuperfluous) {
  Put(1);
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16} n1-gpu{VGPU:1} n2{VCPU:2}");
  EXPECT_EQ(Fault(), kSuperfluous);                                // T-345
  EXPECT_EQ(Repaired(), absl::StrCat(kRight, " n1-gpu{VGPU:1}"));  // T-345, T-347: the whole tree
}

TEST_F(RulesAudit, AmountsAreComparedByPart) {
  Put(1);
  for (const char* wrong :
       {"n1{VCPU:3, MEMORY_MB:512, DISK_GB:16}", "n1{VCPU:2, MEMORY_MB:256, DISK_GB:16}",
        "n1{VCPU:2, MEMORY_MB:512, DISK_GB:10}", "n1{VCPU:2, MEMORY_MB:512}",
        "n1{VCPU:2, MEMORY_MB:512} pool{DISK_GB:17}"}) {
    Hold(wrong);
    EXPECT_EQ(Fault(), kWrongAmount) << wrong;  // T-345
    EXPECT_NE(Find()->why.find("flavor"), std::string::npos) << Find()->why;
    EXPECT_NE(Repaired(), "") << wrong;
  }
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:8} pool{DISK_GB:9}");
  EXPECT_EQ(Fault(), kWrongAmount);
  EXPECT_EQ(moves_.Answer(RepairAllocations{world().consumer("vm"), {}}), "NOT_REPAIRABLE");
  Put(2);
  Hold("n2{VCPU:2, MEMORY_MB:512}");
  EXPECT_EQ(Fault(), std::nullopt);  // T-345: nobody counts the disk of n2
}

TEST_F(RulesAudit, DeletedInstancesAndEndedMovesHoldNothing) {
  Put(1, "deleted");
  EXPECT_EQ(Fault(), std::nullopt);
  Hold("n1{VCPU:2}");
  EXPECT_EQ(Fault(), kSuperfluous);  // T-345
  EXPECT_EQ(Repaired(), "");         // T-345
  Put(1);
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16}");
  ASSERT_EQ(moves_.Answer(CreateMigration{moves_.Move(MigrationType::kLive, 1, 2)}), "OK");
  moves_.Hold("move", "n2{VCPU:1}");
  Hold("n2{VCPU:1}");
  EXPECT_EQ(Fault(), std::nullopt);        // T-345: the allocations of a move change hands
  EXPECT_EQ(Fault("move"), std::nullopt);  // T-345
  moves_.Hold("move", "");
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16}");
  ASSERT_EQ(moves_.Answer(moves_.End(MoveEnd::kCancelled)), "OK");
  moves_.Hold("move", "n2{VCPU:1}");
  EXPECT_EQ(Fault("move"), kSuperfluous);  // T-345
  EXPECT_EQ(Repaired("move"), "");
}

TEST_F(RulesAudit, TheLeftoverOfAnEvacuationIsRight) {
  Put(1);
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16} n2{VCPU:2, MEMORY_MB:512}");
  ASSERT_EQ(moves_.Answer(CreateMigration{moves_.Move(MigrationType::kEvacuation, 1, 2)}), "OK");
  EndMove end = moves_.End(MoveEnd::kDone, 2);
  InstanceRecord there = *end.instance;
  there.flavor = {2, 512, 10, 5, 1};
  end.instance = std::make_shared<const InstanceRecord>(there);
  ASSERT_EQ(moves_.Answer(end), "OK");
  EXPECT_EQ(Fault(), std::nullopt);  // T-148, T-345: until the source host is back
  ASSERT_EQ(moves_.Answer(moves_.End(MoveEnd::kCompleted)), "OK");
  EXPECT_EQ(Fault(), std::nullopt);
  Hold("n1{VCPU:1} n2{VCPU:2, MEMORY_MB:512}");
  EXPECT_EQ(Fault(), kSuperfluous);  // T-345
}

TEST_F(RulesAudit, AConsumerWithoutARecordIsNeverReleased) {
  moves_.Hold("stray", "n1{VCPU:1}");
  EXPECT_EQ(Fault("stray"), std::nullopt);  // T-145: nobody keeps records here
  Put(1);
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16}");
  EXPECT_EQ(Fault("stray"), std::nullopt);  // T-145: its record may still come
  State later = world().state();
  Position position = later.position();
  position.ledger_time =
      world().state().FindConsumer(world().consumer("stray"))->updated_at + absl::Hours(1);
  later.set_position(position);
  const auto finding = AuditConsumer(later, world().consumer("stray"));
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->fault, kSuperfluous);  // T-145, T-345
  EXPECT_FALSE(finding->repairable);        // T-145: never released by itself
}

// DeleteInstance leaves the allocations, and the type of the consumer tells that they are left.
TEST_F(RulesAudit, WhatADeletedRecordLeavesIsReleased) {
  Put(1);
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16}");
  ASSERT_EQ(moves_.Answer(DeleteInstance{moves_.vm(), {}}), "OK");
  EXPECT_EQ(moves_.Held("vm"), "n1{VCPU:2} n1{MEMORY_MB:512} n1{DISK_GB:16}");
  EXPECT_EQ(CountLeakCandidates(world().state()), 1);  // T-346
  const auto finding = Find();
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->fault, kSuperfluous);  // T-345, T-346
  EXPECT_TRUE(finding->repairable);         // T-143, T-346
  EXPECT_EQ(Repaired(), "");                // T-143
}

// The uuid may be used again: what is allocated anew is that of a new instance, and its record may
// come later.
TEST_F(RulesAudit, ANewInstanceIsNotTakenForTheDeletedOne) {
  Put(1);
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16}");
  ASSERT_EQ(moves_.Answer(DeleteInstance{moves_.vm(), {}}), "OK");
  Put(1);
  EXPECT_EQ(Fault(), std::nullopt);  // T-346
  InstanceRecord other = moves_.On(2);
  other.id = InstanceId{Uuid{21, 1}};
  ASSERT_EQ(moves_.Answer(SetInstance{other, std::nullopt}), "OK");
  ASSERT_EQ(moves_.Answer(DeleteInstance{moves_.vm(), {}}), "OK");
  EXPECT_EQ(Fault(), kSuperfluous);
  Hold("n1{VCPU:1}");
  EXPECT_EQ(Fault(), std::nullopt);  // T-145
}

// A caller may read the consumer and write it back with its type, or write amounts alone.
TEST_F(RulesAudit, WhoeverWritesWhatIsLeftUsesTheUuidAgain) {
  InstanceRecord other = moves_.On(2);
  other.id = InstanceId{Uuid{21, 1}};
  ASSERT_EQ(moves_.Answer(SetInstance{other, std::nullopt}), "OK");
  const ConsumerId vm = world().consumer("vm");
  const auto type = [&] { return world().state().FindConsumer(vm)->owner->type; };
  const auto leave = [&] {
    Put(1);
    Hold("n1{VCPU:1} pool{DISK_GB:1}");
    ASSERT_EQ(moves_.Answer(DeleteInstance{moves_.vm(), {}}), "OK");
    EXPECT_EQ(type(), kDeletedInstanceType);
    EXPECT_EQ(Fault(), kSuperfluous);
  };
  leave();
  ConsumerAllocations back = world().Claim("vm", "n1{VCPU:2}");
  back.type = std::string(kDeletedInstanceType);
  world().Must(SetAllocations{{back}, false});
  EXPECT_EQ(type(), kInstanceType);
  EXPECT_EQ(Fault(), std::nullopt);  // T-145, T-346
  leave();
  world().Must(AdjustAllocations{vm, std::nullopt, {{world().provider("n1"), {{"VCPU", 1}}}}});
  EXPECT_EQ(type(), kInstanceType);
  EXPECT_EQ(Fault(), std::nullopt);  // T-145, T-346
  leave();
  CommandBody moved =
      ParseCommand(world(), "reshape pool@ DISK_GB:100 with vm @ n1{VCPU:1} pool{DISK_GB:1}");
  std::get<Reshape>(moved).consumers[0].type = std::string(kDeletedInstanceType);
  world().Must(moved);
  EXPECT_EQ(Fault(), kSuperfluous);  // T-346: it is still left
}

TEST(RulesDelete, AnInstanceIsDeletedWithAllThatItsMoveHolds) {
  for (const bool moves : {true, false}) {
    MoveWorld move;
    move.Begin(MigrationType::kCold);
    if (!moves) {
      ASSERT_EQ(move.Answer(move.End(MoveEnd::kConfirmed, 2)), "OK");
    }
    DeleteInstance remove{move.vm(), std::nullopt};
    remove.release = true;
    ASSERT_EQ(move.Answer(remove), "OK");
    EXPECT_EQ(move.Held("vm"), "");  // T-143
    EXPECT_EQ(move.Held("move"), "");
    EXPECT_EQ(move.Instance(), nullptr);
    EXPECT_EQ(move.Migration(), nullptr);
    EXPECT_EQ(move.world().used("n1", "VCPU"), 0);
    EXPECT_EQ(move.world().used("n2", "VCPU"), 0);
    EXPECT_EQ(move.Answer(remove), "INSTANCE_NOT_FOUND instance_uuid");
  }
}

TEST_F(RulesAudit, ARepairFitsOrIsRefused) {
  Put(1);
  moves_.Hold("big", "n1{VCPU:7}");
  EXPECT_EQ(moves_.Answer(RepairAllocations{world().consumer("vm"), kSuperfluous}), "OK");
  EXPECT_TRUE(moves_.last.changes.empty());  // T-345: only the fault that was asked for
  EXPECT_EQ(
      moves_.Answer(RepairAllocations{world().consumer("vm"), static_cast<AllocationFault>(9)}),
      "INVALID_FIELD fault");
  const std::string answer = moves_.Answer(RepairAllocations{world().consumer("vm"), kMissing});
  EXPECT_EQ(answer.substr(0, 17), "CAPACITY_EXCEEDED") << answer;  // T-345
}

TEST_F(RulesAudit, PagesGoOnWhereTheyEnded) {
  Put(1);
  for (int i = 0; i < 6; ++i) {
    InstanceRecord record = moves_.On(1);
    record.id = InstanceId{world().consumer(absl::StrCat("vm", i)).uuid};
    record.flavor = {2, 512, 10, 5, 1};
    if (i % 2 == 0) record.vm_state = "deleted";
    ASSERT_EQ(moves_.Answer(SetInstance{record, std::nullopt}), "OK");
    if (i % 2 == 0) moves_.Hold(absl::StrCat("vm", i).c_str(), "n1{VCPU:1}");
  }
  std::vector<ConsumerId> found;
  std::optional<ConsumerId> after;
  bool more = true;
  while (more) {
    const auto page = AuditAllocations(world().state(), std::nullopt, after, 2, {});
    ASSERT_LE(page.findings.size(), 2u);
    for (const auto& finding : page.findings) found.push_back(finding.consumer);
    more = page.more;
    if (more) after = found.back();
  }
  EXPECT_EQ(found.size(), 7u);  // T-345: four missing, three superfluous
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  EXPECT_EQ(AuditAllocations(world().state(), kMissing, {}, 10, {}).findings.size(), 4u);
  EXPECT_EQ(AuditAllocations(world().state(), kWrongAmount, {}, 10, {}).findings.size(), 0u);
}

// A tracker has reported guests for which it knew no allocations.
TEST_F(RulesAudit, OrphansAreFoundOnceAndNotRepaired) {
  const auto found = [&](std::optional<AllocationFault> only = std::nullopt) {
    std::vector<ReportedOrphan> orphans;
    for (const char* guest : {"stranger", "vm"}) {
      orphans.push_back({world().consumer(guest), world().provider("n1"), guest});
      orphans.push_back({world().consumer(guest), world().provider("n2"), guest});
    }
    return AuditAllocations(world().state(), only, {}, 10, orphans).findings;
  };
  Put(1);  // its record says n1, but it holds nothing: one finding, by the record
  const auto both = found();
  ASSERT_EQ(both.size(), 2u);  // T-345
  for (const AllocationFinding& finding : both) {
    EXPECT_EQ(finding.fault, kMissing);  // T-345
    EXPECT_EQ(finding.repairable, finding.consumer == world().consumer("vm"));
  }
  EXPECT_EQ(found(kSuperfluous).size(), 0u);
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16}");
  moves_.Hold("stranger", "n1{VCPU:1}");
  ASSERT_EQ(found(kMissing).size(), 0u);
  const auto elsewhere = found(kWrongProvider);  // both are said to run on n2, too
  ASSERT_EQ(elsewhere.size(), 2u);               // T-345
  EXPECT_NE(elsewhere[0].why.find("runs on node n2 of host h2"), std::string::npos);
  ASSERT_EQ(moves_.Answer(CreateMigration{moves_.Move(MigrationType::kLive, 1, 2)}), "OK");
  EXPECT_EQ(found().size(), 1u);  // the instance moves: only the stranger is judged
}

TEST_F(RulesAudit, AnOrphanNeedsMoreThanDiskOfARootThatServesOthersToo) {
  moves_.ShareRoot();
  const auto fault = [&] {
    const auto finding = AuditOrphan(
        world().state(), {world().consumer("stranger"), world().provider("n1"), "stranger"});
    return finding ? std::optional(finding->fault) : std::nullopt;
  };
  moves_.Hold("stranger", "n2{VCPU:2} n1{DISK_GB:1}");
  EXPECT_EQ(fault(), kWrongProvider);  // T-345
  moves_.Hold("stranger", "n1{VCPU:2, DISK_GB:1}");
  EXPECT_EQ(fault(), std::nullopt);  // T-345
}

TEST_F(RulesAudit, LeaksAreCounted) {
  Put(1);
  Hold("n1{VCPU:2, MEMORY_MB:512, DISK_GB:16}");
  EXPECT_EQ(CountLeakCandidates(world().state()), 0);
  Put(1, "deleted");
  EXPECT_EQ(CountLeakCandidates(world().state()), 1);  // T-346
  moves_.Hold("unknown", "n2{VCPU:1}");
  EXPECT_EQ(CountLeakCandidates(world().state()), 1);  // its record may come soon
  State later = world().state();
  Position position = later.position();
  position.ledger_time += absl::Hours(2);
  later.set_position(position);
  EXPECT_EQ(CountLeakCandidates(later), 2);  // T-346
}

TEST_F(RulesAudit, AMoveThatDoesNotGoOnIsStale) {
  Put(1);
  ASSERT_EQ(moves_.Answer(CreateMigration{moves_.Move(MigrationType::kResize, 1, 2)}), "OK");
  const auto stale_after = [&](absl::Duration age) {
    State later = world().state();
    Position position = later.position();
    position.ledger_time = moves_.Migration()->updated_at + age;
    later.set_position(position);
    return !StaleMigrations(later, absl::Hours(24)).empty();
  };
  EXPECT_FALSE(stale_after(absl::Hours(24) - absl::Seconds(1)));  // T-132
  EXPECT_TRUE(stale_after(absl::Hours(24)));                      // T-132
  moves_.SetStatus("error");
  EXPECT_TRUE(stale_after(absl::Hours(24)));  // T-349: it holds both hosts
  moves_.SetStatus("a word of a newer release");
  EXPECT_TRUE(stale_after(absl::Hours(24)));  // T-125, T-132
  moves_.SetStatus("finished");
  EXPECT_FALSE(stale_after(absl::Hours(24)));  // T-132: it waits for its user
  moves_.SetStatus("running");
  ASSERT_EQ(moves_.Answer(moves_.End(MoveEnd::kReverted)), "OK");
  EXPECT_FALSE(stale_after(absl::Hours(24)));  // T-132
}

}  // namespace
}  // namespace berth::placement
