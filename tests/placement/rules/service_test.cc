// What becomes of a service: new ones, those declared down, and those deleted with their nodes.
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/placement/rules/move_world.h"
#include "tests/worlds/fleet_world.h"

namespace berth::placement {
namespace {

RegisterService Registration(const std::string& binary, bool starts_disabled) {
  RegisterService command{"new",       binary, FleetWorld::Process(9),
                          "machine-9", "",     Uuid{5, 90 + binary.size()}};
  command.starts_disabled = starts_disabled;
  return command;
}

TEST(RulesService, ANewTrackerMayStartDisabled) {
  FleetWorld fleet;
  EXPECT_EQ(fleet.Answer(Registration("berth-tracker", false)), "OK");
  EXPECT_FALSE(fleet.service("new").disabled);  // T-296
  FleetWorld careful;
  EXPECT_EQ(careful.Answer(Registration("berth-tracker", true)), "OK");
  EXPECT_TRUE(careful.service("new").disabled);  // T-296
  EXPECT_EQ(careful.service("new").disabled_reason,
            "New compute service disabled due to config option.");  // T-296
  ASSERT_EQ(careful.Report("new", 9, "cn1{VCPU:8}", 1), "OK");
  EXPECT_TRUE(careful.HasTrait("cn1", "COMPUTE_STATUS_DISABLED"));  // T-296
  EXPECT_EQ(careful.Update("new", false, "", {}), "OK");
  EXPECT_EQ(careful.Register("new", 10, "machine-9"), "OK");
  EXPECT_EQ(careful.Answer(Registration("berth-tracker", true)), "OK");
  EXPECT_FALSE(careful.service("new").disabled);  // T-296: only a new record
  EXPECT_EQ(careful.Answer(Registration("berth-scheduler", true)), "OK");
  const auto other = careful.world.state().services().Find(
      std::pair<std::string, std::string>("new", "berth-scheduler"));
  EXPECT_FALSE((*other)->disabled);  // T-296: only a tracker
}

// Fencing tools declare a host down, its guests are evacuated, and then the host comes back.
TEST(RulesService, EvacuatedGuestsKeepAHostDown) {
  MoveWorld moves;
  moves.Begin(MigrationType::kEvacuation, false);
  EXPECT_EQ(moves.fleet.Update("h1", {}, "", true), "OK");
  EXPECT_EQ(moves.fleet.Update("h1", {}, "", false), "OK");  // T-298: it is not done yet
  EXPECT_EQ(moves.fleet.Update("h1", {}, "", true), "OK");
  ASSERT_EQ(moves.Answer(moves.End(MoveEnd::kDone, 2)), "OK");
  EXPECT_EQ(moves.fleet.Update("h1", {}, "", false), "EVACUATION_PENDING");  // T-298
  EXPECT_TRUE(moves.fleet.service("h1").forced_down);                        // T-298
  EXPECT_EQ(moves.fleet.Update("h1", {}, "", true), "OK");
  EXPECT_EQ(moves.fleet.Update("h1", true, "why", {}), "OK");  // another change is no withdrawal
  EXPECT_EQ(moves.fleet.Update("h2", {}, "", true), "OK");
  EXPECT_EQ(moves.fleet.Update("h2", {}, "", false), "OK");  // T-298: the destination is free
  ASSERT_EQ(moves.Answer(moves.End(MoveEnd::kCompleted)), "OK");
  EXPECT_EQ(moves.fleet.Update("h1", {}, "", false), "OK");  // T-298: the source has cleaned up
  EXPECT_FALSE(moves.fleet.service("h1").forced_down);
}

TEST(RulesService, ADeletedTrackerTakesItsNodesAlong) {
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  fleet.Register("h2", 2, "machine-b");
  ASSERT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}(agg1)\n  pf1{VGPU:4}", 1), "OK");
  ASSERT_EQ(fleet.Report("h1", 1, "cn2{VCPU:8}", 1), "OK");
  ASSERT_EQ(fleet.Report("h2", 2, "cn3{VCPU:8}", 1), "OK");
  World& world = fleet.world;
  world.Must(SetAllocations{{world.Claim("a", "pf1{VGPU:1} cn2{VCPU:1}")}, false});
  world.Must(SetAllocations{{world.Claim("b", "cn1{VCPU:2} cn3{VCPU:1}")}, false});
  EXPECT_EQ(fleet.Answer(DeleteService{"gone", "berth-tracker"}), "SERVICE_NOT_FOUND");
  EXPECT_EQ(fleet.Answer(DeleteService{"h1", "other"}), "SERVICE_NOT_FOUND");
  EXPECT_EQ(fleet.Answer(DeleteService{"h1", "berth-tracker"}), "PROVIDER_IN_USE");      // T-299
  EXPECT_EQ(world.used("cn1", "VCPU"), 2);                                               // T-299
  EXPECT_EQ(fleet.Answer(DeleteService{"h1", "berth-tracker", true}), "OK");             // T-299
  for (const char* gone : {"cn1", "pf1", "cn2"}) EXPECT_FALSE(fleet.Has(gone)) << gone;  // T-299
  EXPECT_FALSE(fleet.HasNode("cn1"));                                                    // T-299
  EXPECT_FALSE(fleet.HasNode("cn2"));                                                    // T-299
  EXPECT_TRUE(fleet.HasNode("cn3"));                         // T-10, T-299: of this host only
  EXPECT_FALSE(world.consumer_generation("a").has_value());  // T-299: held nothing else
  EXPECT_EQ(world.used("cn3", "VCPU"), 1);                   // T-299: keeps what is elsewhere
  EXPECT_EQ(fleet.Answer(DeleteService{"h1", "berth-tracker", true}), "SERVICE_NOT_FOUND");
  EXPECT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}", 2), "SERVICE_NOT_REGISTERED");  // T-299, T-384
}

