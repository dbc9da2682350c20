// What a caller may write who may write for certain projects alone: each kind of write.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/rules/rules.h"
#include "placement/values/refusal.h"
#include "tests/placement/rules/move_world.h"
#include "tests/worlds/claim_notation.h"

namespace berth::placement {
namespace {

// The caller may write for the project `mine`. The instance `vm` of the project `project` moves from
// n1 to n2. The instance `own` of the project `mine` is on n3 and holds something there.
class ProjectLimitTest : public testing::Test {
 protected:
  ProjectLimitTest() {
    move_.Begin(MigrationType::kLive);
    move_.HoldFor("own", "n3{VCPU:1}", "mine");
    world().Must(SetInstance{Record("own", "mine"), std::nullopt});
  }

  World& world() { return move_.world(); }

  // "OK", or the reason with what the items say, each as "KIND FIELD", without changing anything.
  std::string Decided(CommandBody body) {
    Command command;
    command.body = std::move(body);
    command.projects = projects_;
    const RuleContext context{absl::UnixEpoch() + absl::Hours(1), Generation{1'000'000}};
    const absl::StatusOr<Outcome> outcome = Decide(world().state(), command, context);
    if (outcome.ok()) return "OK";
    const std::optional<Refusal> refusal = RefusalOf(outcome.status());
    if (!refusal) return outcome.status().ToString();
    std::string text = refusal->reason;
    if (refusal->reason != "POLICY_DENIED") return text;
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kPermissionDenied);
    for (const FaultItem& item : refusal->items) {
      for (const char* kind : {"consumer", "instance", "migration"}) {
        if (item.contains(kind)) absl::StrAppend(&text, " ", kind, " ", item.at("field"));
      }
    }
    return text;
  }

  Uuid IdOf(const char* name) { return world().consumer(name).uuid; }
  ConsumerAllocations Write(const char* consumer, const char* project,
                            const std::string& claim = "n3{VCPU:1}") {
    ConsumerAllocations wanted = world().Claim(consumer, claim);
    wanted.project = project;
    return wanted;
  }
  InstanceRecord Record(const char* name, const char* project) {
    InstanceRecord record = move_.On(0);
    record.id = InstanceId{IdOf(name)};
    record.project = project;
    return record;
  }
  MigrationRecord MoveOf(const char* migration, const char* instance) {
    MigrationRecord record = move_.Move(MigrationType::kCold, 3, 1);
    record.id = MigrationId{IdOf(migration)};
    record.instance = InstanceId{IdOf(instance)};
    return record;
  }
  PlaceClaims ClaimOf(const std::vector<std::string>& consumers, const char* project) {
    PlaceClaims claims = Claims(world(), consumers, "r VCPU:1");
    for (ClaimMember& member : claims.members) member.project = project;
    return claims;
  }

