// How moves end: the migration, the instance and the allocations of both consumers, in one command.
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "placement/values/migration_status.h"
#include "tests/placement/rules/move_world.h"
#include "tests/worlds/safety.h"

namespace berth::placement {
namespace {

using enum MoveEnd;
using enum MigrationType;

constexpr char kSource[] = "n1{VCPU:2} n1-gpu{VGPU:1}";
constexpr char kDestination[] = "n2{VCPU:3}";
constexpr char kBothHosts[] = "n1{VCPU:2} n1-gpu{VGPU:1} n2{VCPU:3}";

struct EndCase {
  MigrationType type;
  MoveEnd end;
  int host;              // of the instance afterwards
  const char* status;    // of the migration afterwards
  const char* instance;  // what the instance holds afterwards
};
constexpr EndCase kEndCases[] = {
    {kCold, kConfirmed, 2, "confirmed", kDestination},
    {kCold, kReverted, 1, "reverted", kSource},
    {kCold, kFailed, 1, "failed", kSource},
    {kResize, kConfirmed, 2, "confirmed", kDestination},
    {kResize, kReverted, 1, "reverted", kSource},
    {kResize, kFailed, 1, "failed", kSource},
    {kLive, kCompleted, 2, "completed", kDestination},
    {kLive, kFailed, 1, "failed", kSource},
    {kLive, kCancelled, 1, "cancelled", kSource},
    {kEvacuation, kDone, 2, "done", kBothHosts},
    {kEvacuation, kCompleted, 2, "completed", kDestination},
    {kEvacuation, kFailed, 1, "failed", kSource},
};

TEST(RulesMove, EachEndSettlesBothSidesInOneCommand) {
  for (const EndCase& one : kEndCases) {
    for (const bool divided : {false, true}) {
      SCOPED_TRACE(testing::Message() << one.status << " of type " << static_cast<int>(one.type));
      MoveWorld move;
      move.Begin(one.type, divided);
      const int64_t commands = move.world().commands();
      ASSERT_EQ(move.Answer(move.End(one.end, one.host)), "OK");
      EXPECT_EQ(move.world().commands(), commands + 1);
      EXPECT_EQ(move.Migration()->status, one.status);  // T-173, T-174, T-177, T-178, T-179
      EXPECT_EQ(move.Held("vm"), one.instance);         // T-173, T-174, T-148, T-178, T-221
      EXPECT_EQ(move.Held("move"), "");                 // T-173, T-174, T-221
      EXPECT_EQ(*move.Instance()->node,
                move.world().provider(one.host == 1 ? "n1" : "n2"));  // T-174, T-177, T-179
      EXPECT_EQ(move.Instance()->body, move.On(one.host).body);       // T-177, T-179, T-287
      CheckSafety(move.world().state());
    }
  }
}

// The source of an evacuation is freed when its host is back, and not before.
TEST(RulesMove, AnEvacuationIsCompletedByItsSource) {
  MoveWorld move;
  move.Begin(kEvacuation, false);
  EXPECT_EQ(move.Answer(move.End(kCompleted)), "INSTANCE_ELSEWHERE end");  // T-147
  ASSERT_EQ(move.Answer(move.End(kDone, 2)), "OK");
  EXPECT_EQ(move.Held("vm"), kBothHosts);  // T-148
  const InstanceRecord arrived = *move.Instance();
  EndMove completed = move.End(kCompleted);
  completed.tracker = MoveWorld::Tracker(1);
  ASSERT_EQ(move.Answer(completed), "OK");
  EXPECT_EQ(move.Migration()->status, "completed");  // T-146
  EXPECT_EQ(move.Held("vm"), kDestination);          // T-146, T-148
  EXPECT_EQ(*move.Instance(), arrived);
  EXPECT_EQ(move.Answer(move.End(kCompleted)), "WRONG_MOVE_END end");
}

// The source is back, and finds the evacuation in any of the statuses that T-146 lists.
TEST(RulesMove, TheSourceOfAnEvacuationEndsItInOneCommand) {
  for (const char* status : {"accepted", "pre-migrating", "done"}) {
    for (const int host : {1, 2}) {
      MoveWorld move;
      move.Begin(kEvacuation, false);
      if (std::string(status) == "pre-migrating") move.SetStatus(status);
      if (std::string(status) == "done") {
        ASSERT_EQ(move.Answer(move.End(kDone, 2)), "OK");
      }
      ASSERT_EQ(move.Answer(SetInstance{move.On(host), move.Instance()->generation}), "OK");
      EndMove end = move.End(host == 1 ? kFailed : kCompleted);
      end.tracker = MoveWorld::Tracker(1);
      ASSERT_EQ(move.Answer(end), "OK") << status;                     // T-146, T-147
      EXPECT_EQ(move.Held("vm"), host == 1 ? kSource : kDestination);  // T-146, T-147
    }
  }
}

// Whoever held a part, the instance holds both until the source is back, without a lease.
TEST(RulesMove, AnEvacuationThatIsDoneHoldsBothSides) {
  MoveWorld move;
  move.Begin(kEvacuation, true);
  for (const char* consumer : {"vm", "move"}) {
    move.world().Must(SetLease{move.world().consumer(consumer), {}, absl::Minutes(1)});
  }
  ASSERT_EQ(move.Answer(move.End(kDone, 2)), "OK");
  EXPECT_EQ(move.Held("vm"), kBothHosts);  // T-148, T-221
  EXPECT_EQ(move.Held("move"), "");
  const ConsumerPtr held = move.world().state().FindConsumer(move.world().consumer("vm"));
  EXPECT_EQ(held->lease_expires_at, std::nullopt);  // T-148
}

TEST(RulesMove, EndsOnlyAsItsTypeAllows) {
  std::set<std::pair<MigrationType, MoveEnd>> allowed;
  for (const EndCase& one : kEndCases) allowed.emplace(one.type, one.end);
  for (const MigrationType type : {kCold, kResize, kLive, kEvacuation}) {
    for (const MoveEnding& ending : MoveEndings()) {
      SCOPED_TRACE(testing::Message() << ending.status << " of type " << static_cast<int>(type));
      MoveWorld move;
      move.Begin(type, type != kEvacuation);
      const int host = ending.side == MoveSide::kSource ? 1 : 2;
      EXPECT_EQ(move.Answer(move.End(ending.end, host)),
                allowed.contains({type, ending.end}) ? "OK" : "WRONG_MOVE_END end");  // T-126
    }
  }
}

TEST(RulesMove, EndsOnceWhateverTheWord) {
  for (const MigrationStatus& status : MigrationStatuses()) {
    MoveWorld move;
    move.Begin(kLive);
    if (FindMoveEnding(status.word) != nullptr) continue;  // only EndMove sets these
    if (status.word != "accepted") move.SetStatus(std::string(status.word));
    ASSERT_EQ(move.Answer(move.End(kCompleted, 2)), "OK") << status.word;
    EXPECT_EQ(move.Answer(move.End(kFailed, 1)), "WRONG_MOVE_END end");
  }
}

TEST(RulesMove, RefusesInThisOrder) {
  MoveWorld move;
  move.Begin(kCold);
  EndMove bad = move.End(kConfirmed, 1);
  bad.end = MoveEnd{7};
  bad.expected_generation.reset();
  bad.expected_instance_generation.reset();
  bad.migration = MigrationId{Uuid{9, 9}};
  bad.tracker = TrackerProcess{"", FleetWorld::Process(9)};
  bad.expected_instance_consumer = Generation{77};
  InstanceRecord other = move.On(1);
  other.id = InstanceId{Uuid{9, 9}};
  other.vm_state = "";
  bad.instance = std::make_shared<const InstanceRecord>(other);
  // Once the records fit, what the consumers hold does not.
  move.HoldFor("move", kSource, "another project");
  move.Hold("vm", "");
  bad.expected_migration_consumer = Generation{77};
  using Mend = std::function<void(EndMove&)>;
  const std::vector<std::pair<const char*, Mend>> steps = {
      {"INVALID_FIELD end", [](EndMove& c) { c.end = kDone; }},
      {"GENERATION_REQUIRED expected_generation",
       [](EndMove& c) { c.expected_generation = Generation{77}; }},
      {"GENERATION_REQUIRED expected_instance_generation",
       [](EndMove& c) { c.expected_instance_generation = Generation{77}; }},
      {"INVALID_FIELD instance.vm_state",
       [&](EndMove& c) {
         other.vm_state = "active";
         c.instance = std::make_shared<const InstanceRecord>(other);
       }},
      {"INVALID_FIELD tracker.host", [](EndMove& c) { c.tracker->host = "nowhere"; }},
      {"SERVICE_NOT_REGISTERED tracker.host", [](EndMove& c) { c.tracker->host = "h1"; }},
      {"TRACKER_FENCED tracker.incarnation",  // T-14
       [](EndMove& c) { c.tracker = MoveWorld::Tracker(1); }},
      {"MIGRATION_NOT_FOUND migration_uuid", [&](EndMove& c) { c.migration = move.move(); }},
      {"INVALID_FIELD instance.uuid",
       [&](EndMove& c) {
         other = move.On(1);
         other.name = "another name";
         c.instance = std::make_shared<const InstanceRecord>(other);
       }},
      {"RECORD_CONFLICT migration",
       [&](EndMove& c) { c.expected_generation = move.Migration()->generation; }},
      {"RECORD_CONFLICT instance",
       [&](EndMove& c) { c.expected_instance_generation = move.Instance()->generation; }},
      {"CONSUMER_GENERATION_CONFLICT expected_instance_consumer_generation",
       [](EndMove& c) { c.expected_instance_consumer = Generation{0}; }},
      {"CONSUMER_GENERATION_CONFLICT expected_migration_consumer_generation",
       [&](EndMove& c) {
         c.expected_migration_consumer = move.world().consumer_generation("move");
       }},
      {"POLICY_DENIED instance",
       [&](EndMove& c) { c.instance = std::make_shared<const InstanceRecord>(move.On(1)); }},
      {"WRONG_MOVE_END end", [](EndMove& c) { c.end = kConfirmed; }},
      {"INSTANCE_ELSEWHERE end",
       [&](EndMove& c) { c.instance = std::make_shared<const InstanceRecord>(move.On(2)); }},
  };
  for (const auto& [expected, mend] : steps) {
    EXPECT_EQ(move.Answer(bad), expected);
    mend(bad);
  }
  EXPECT_EQ(move.Answer(bad), "FOREIGN_CONSUMER end");
  move.HoldFor("move", kSource, "project");
  bad.expected_migration_consumer = move.world().consumer_generation("move");
  EXPECT_EQ(move.Answer(bad), "NOTHING_HELD end");
  move.Hold("vm", kDestination);
  bad.expected_instance_consumer = move.world().consumer_generation("vm");
  EXPECT_EQ(move.Answer(bad), "OK");
}

TEST(RulesMove, TheReasonOfAnEndIsOneLine) {
  MoveWorld move;
  move.Begin(kLive);
  EndMove end = move.End(kCompleted, 2);
  end.reason = "two\nlines";
  EXPECT_EQ(move.Answer(end), "INVALID_FIELD reason");
}

TEST(RulesMove, TheInstanceMustBeWhereItsAllocationsStay) {
  struct PlaceCase {
    MoveEnd end;
    int host;
    const char* answer;
  };
  // The record stays on h1 if none is given.
  const PlaceCase cases[] = {{kConfirmed, -1, "INSTANCE_ELSEWHERE end"},
                             {kConfirmed, 1, "INSTANCE_ELSEWHERE end"},
                             {kConfirmed, 2, "OK"},
                             {kConfirmed, 0, "OK"},
                             {kReverted, 2, "INSTANCE_ELSEWHERE end"},
                             {kReverted, 0, "INSTANCE_ELSEWHERE end"},
                             {kReverted, -1, "OK"},
                             {kReverted, 1, "OK"}};
  for (const PlaceCase& one : cases) {
    MoveWorld move;
    move.Begin(kResize);
    EXPECT_EQ(move.Answer(move.End(one.end, one.host)), one.answer) << one.host;  // T-173, T-174
  }
}

TEST(RulesMove, AResizeOnOneNodeReleasesOneSide) {
  for (const MoveEnd end : {kConfirmed, kReverted}) {
    MoveWorld move;
    move.Begin(kResize, true, "n1{VCPU:2}", "n1{VCPU:3}");
    const ProviderId n1 = move.world().provider("n1");
    ASSERT_EQ(move.Answer(UpdateMigration{move.move(), "accepted", "", "h1", n1}), "OK");
    EXPECT_EQ(move.world().used("n1", "VCPU"), 5);  // T-221
    ASSERT_EQ(move.Answer(move.End(end, 1)), "OK");
    EXPECT_EQ(move.world().used("n1", "VCPU"), end == kConfirmed ? 3 : 2);  // T-173, T-174
    EXPECT_EQ(move.Held("move"), "");                                       // T-221
  }
}

TEST(RulesMove, TheInstanceHoldsWithoutALeaseAfterwards) {
  for (const MoveEnd end : {kCompleted, kFailed}) {
    MoveWorld move;
    move.Begin(kLive);
    for (const char* consumer : {"vm", "move"}) {
      move.world().Must(SetLease{move.world().consumer(consumer), {}, absl::Minutes(1)});
    }
    ASSERT_EQ(move.Answer(move.End(end, end == kFailed ? 1 : 2)), "OK");
    const ConsumerPtr held = move.world().state().FindConsumer(move.world().consumer("vm"));
    EXPECT_EQ(held->lease_expires_at, std::nullopt);
    ASSERT_EQ(move.last.result.consumers.size(), 1u);
    EXPECT_EQ(move.last.result.consumers[0].second, held->generation);
  }
  // Even if nothing else of the allocations changes.
  MoveWorld move;
  move.Begin(kLive);
  move.world().Must(SetLease{move.world().consumer("vm"), {}, absl::Minutes(1)});
  move.world().Must(DeleteAllocations{move.world().consumer("move"), std::nullopt});
  ASSERT_EQ(move.Answer(move.End(kCompleted, 2)), "OK");
  const ConsumerPtr held = move.world().state().FindConsumer(move.world().consumer("vm"));
  EXPECT_EQ(held->lease_expires_at, std::nullopt);
}

// The claim of the destination may have ended by its lease.
TEST(RulesMove, AnInstanceThatHoldsNothingGetsItsPartBack) {
  MoveWorld move;
  move.Begin(kLive);
  Owner owner = *move.world().state().FindConsumer(move.world().consumer("vm"))->owner;
  move.world().Must(DeleteAllocations{move.world().consumer("vm"), std::nullopt});
  ASSERT_EQ(move.Answer(move.End(kFailed, 1)), "OK");
  EXPECT_EQ(move.Held("vm"), kSource);  // T-221
  EXPECT_EQ(*move.world().state().FindConsumer(move.world().consumer("vm"))->owner, owner);
}

TEST(RulesMove, WhatHoldsAsBeforeKeepsItsGeneration) {
  MoveWorld move;
  move.Begin(kLive);
  const auto instance = move.world().consumer_generation("vm");
  const Generation n2 = move.world().allocation_generation("n2");
  move.world().Must(DeleteAllocations{move.world().consumer("move"), std::nullopt});
  ASSERT_EQ(move.Answer(move.End(kCompleted, 2)), "OK");
  EXPECT_EQ(move.world().consumer_generation("vm"), instance);
  EXPECT_EQ(move.world().allocation_generation("n2"), n2);
  EXPECT_EQ(move.last.changes.size(), 2u);  // the two records
}

TEST(RulesMove, ARetiredNodeGoesWithItsLastAllocation) {
  MoveWorld move;
  move.Begin(kLive);
  move.world().Must(RetireNode{move.world().provider("n1"), true});
  ASSERT_EQ(move.Answer(move.End(kCompleted, 2)), "OK");
  EXPECT_FALSE(move.fleet.HasNode("n1"));  // T-40
  EXPECT_FALSE(move.fleet.Has("n1-gpu"));  // T-40
}

// What the caller knows of a consumer may be that it holds nothing.
TEST(RulesMove, AConsumerThatHoldsSomethingByNowIsNotOverlooked) {
  MoveWorld move;
  move.Begin(kLive);
  move.Hold("move", "");
  EndMove end = move.End(kCompleted, 2);
  end.expected_migration_consumer = Generation{0};
  move.Hold("move", "n1{VCPU:1}");
  EXPECT_EQ(move.Answer(end),
            "CONSUMER_GENERATION_CONFLICT expected_migration_consumer_generation");
  move.Hold("move", "");
  EXPECT_EQ(move.Answer(end), "OK");
}

// A status that means "over" leaves no allocations behind and no record that says the contrary,
// whichever call sets it.
TEST(RulesMove, AStatusAloneEndsNoMoveThatIsNotSettled) {
  for (const EndCase& one : kEndCases) {
    SCOPED_TRACE(testing::Message() << one.status << " of type " << static_cast<int>(one.type));
    MoveWorld move;
    move.Begin(one.type, one.type != kEvacuation);
    const UpdateMigration update{move.move(), "accepted", one.status, {}, {}};
    if (one.host == 2) {
      EXPECT_EQ(move.Answer(update), "INSTANCE_ELSEWHERE status");  // T-173, T-177
      ASSERT_EQ(move.Answer(SetInstance{move.On(2), move.Instance()->generation}), "OK");
    }
    // An evacuation that is done needs no settlement: T-148.
    EXPECT_EQ(move.Answer(update), one.end == kDone ? "OK" : "MOVE_HOLDS_ALLOCATIONS status");
    move.Hold("move", "");
    move.Hold("vm", one.host == 2 ? kDestination : kSource);
    if (one.end != kDone) {
      EXPECT_EQ(move.Answer(update), "OK");
    }
    EXPECT_EQ(move.Migration()->status, one.status);
  }
}

TEST(RulesMove, AStatusAloneEndsAMoveAsItsTypeAllows) {
  MoveWorld move;
  move.Begin(kLive);
  move.Hold("move", "");
  move.Hold("vm", "");
  const auto update = [&](const char* status) {
    return move.Answer(UpdateMigration{move.move(), move.Migration()->status, status, {}, {}});
  };
  for (const char* status : {"confirmed", "reverted", "done"}) {
    EXPECT_EQ(update(status), "WRONG_MOVE_END status");  // T-126
  }
  EXPECT_EQ(update("completed"), "INSTANCE_ELSEWHERE status");
  move.Hold("vm", "n1{VCPU:1} n3{VCPU:1}");
  // The new destination of the same command counts.
  UpdateMigration elsewhere{move.move(), "accepted", "failed", "h3", move.world().provider("n3")};
  EXPECT_EQ(move.Answer(elsewhere), "MOVE_HOLDS_ALLOCATIONS status");
  EXPECT_EQ(update("failed"), "OK");
  for (const char* status : {"cancelled", "running", "error", "no such word"}) {
    EXPECT_EQ(update(status), "WRONG_MOVE_END status") << "it is over";  // T-126
  }
  // A record of a move that is over already is imported, not made.
  MigrationRecord over = move.Move(kLive, 1, 2);
  over.id = MigrationId{Uuid{12, 1}};
  over.status = "completed";
  EXPECT_EQ(move.Answer(CreateMigration{over}), "INVALID_FIELD migration.status");
}

// A lease would end while the guest runs.
TEST(RulesMove, AStatusAloneEndsNoMoveWithALease) {
  MoveWorld move;
  move.Begin(kLive);
  move.Hold("move", "");
  ASSERT_EQ(move.Answer(SetInstance{move.On(2), move.Instance()->generation}), "OK");
  move.world().Must(SetLease{move.world().consumer("vm"), {}, absl::Minutes(1)});
  EXPECT_EQ(move.Answer(UpdateMigration{move.move(), "accepted", "completed", {}, {}}),
            "MOVE_HOLDS_ALLOCATIONS status");
}

// The record of the instance is the only key to what its migrations hold.
TEST(RulesMove, AnInstanceIsNotDeletedWhileAMigrationHoldsItsPart) {
  MoveWorld move;
  move.Begin(kCold);
  EXPECT_EQ(move.Answer(DeleteInstance{move.vm(), {}}), "MOVE_HOLDS_ALLOCATIONS instance_uuid");
  ASSERT_EQ(move.Answer(move.End(kConfirmed, 2)), "OK");
  EXPECT_EQ(move.Answer(DeleteInstance{move.vm(), {}}), "OK");
  EXPECT_EQ(move.Held("vm"), kDestination);  // T-3: until somebody releases it
}

}  // namespace
}  // namespace berth::placement