// Without cascade nothing goes that a tracker has not made, and nothing that somebody holds.
TEST(RulesService, WithoutCascadeATrackerGoesOnlyIfNobodyNeedsItsNodes) {
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  ASSERT_EQ(fleet.Report("h1", 1, "cn1{VCPU:8}", 1), "OK");
  ASSERT_EQ(fleet.Report("h1", 1, "cn2{VCPU:8}\n  pf1{VGPU:4}", 1), "OK");
  World& world = fleet.world;
  world.Must(SetAllocations{{world.Claim("a", "cn1{VCPU:1}")}, false});
  world.Add("switch{CUSTOM_PORT:4}");
  world.Must(UpdateProvider{world.provider("switch"), {}, {{world.provider("pf1")}}, {}});
  const DeleteService deletion{"h1", "berth-tracker"};
  EXPECT_EQ(fleet.Answer(deletion), "PROVIDER_HAS_CHILDREN");  // T-299: before what is in use
  world.Must(UpdateProvider{
      world.provider("switch"), {}, std::make_optional(std::optional<ProviderId>()), {}});
  EXPECT_EQ(fleet.Answer(deletion), "PROVIDER_IN_USE");  // T-299
  world.Must(DeleteAllocations{world.consumer("a"), std::nullopt});
  EXPECT_EQ(fleet.Answer(deletion), "OK");                                               // T-299
  for (const char* gone : {"cn1", "cn2", "pf1"}) EXPECT_FALSE(fleet.Has(gone)) << gone;  // T-299
  EXPECT_TRUE(fleet.Has("switch"));
}