  MoveWorld move_;
  ProjectSetPtr projects_ = std::make_shared<const ProjectSet>(ProjectSet{"mine", "ours"});
};

TEST_F(ProjectLimitTest, Set) {
  EXPECT_EQ(Decided(SetAllocations{{Write("own", "mine")}}), "OK");
  EXPECT_EQ(Decided(SetAllocations{{Write("own", "ours")}}), "OK");
  EXPECT_EQ(Decided(SetAllocations{{Write("new", "mine")}}), "OK");
  EXPECT_EQ(Decided(SetAllocations{{Write("new", "project")}}),
            "POLICY_DENIED consumer consumers[0].project_id");
  EXPECT_EQ(Decided(SetAllocations{{Write("own", "project")}}),
            "POLICY_DENIED consumer consumers[0].project_id");
  // Neither taken over, nor released, nor hidden behind one of its own.
  EXPECT_EQ(Decided(SetAllocations{{Write("own", "mine"), Write("vm", "mine")}}),
            "POLICY_DENIED consumer consumers[1].consumer_uuid");
  ConsumerAllocations release = Write("vm", "mine");
  release.allocations.clear();
  EXPECT_EQ(Decided(SetAllocations{{release}}),
            "POLICY_DENIED consumer consumers[0].consumer_uuid");
  // All faults of what is said, before those of what stands.
  EXPECT_EQ(Decided(SetAllocations{{Write("vm", "mine"), Write("a", "x"), Write("b", "y")}}),
            "POLICY_DENIED consumer consumers[1].project_id consumer consumers[2].project_id");
}

TEST_F(ProjectLimitTest, ComesBeforeWhatWouldTellSomethingAboutOthers) {
  // A stale generation, an unknown provider, and no room.
  ConsumerAllocations stale = Write("vm", "mine", "n1{VCPU:1000}");
  stale.expected_generation = Generation{1};
  EXPECT_EQ(Decided(SetAllocations{{stale}}), "POLICY_DENIED consumer consumers[0].consumer_uuid");
  stale.consumer = world().consumer("own");
  EXPECT_EQ(Decided(SetAllocations{{stale}}), "CONSUMER_GENERATION_CONFLICT");
  EXPECT_EQ(Decided(SetInstance{Record("vm", "mine"), Generation{1}}),
            "POLICY_DENIED instance instance.uuid");
  EXPECT_EQ(Decided(SetInstance{Record("own", "mine"), Generation{1}}), "RECORD_CONFLICT");
  // The refusal does not say whose it is.
  Command command;
  command.body = DeleteAllocations{world().consumer("vm"), std::nullopt};
  command.projects = projects_;
  const absl::Status refused =
      Decide(world().state(), command, {absl::UnixEpoch(), Generation{1}}).status();
  EXPECT_EQ(refused.message().find("project'"), absl::string_view::npos) << refused;
  EXPECT_FALSE(RefusalOf(refused)->items.at(0).contains("project"));
}

TEST_F(ProjectLimitTest, WhatDoesNotExistBelongsToNobody) {
  EXPECT_EQ(Decided(DeleteAllocations{world().consumer("none"), {}}), "CONSUMER_NOT_FOUND");
  EXPECT_EQ(Decided(DeleteInstance{InstanceId{IdOf("none")}, {}}), "INSTANCE_NOT_FOUND");
  EXPECT_EQ(Decided(UpdateMigration{MigrationId{IdOf("none")}, "x", "y", {}, {}}),
            "MIGRATION_NOT_FOUND");
}

TEST_F(ProjectLimitTest, ChangeAndRelease) {
  const ConsumerId own = world().consumer("own");
  for (const char* foreign : {"vm", "move"}) {
    const ConsumerId other = world().consumer(foreign);
    EXPECT_EQ(Decided(DeleteAllocations{other, {}}), "POLICY_DENIED consumer consumer_uuid");
    EXPECT_EQ(Decided(AdjustAllocations{other, {}, {{world().provider("n1"), {{"VCPU", -1}}}}}),
              "POLICY_DENIED consumer consumer_uuid");
    EXPECT_EQ(Decided(SetLease{other, {}, absl::Seconds(60)}),
              "POLICY_DENIED consumer consumer_uuid");
    EXPECT_EQ(Decided(ReleaseConsumers{{{own, {}}, {other, {}}}}),
              "POLICY_DENIED consumer consumers[1].consumer_uuid");
  }
  EXPECT_EQ(Decided(DeleteAllocations{own, {}}), "OK");
  EXPECT_EQ(Decided(AdjustAllocations{own, {}, {{world().provider("n3"), {{"VCPU", 1}}}}}), "OK");
  EXPECT_EQ(Decided(SetLease{own, {}, absl::Seconds(60)}), "OK");
  EXPECT_EQ(Decided(ReleaseConsumers{{{own, {}}, {world().consumer("none"), {}}}}), "OK");
}

TEST_F(ProjectLimitTest, Claims) {
  EXPECT_EQ(Decided(ClaimOf({"new", "own"}, "mine")), "OK");
  EXPECT_EQ(Decided(ClaimOf({"new"}, "project")),
            "POLICY_DENIED consumer members[0].consumer.project_id");
  EXPECT_EQ(Decided(ClaimOf({"new", "vm"}, "mine")),
            "POLICY_DENIED consumer members[1].consumer.consumer_uuid");
  PlaceClaims one = ClaimOf({"new"}, "mine");
  one.one = true;
  one.members[0].instance = std::make_shared<const InstanceRecord>(Record("new", "mine"));
  EXPECT_EQ(Decided(one), "OK");
  one.members[0].instance = std::make_shared<const InstanceRecord>(Record("new", "project"));
  EXPECT_EQ(Decided(one), "POLICY_DENIED instance consumer.instance.project_id");
}

TEST_F(ProjectLimitTest, Instances) {
  EXPECT_EQ(Decided(SetInstance{Record("new", "mine"), {}}), "OK");
  EXPECT_EQ(Decided(SetInstance{Record("new", "project"), {}}),
            "POLICY_DENIED instance instance.project_id");
  const Generation own = world().state().records().FindInstance({IdOf("own")})->generation;
  EXPECT_EQ(Decided(SetInstance{Record("own", "ours"), own}), "OK");
  EXPECT_EQ(Decided(SetInstance{Record("own", "project"), own}),
            "POLICY_DENIED instance instance.project_id");
  EXPECT_EQ(Decided(SetInstance{Record("vm", "mine"), move_.Instance()->generation}),
            "POLICY_DENIED instance instance.uuid");
  EXPECT_EQ(Decided(DeleteInstance{InstanceId{IdOf("own")}, {}}), "OK");
  EXPECT_EQ(Decided(DeleteInstance{InstanceId{IdOf("vm")}, {}, "", true}),
            "POLICY_DENIED instance instance_uuid migration instance_uuid");
}

TEST_F(ProjectLimitTest, OneUuidHasOneOwner) {
  // A consumer without a record, a record without a consumer: each keeps the other away.
  move_.HoldFor("held", "n3{VCPU:1}", "project");
  EXPECT_EQ(Decided(SetInstance{Record("held", "mine"), {}}),
            "POLICY_DENIED instance instance.uuid");
  world().Must(SetInstance{Record("known", "project"), std::nullopt});
  EXPECT_EQ(Decided(SetAllocations{{Write("known", "mine")}}),
            "POLICY_DENIED consumer consumers[0].consumer_uuid");
  EXPECT_EQ(Decided(ClaimOf({"known"}, "mine")),
            "POLICY_DENIED consumer members[0].consumer.consumer_uuid");
  // The consumer of a migration that holds nothing yet.
  world().Must(CreateMigration{MoveOf("away", "known")});
  EXPECT_EQ(Decided(SetAllocations{{Write("away", "mine")}}),
            "POLICY_DENIED consumer consumers[0].consumer_uuid");
  EXPECT_EQ(Decided(SetInstance{Record("away", "mine"), {}}),
            "POLICY_DENIED instance instance.uuid");
}

TEST_F(ProjectLimitTest, Moves) {
  EXPECT_EQ(Decided(CreateMigration{MoveOf("new", "own")}), "OK");
  EXPECT_EQ(Decided(CreateMigration{MoveOf("new", "vm")}),
            "POLICY_DENIED instance migration.instance_uuid");
  move_.HoldFor("held", "n3{VCPU:1}", "project");
  EXPECT_EQ(Decided(CreateMigration{MoveOf("held", "own")}),
            "POLICY_DENIED migration migration.uuid");
  EXPECT_EQ(Decided(UpdateMigration{move_.move(), "accepted", "preparing", {}, {}}),
            "POLICY_DENIED migration migration_uuid");
  EXPECT_EQ(Decided(move_.End(MoveEnd::kCompleted, 2)),
            "POLICY_DENIED instance instance.project_id");
  EXPECT_EQ(Decided(move_.End(MoveEnd::kCompleted)), "POLICY_DENIED migration migration_uuid");

  world().Must(CreateMigration{MoveOf("mine-moves", "own")});
  const MigrationId mine{IdOf("mine-moves")};
  EXPECT_EQ(Decided(UpdateMigration{mine, "accepted", "preparing", {}, {}}), "OK");
  EndMove end;
  end.migration = mine;
  end.end = MoveEnd::kFailed;
  end.expected_generation = world().state().records().FindMigration(mine)->generation;
  end.expected_instance_generation =
      world().state().records().FindInstance({IdOf("own")})->generation;
  EXPECT_EQ(Decided(end), "OK");
  end.instance = std::make_shared<const InstanceRecord>(Record("own", "project"));
  EXPECT_EQ(Decided(end), "POLICY_DENIED instance instance.project_id");
  // Its consumer belongs to somebody else.
  move_.HoldFor("mine-moves", "n3{VCPU:1}", "project");
  end.instance = nullptr;
  EXPECT_EQ(Decided(end), "POLICY_DENIED migration migration_uuid");
  EXPECT_EQ(Decided(DeleteInstance{InstanceId{IdOf("own")}, {}, "", true}),
            "POLICY_DENIED migration instance_uuid");
}

TEST_F(ProjectLimitTest, AnythingElseIsRefused) {
  const std::vector<CommandBody> others = {
      CreateProvider{{}, "p", {}},
      DeleteProvider{world().provider("n1")},
      CreateClass{"CUSTOM_A"},
      SetAggregate{},
      DeleteAggregate{},
      Reshape{},
      ApplyTopology{},
      RepairAllocations{world().consumer("own"), {}},
      ReleaseEvacuated{"h1"},
      UpdateService{},
      DeleteService{"h1", "berth-tracker", true},
      MoveNode{},
      SetFormat{},
      ExpireLeases{},
      ImportLedger{},
      WriteRecords{},
      ApplyReport{},
  };
  for (const CommandBody& body : others) {
    EXPECT_EQ(Decided(body), "POLICY_DENIED") << body.index();
  }
  EXPECT_EQ(Decided(FindRequest{"scheduler/s", "id", true}), "OK");
}

TEST_F(ProjectLimitTest, AnEmptySetAllowsNothingAndNoSetAllowsAll) {
  projects_ = std::make_shared<const ProjectSet>();
  EXPECT_EQ(Decided(SetAllocations{{Write("own", "mine")}}),
            "POLICY_DENIED consumer consumers[0].project_id");
  EXPECT_EQ(Decided(DeleteAllocations{world().consumer("own"), {}}),
            "POLICY_DENIED consumer consumer_uuid");
  projects_ = nullptr;
  EXPECT_EQ(Decided(SetAllocations{{Write("own", "project")}}), "OK");
  EXPECT_EQ(Decided(DeleteAllocations{world().consumer("vm"), {}}), "OK");
  EXPECT_EQ(Decided(move_.End(MoveEnd::kCompleted, 2)), "OK");
}

}  // namespace
}  // namespace berth::placement
