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
constexpr char kBoth[] = "n1{VCPU:2} n1-gpu{VGPU:1} n2{VCPU:3}";

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
    {kEvacuation, kDone, 2, "done", kBoth},
    {kEvacuation, kFailed, 1, "failed", kSource},
};

TEST(RulesMove, EachEndSettlesBothSidesInOneCommand) {
  for (const EndCase& one : kEndCases) {
    for (const bool divided : {false, true}) {
      if (divided && one.type == kEvacuation) continue;
      SCOPED_TRACE(testing::Message() << one.status << " of type " << static_cast<int>(one.type));
      MoveWorld move;
      move.Begin(one.type, divided);
      const int64_t commands = move.world().commands();
      ASSERT_EQ(move.Answer(move.End(one.end, one.host)), "OK");
      EXPECT_EQ(move.world().commands(), commands + 1);
      EXPECT_EQ(move.Migration()->status, one.status);  // T-173, T-174, T-177, T-178
      EXPECT_EQ(move.Held("vm"), one.instance);         // T-173, T-174, T-148, T-178, T-221
      EXPECT_EQ(move.Held("move"), "");                 // T-173, T-174, T-221
      EXPECT_EQ(*move.Instance()->node,
                move.world().provider(one.host == 1 ? "n1" : "n2"));  // T-174, T-177
      EXPECT_EQ(move.Instance()->details, move.On(one.host).details);
      CheckSafety(move.world().state());
    }
  }
}

// The source of an evacuation is freed when its host is back, and not before.
TEST(RulesMove, AnEvacuationIsCompletedByItsSource) {
  MoveWorld move;
  move.Begin(kEvacuation, false);
  EXPECT_EQ(move.Answer(move.End(kCompleted, 2)), "WRONG_MOVE_END end");  // T-126
  ASSERT_EQ(move.Answer(move.End(kDone, 2)), "OK");
  EXPECT_EQ(move.Held("vm"), kBoth);  // T-148
  const InstanceRecord arrived = *move.Instance();
  EndMove completed = move.End(kCompleted);
  completed.tracker = MoveWorld::Tracker(1);
  ASSERT_EQ(move.Answer(completed), "OK");
  EXPECT_EQ(move.Migration()->status, "completed");  // T-146
  EXPECT_EQ(move.Held("vm"), kDestination);          // T-146, T-148
  EXPECT_EQ(*move.Instance(), arrived);
  EXPECT_EQ(move.Answer(move.End(kCompleted)), "WRONG_MOVE_END end");
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
      {"POLICY_DENIED instance",
       [&](EndMove& c) { c.instance = std::make_shared<const InstanceRecord>(move.On(1)); }},
      {"RECORD_CONFLICT migration",
       [&](EndMove& c) { c.expected_generation = move.Migration()->generation; }},
      {"RECORD_CONFLICT instance",
       [&](EndMove& c) { c.expected_instance_generation = move.Instance()->generation; }},
      {"WRONG_MOVE_END end", [](EndMove& c) { c.end = kConfirmed; }},
      {"INSTANCE_ELSEWHERE instance.host",
       [&](EndMove& c) { c.instance = std::make_shared<const InstanceRecord>(move.On(2)); }},
      {"CONSUMER_GENERATION_CONFLICT expected_instance_consumer_generation",
       [&](EndMove& c) {
         c.expected_instance_consumer = move.world().consumer_generation("vm");
         c.expected_migration_consumer = Generation{77};
       }},
      {"CONSUMER_GENERATION_CONFLICT expected_migration_consumer_generation",
       [&](EndMove& c) {
         c.expected_migration_consumer = move.world().consumer_generation("move");
       }},
  };
  for (const auto& [expected, mend] : steps) {
    EXPECT_EQ(move.Answer(bad), expected);
    mend(bad);
  }
  EXPECT_EQ(move.Answer(bad), "OK");
}

TEST(RulesMove, TheInstanceMustBeWhereItsAllocationsStay) {
  struct PlaceCase {
    MoveEnd end;
    int host;
    const char* answer;
  };
  // The record stays on h1 if none is given.
  const PlaceCase cases[] = {{kConfirmed, -1, "INSTANCE_ELSEWHERE instance.host"},
                             {kConfirmed, 1, "INSTANCE_ELSEWHERE instance.host"},
                             {kConfirmed, 2, "OK"},
                             {kConfirmed, 0, "OK"},
                             {kReverted, 2, "INSTANCE_ELSEWHERE instance.host"},
                             {kReverted, 0, "INSTANCE_ELSEWHERE instance.host"},
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

// A part is what belongs to the node of one side alone.
TEST(RulesMove, WhatBelongsToNeitherSideIsKept) {
  MoveWorld move;
  move.Begin(kEvacuation, false, "n1{VCPU:2} pool{DISK_GB:10}");
  ASSERT_EQ(move.Answer(move.End(kDone, 2)), "OK");
  ASSERT_EQ(move.Answer(move.End(kCompleted)), "OK");
  EXPECT_EQ(move.Held("vm"), "n2{VCPU:3} pool{DISK_GB:10}");  // T-146
}

TEST(RulesMove, ASideWithoutANodeIsItsHost) {
  for (const bool to_known_host : {false, true}) {
    MoveWorld move;
    move.Begin(kEvacuation, false);
    MigrationRecord record = *move.Migration();
    record.id = MigrationId{Uuid{12, 1}};
    record.destination_host = to_known_host ? "h2" : "";
    record.destination_node.reset();
    ASSERT_EQ(move.Answer(CreateMigration{record}), "OK");
    EndMove failed = move.End(kFailed);
    failed.migration = record.id;
    failed.expected_generation =
        move.world().state().records().FindMigration(record.id)->generation;
    ASSERT_EQ(move.Answer(failed), "OK");
    EXPECT_EQ(move.Held("vm"), to_known_host ? kSource : kBoth);  // T-178
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

// A status that means "over" leaves no allocations behind, whichever call sets it.
TEST(RulesMove, AStatusAloneEndsNoMoveThatHoldsAllocations) {
  for (const EndCase& one : kEndCases) {
    MoveWorld move;
    move.Begin(one.type, one.type != kEvacuation);
    const std::string answer =
        move.Answer(UpdateMigration{move.move(), "accepted", one.status, {}, {}});
    if (one.end == kDone) {
      EXPECT_EQ(answer, "OK");  // T-148: releases nothing
      EXPECT_EQ(move.Answer(UpdateMigration{move.move(), "done", "completed", {}, {}}),
                "MOVE_HOLDS_ALLOCATIONS status");  // T-146
    } else {
      EXPECT_EQ(answer, "MOVE_HOLDS_ALLOCATIONS status") << one.status;  // T-173, T-174, T-221
    }
  }
  MoveWorld move;
  move.Begin(kLive);
  move.world().Must(DeleteAllocations{move.world().consumer("move"), std::nullopt});
  EXPECT_EQ(move.Answer(UpdateMigration{move.move(), "accepted", "error", {}, {}}), "OK");
  EXPECT_EQ(move.Answer(UpdateMigration{move.move(), "error", "failed", {}, {}}),
            "MOVE_HOLDS_ALLOCATIONS status");  // the destination's part
  EXPECT_EQ(move.Answer(UpdateMigration{move.move(), "error", "completed", {}, {}}), "OK");
}

}  // namespace
}  // namespace berth::placement