TEST(RulesService, NodesOfOneHostMayBeBelowEachOther) {
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  fleet.Register("h2", 2, "machine-b");
  ASSERT_EQ(fleet.Report("h1", 1, "outer{VCPU:8}", 1), "OK");
  ASSERT_EQ(fleet.Report("h1", 1, "inner{VCPU:8}", 1), "OK");
  ASSERT_EQ(fleet.Report("h2", 2, "foreign{VCPU:8}", 1), "OK");
  World& world = fleet.world;
  const auto put_below = [&](const char* child, const char* parent) {
    world.Must(UpdateProvider{world.provider(child), {}, {{world.provider(parent)}}, {}});
  };
  put_below("inner", "outer");
  put_below("foreign", "inner");
  world.Must(SetAllocations{{world.Claim("a", "outer{VCPU:1} inner{VCPU:1}")}, false});
  const DeleteService deletion{"h1", "berth-tracker", true};
  EXPECT_EQ(fleet.Answer(deletion), "PROVIDER_HAS_CHILDREN");  // T-299
  world.Must(UpdateProvider{
      world.provider("foreign"), {}, std::make_optional(std::optional<ProviderId>()), {}});
  EXPECT_EQ(fleet.Answer(deletion), "OK");  // T-299
  EXPECT_FALSE(fleet.Has("outer"));
  EXPECT_FALSE(fleet.Has("inner"));
  EXPECT_TRUE(fleet.Has("foreign"));
}

TEST(RulesService, InstancesAndMovesKeepATracker) {
  MoveWorld moves;
  const DeleteService deletion{"h1", "berth-tracker"};
  ASSERT_EQ(moves.Answer(SetInstance{moves.On(1), std::nullopt}), "OK");
  EXPECT_EQ(moves.Answer(deletion), "SERVICE_IN_USE instance");  // T-299
  InstanceRecord record = *moves.Instance();
  record.vm_state = "deleted";
  ASSERT_EQ(moves.Answer(SetInstance{record, record.generation}), "OK");
  ASSERT_EQ(moves.Answer(CreateMigration{moves.Move(MigrationType::kLive, 1, 2)}), "OK");
  EXPECT_EQ(moves.Answer(deletion), "SERVICE_IN_USE migration");  // T-299
  EXPECT_EQ(moves.Answer(DeleteService{"h2", "berth-tracker"}),
            "SERVICE_IN_USE migration");  // T-299
  moves.SetStatus("error");
  EXPECT_EQ(moves.Answer(deletion), "OK");  // T-299: not in progress; a deleted instance is none
}

// A process that lost its connection before its service was deleted does not create it again when it
// connects. A new process does.
TEST(RulesService, ADeletedServiceDoesNotComeBackByItself) {
  FleetWorld fleet;
  fleet.Register("h1", 1, "machine-a");
  RegisterService again{"h1", "berth-tracker", FleetWorld::Process(1), "machine-a", "", Uuid{5, 7}};
  again.registered_id = fleet.service("h1").id;
  EXPECT_EQ(fleet.Answer(again), "OK");  // T-384: the record is there
  EXPECT_EQ(fleet.Answer(DeleteService{"h1", "berth-tracker"}), "OK");
  EXPECT_EQ(fleet.Answer(again), "SERVICE_NOT_REGISTERED");  // T-299, T-384
  RegisterService restarted = again;
  restarted.incarnation = FleetWorld::Process(2);
  restarted.registered_id.reset();
  EXPECT_EQ(fleet.Answer(restarted), "OK");                  // T-299: until it is restarted
  EXPECT_EQ(fleet.service("h1").id, (Uuid{5, 7}));           // T-299: a new record
  EXPECT_EQ(fleet.Answer(again), "SERVICE_NOT_REGISTERED");  // T-11, T-384: another record
}

// A restored database has lost the record: nobody deleted it, so the process makes it again.
TEST(RulesService, ALostServiceComesBack) {
  State state;
  Position position;
  position.revision = {1, 10};
  state.set_position(position);
  position.revision = {2, 5};
  position.epoch_began_at = 5;
  state.set_position(position);
  RegisterService again{"h1", "berth-tracker", Uuid{4, 1}, "machine-a", "", Uuid{5, 7}};
  again.registered_id = Uuid{5, 1};
  again.registered_at = {1, 8};
  RuleContext context;
  EXPECT_TRUE(Decide(state, again, context).ok());  // T-384
  again.registered_at = {1, 4};
  EXPECT_FALSE(Decide(state, again, context).ok());  // T-384: it was kept, and deleted later
}

}  // namespace
}  // namespace berth::placement
