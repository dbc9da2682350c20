// Server groups: where their policies allow members (T-320), for each kind of write.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/record.pb.h"
#include "placement/commands/group_tally.h"
#include "tests/placement/rules/cpus.h"
#include "tests/placement/rules/move_world.h"
#include "tests/worlds/claim_notation.h"

namespace berth::placement {
namespace {

// Three hosts with a node each, and instances, whose consumers have the same names.
class GroupWorld : public MoveWorld {
 public:
  static ServerGroupId Group(uint64_t number) { return ServerGroupId{Uuid{13, number}}; }
  InstanceId Named(const std::string& name) { return InstanceId{world().consumer(name).uuid}; }

  static ServerGroup GroupOf(ServerGroupPolicy policy, uint64_t number = 1) {
    ServerGroup group;
    group.id = Group(number);
    group.name = "web";
    group.project = "project";
    group.user = "user";
    group.policy = policy;
    return group;
  }
  std::string Make(ServerGroupPolicy policy, std::optional<int64_t> max = std::nullopt) {
    ServerGroup group = GroupOf(policy);
    group.max_server_per_host = max;
    const ServerGroupPtr before = FindGroup(world().state().records(), group.id);
    return Answer(SetServerGroup{group, before ? std::optional(before->generation) : std::nullopt});
  }

  // A record without a host, in the group; 0: in none.
  InstanceRecord Record(const std::string& name, uint64_t group = 1) {
    InstanceRecord record = On(0);
    record.id = Named(name);
    if (group > 0) record.group = Group(group);
    return record;
  }
  std::string Create(const std::string& name, uint64_t group = 1) {
    return Answer(SetInstance{Record(name, group), std::nullopt});
  }
  // Writes the record of the instance as `change` leaves it.
  template <typename Change>
  std::string Edit(const std::string& name, Change change) {
    InstanceRecord record = *world().state().records().FindInstance(Named(name));
    const Generation expected = record.generation;
    change(record);
    return Answer(SetInstance{record, expected});
  }
  std::string PutOn(const std::string& name, int host) {
    return Edit(name, [&](InstanceRecord& record) {
      record.host = host == 0 ? "" : absl::StrCat("h", host);
      record.node = On(host).node;
    });
  }
  std::string Allocate(const std::string& name, const std::string& notation) {
    return Answer(SetAllocations{{world().Claim(name, notation)}, false});
  }
  // Claims one VCPU, wherever there is one, for a new member.
  std::string Place(const std::vector<std::string>& names,
                    MemberAffinity affinity = MemberAffinity::kNone, uint64_t group = 1) {
    PlaceClaims claims = Claims(world(), names, "r VCPU:1", Strategy::kFirst, affinity);
    for (size_t i = 0; i < names.size(); ++i) {
      claims.members[i].instance = std::make_shared<const InstanceRecord>(Record(names[i], group));
    }
    return Answer(Chosen(world(), claims));
  }
  std::set<std::string> Hosts(const std::string& name) {
    const InstancePtr record = world().state().records().FindInstance(Named(name));
    return record == nullptr ? std::set<std::string>{"?"} : HostsOf(world().state(), *record);
  }
};

using HostSet = std::set<std::string>;
const char kBroken[] = "SERVER_GROUP_POLICY_VIOLATED instance server_group";
constexpr auto kAnti = ServerGroupPolicy::kAntiAffinity;
constexpr auto kTogether = ServerGroupPolicy::kAffinity;

TEST(RulesServerGroup, AFormThatIsWrongIsRefused) {
  GroupWorld world;
  const auto fault = [&](auto change) {
    ServerGroup group = GroupWorld::GroupOf(kAnti);
    change(group);
    return world.Answer(SetServerGroup{group, std::nullopt});
  };
  EXPECT_EQ(fault([](auto& g) { g.policy = ServerGroupPolicy{5}; }), "INVALID_FIELD group.policy");
  EXPECT_EQ(fault([](auto& g) { g.policy = ServerGroupPolicy{}; }), "INVALID_FIELD group.policy");
  const char* const max = "INVALID_FIELD group.max_server_per_host";
  EXPECT_EQ(fault([](auto& g) { g.max_server_per_host = 0; }), max);
  EXPECT_EQ(fault([](auto& g) { g.max_server_per_host = kAmountMax + 1; }), max);
  for (const auto policy : {kTogether, ServerGroupPolicy::kSoftAffinity}) {
    EXPECT_EQ(fault([&](auto& g) {
                g.policy = policy;
                g.max_server_per_host = 2;
              }),
              max);
  }
  EXPECT_EQ(fault([](auto& g) { g.project.clear(); }), "INVALID_FIELD group.project_id");
  EXPECT_EQ(fault([](auto& g) { g.user.clear(); }), "INVALID_FIELD group.user_id");
  EXPECT_EQ(fault([](auto& g) { g.name = std::string(256, 'n'); }), "INVALID_FIELD group.name");
  EXPECT_EQ(fault([](auto& g) { g.name = "a\nb"; }), "INVALID_FIELD group.name");
  EXPECT_EQ(fault([](auto& g) { g.name.clear(); }), "OK");
  EXPECT_EQ(fault([](auto&) {}), "RECORD_CONFLICT server_group");  // there is one now
}

TEST(RulesServerGroup, AnInstanceJoinsAGroupOfItsProject) {
  GroupWorld world;
  EXPECT_EQ(world.Create("a"), "SERVER_GROUP_NOT_FOUND group_uuid");
  ASSERT_EQ(world.Make(kAnti), "OK");
  InstanceRecord foreign = world.Record("a");
  foreign.project = "another";
  EXPECT_EQ(world.Answer(SetInstance{foreign, std::nullopt}), "FOREIGN_SERVER_GROUP group_uuid");
  ASSERT_EQ(world.Create("a"), "OK");
  ASSERT_EQ(world.Create("b", 0), "OK");
  const auto update = [&](std::vector<std::string> add, std::vector<std::string> remove,
                          uint64_t group = 1) {
    UpdateServerGroupMembers command{GroupWorld::Group(group), {}, {}};
    for (const auto& name : add) command.add.push_back(world.Named(name));
    for (const auto& name : remove) command.remove.push_back(world.Named(name));
    return world.Answer(command);
  };
  EXPECT_EQ(update({}, {}), "INVALID_FIELD add_instance_uuids");
  EXPECT_EQ(update({"b"}, {"b"}), "DUPLICATE_PARAMETER remove_instance_uuids[0]");
  EXPECT_EQ(update({"b"}, {}, 2), "SERVER_GROUP_NOT_FOUND group_uuid");
  EXPECT_EQ(update({"c"}, {}), "INSTANCE_NOT_FOUND add_instance_uuids[0]");
  EXPECT_EQ(update({"a", "b"}, {}), "OK");
  ASSERT_EQ(world.Answer(SetServerGroup{GroupWorld::GroupOf(kAnti, 2), std::nullopt}), "OK");
  EXPECT_EQ(update({"b"}, {}, 2), "OTHER_SERVER_GROUP add_instance_uuids[0]");
  const auto members = [&](uint64_t group) {
    return world.world().state().records().MembersOf(GroupWorld::Group(group)).size();
  };
  EXPECT_EQ(members(1), 2u);
  EXPECT_EQ(world.Answer(DeleteServerGroup{GroupWorld::Group(1), std::nullopt}),
            "SERVER_GROUP_IN_USE server_group");
  ServerGroup moved = GroupWorld::GroupOf(kAnti);
  moved.project = "another";
  EXPECT_EQ(world.Answer(SetServerGroup{
                moved, FindGroup(world.world().state().records(), moved.id)->generation}),
            "SERVER_GROUP_IN_USE server_group");
  EXPECT_EQ(update({}, {"b"}), "OK");
  // A deleted instance is no member, and its record may outlive the group.
  ASSERT_EQ(world.Edit("a", [](auto& record) { record.vm_state = "deleted"; }), "OK");
  EXPECT_EQ(members(1), 0u);
  EXPECT_EQ(world.Answer(DeleteServerGroup{GroupWorld::Group(1), std::nullopt}), "OK");
  EXPECT_EQ(world.Answer(DeleteServerGroup{GroupWorld::Group(1), std::nullopt}),
            "SERVER_GROUP_NOT_FOUND group_uuid");
  EXPECT_EQ(world.Edit("a", [](auto& record) { record.vm_state = "active"; }),
            "SERVER_GROUP_NOT_FOUND group_uuid");
}

TEST(RulesServerGroup, AMemberIsWhereItsRecordItsMovesAndItsAllocationsSay) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kAnti), "OK");
  ASSERT_EQ(world.Create("vm"), "OK");
  EXPECT_EQ(world.Hosts("vm"), HostSet());
  ASSERT_EQ(world.Allocate("vm", "n1-gpu{VGPU:1} pool{DISK_GB:1}"), "OK");
  EXPECT_EQ(world.Hosts("vm"),
            HostSet({"h1"}));  // T-320: visible before the tracker has claimed it
  ASSERT_EQ(world.PutOn("vm", 1), "OK");
  ASSERT_EQ(world.Answer(CreateMigration{world.Move(MigrationType::kLive, 1, 2)}), "OK");
  EXPECT_EQ(world.Hosts("vm"), HostSet({"h1", "h2"}));  // T-320
  const auto status = [&](const char* word) {
    return world.Answer(UpdateMigration{world.move(), world.Migration()->status, word, {}, {}});
  };
  ASSERT_EQ(status("error"), "OK");
  EXPECT_EQ(world.Hosts("vm"), HostSet({"h1"}));  // T-123: it is over
  ASSERT_EQ(world.Allocate("move", "n3{VCPU:1}"), "OK");
  EXPECT_EQ(world.Hosts("vm"), HostSet({"h1", "h3"}));
  ASSERT_EQ(world.Allocate("move", ""), "OK");
  ASSERT_EQ(world.Edit("vm", [](auto& record) { record.vm_state = "shelved_offloaded"; }), "OK");
  ASSERT_EQ(world.Allocate("vm", ""), "OK");
  EXPECT_EQ(world.Hosts("vm"), HostSet());  // T-112
  ASSERT_EQ(world.Edit("vm", [](auto& record) { record.task_state = "spawning"; }), "OK");
  EXPECT_EQ(world.Hosts("vm"), HostSet({"h1"}));
  ASSERT_EQ(world.Allocate("vm", "n1{VCPU:1}"), "OK");
  ASSERT_EQ(world.Edit("vm", [](auto& record) { record.vm_state = "deleted"; }), "OK");
  EXPECT_EQ(world.Hosts("vm"), HostSet());
}

TEST(RulesServerGroup, AntiAffinityHoldsForEachWriteThatPlaces) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kAnti), "OK");
  for (const char* name : {"a", "b"}) ASSERT_EQ(world.Create(name), "OK");
  ASSERT_EQ(world.Allocate("a", "n1{VCPU:1}"), "OK");
  EXPECT_EQ(world.Allocate("b", "n1-gpu{VGPU:1}"), kBroken);  // T-320
  EXPECT_EQ(world.PutOn("b", 1), kBroken);                    // T-320
  ASSERT_EQ(world.Allocate("b", "n2{VCPU:1}"), "OK");
  EXPECT_EQ(world.Answer(AdjustAllocations{world.world().consumer("b"),
                                           world.world().consumer_generation("b"),
                                           {{world.world().provider("n1"), {{"VCPU", 1}}}}}),
            kBroken);  // T-320
  ASSERT_EQ(world.PutOn("b", 2), "OK");
  MigrationRecord move = world.Move(MigrationType::kLive, 2, 1);
  move.instance = world.Named("b");
  EXPECT_EQ(world.Answer(CreateMigration{move}), kBroken);  // T-320
  move.destination_host.clear();
  move.destination_node.reset();
  ASSERT_EQ(world.Answer(CreateMigration{move}), "OK");
  EXPECT_EQ(world.Answer(UpdateMigration{world.move(), world.Migration()->status, "", "h1", {}}),
            kBroken);                                        // T-320
  EXPECT_EQ(world.Allocate("move", "n1{VCPU:1}"), kBroken);  // T-320
  ASSERT_EQ(world.Answer(UpdateMigration{world.move(), world.Migration()->status, "", "h3", {}}),
            "OK");
  ASSERT_EQ(world.Create("c"), "OK");
  EXPECT_EQ(world.Allocate("c", "n3{VCPU:1}"), kBroken);  // T-320: it may come there
  EXPECT_EQ(world.Allocate("c", "n2{VCPU:1}"), kBroken);  // and may come back
  // What is released never breaks it; what is there already is not judged.
  EXPECT_EQ(world.Allocate("a", "n1{VCPU:2}"), "OK");
  EXPECT_EQ(world.Edit("a", [](auto& record) { record.host = "h1"; }), "OK");
}

TEST(RulesServerGroup, AMaximumAllowsSeveralOnAHost) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kAnti, 2), "OK");
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(world.Create(name), "OK");
  ASSERT_EQ(world.Allocate("a", "n1{VCPU:1}"), "OK");
  ASSERT_EQ(world.Allocate("b", "n1{VCPU:1}"), "OK");
  EXPECT_EQ(world.Allocate("c", "n1{VCPU:1}"), kBroken);  // T-320
  // One command is judged as a whole.
  EXPECT_EQ(
      world.Answer(SetAllocations{
          {world.world().Claim("b", "n2{VCPU:1}"), world.world().Claim("c", "n1{VCPU:1}")}, false}),
      "OK");
  EXPECT_EQ(world.Make(kAnti), kBroken);  // the members break the new maximum
  EXPECT_EQ(world.Make(kTogether), kBroken);
  EXPECT_EQ(world.Make(ServerGroupPolicy::kSoftAffinity), "OK");
  EXPECT_EQ(world.Make(kAnti, 2), "OK");
}

TEST(RulesServerGroup, AffinityKeepsMembersOnOneHost) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kTogether), "OK");
  for (const char* name : {"vm", "b"}) ASSERT_EQ(world.Create(name), "OK");
  ASSERT_EQ(world.Allocate("vm", "n1{VCPU:1}"), "OK");
  ASSERT_EQ(world.PutOn("vm", 1), "OK");
  EXPECT_EQ(world.Allocate("b", "n2{VCPU:1}"), kBroken);  // T-320
  // While the only member moves, nobody joins it: the move may end on either side.
  ASSERT_EQ(world.Answer(CreateMigration{world.Move(MigrationType::kLive, 1, 2)}), "OK");
  EXPECT_EQ(world.Allocate("b", "n1{VCPU:1}"), kBroken);
  EXPECT_EQ(world.Allocate("b", "n2{VCPU:1}"), kBroken);
  ASSERT_EQ(world.Answer(UpdateMigration{world.move(), world.Migration()->status, "error", {}, {}}),
            "OK");
  ASSERT_EQ(world.Allocate("b", "n1{VCPU:1}"), "OK");
  MigrationRecord again = world.Move(MigrationType::kLive, 1, 2);
  again.id = MigrationId{Uuid{12, 9}};
  EXPECT_EQ(world.Answer(CreateMigration{again}), kBroken);  // the other one would stay behind
  ASSERT_EQ(world.Make(ServerGroupPolicy::kSoftAffinity), "OK");
  EXPECT_EQ(world.Answer(CreateMigration{again}), "OK");
}

// The tracker of h1 brings a guest back whose instance was deleted, and h1 has another member now.
TEST(RulesServerGroup, ATrackersWriteIsCompared) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kAnti), "OK");
  for (const char* name : {"vm", "b"}) ASSERT_EQ(world.Create(name), "OK");
  ASSERT_EQ(world.PutOn("vm", 1), "OK");
  ASSERT_EQ(world.Edit("vm", [](auto& record) { record.vm_state = "deleted"; }), "OK");
  const auto revive = [&] {
    auto written = std::make_shared<v1::Instance>(*CpuWrite("h1", world.On(1).node, ""));
    written->set_vm_state("active");
    return world.Answer(WriteRecords{GroupWorld::Tracker(1), *world.On(1).node, world.vm(),
                                     world.Instance()->generation, written, std::nullopt});
  };
  ASSERT_EQ(world.Allocate("b", "n1{VCPU:1}"), "OK");
  EXPECT_EQ(revive(), kBroken);  // T-320, T-321
  ASSERT_EQ(world.Allocate("b", "n2{VCPU:1}"), "OK");
  EXPECT_EQ(revive(), "OK");
  InstanceRecord left = *world.Instance();
  left.group.reset();
  EXPECT_EQ(world.Answer(SetInstance{left, world.Instance()->generation, GroupWorld::Tracker(1)}),
            "POLICY_DENIED instance");
}

TEST(RulesServerGroup, AClaimFindsAHostThatIsAllowed) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kAnti), "OK");
  EXPECT_EQ(world.Place({"a"}), "OK");
  EXPECT_EQ(world.Hosts("a"), HostSet({"h1"}));
  EXPECT_EQ(world.Place({"b", "c"}), "OK");  // T-320: the members of a command see each other
  EXPECT_EQ(world.Hosts("b"), HostSet({"h2"}));
  EXPECT_EQ(world.Hosts("c"), HostSet({"h3"}));
  EXPECT_EQ(world.Place({"d"}), "NO_CANDIDATE");
  EXPECT_EQ(world.Place({"d"}, MemberAffinity::kNone, 0), "OK");
  EXPECT_EQ(world.Hosts("d"), HostSet({"h1"}));
}

TEST(RulesServerGroup, AClaimFindsTheHostOfTheOthers) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kTogether), "OK");
  ASSERT_EQ(world.Create("a"), "OK");
  ASSERT_EQ(world.Allocate("a", "n2{VCPU:1}"), "OK");
  EXPECT_EQ(world.Place({"b", "c"}), "OK");
  EXPECT_EQ(world.Hosts("b"), HostSet({"h2"}));
  EXPECT_EQ(world.Hosts("c"), HostSet({"h2"}));
  EXPECT_EQ(world.Place({"d"}, MemberAffinity::kSameRoot), "OK");
  EXPECT_EQ(world.Hosts("d"), HostSet({"h2"}));
  ASSERT_EQ(world.Create("full", 0), "OK");
  ASSERT_EQ(world.Allocate("full", "n2{VCPU:4}"), "OK");
  EXPECT_EQ(world.Place({"e"}), "NO_CANDIDATE");
  EXPECT_EQ(world.Place({"e"}, MemberAffinity::kSameRoot), "NO_CANDIDATE");
}

TEST(RulesServerGroup, MembersUnderOneRootAreNotMoreThanTheMaximum) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kAnti, 2), "OK");
  EXPECT_EQ(world.Place({"a", "b", "c"}, MemberAffinity::kSameRoot), "NO_CANDIDATE");
  EXPECT_EQ(world.Place({"a", "b"}, MemberAffinity::kSameRoot), "OK");
  EXPECT_EQ(world.Hosts("a"), world.Hosts("b"));
  EXPECT_EQ(world.Place({"c", "d"}, MemberAffinity::kSameRoot), "OK");
  EXPECT_EQ(world.Hosts("c"), HostSet({"h2"}));
}

// The consumer of a migration holds for the instance that moves.
TEST(RulesServerGroup, AClaimForAMoveFindsAHostThatIsAllowed) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kAnti), "OK");
  for (const char* name : {"a", "vm"}) ASSERT_EQ(world.Create(name), "OK");
  ASSERT_EQ(world.Allocate("a", "n1{VCPU:1}"), "OK");
  ASSERT_EQ(world.PutOn("vm", 2), "OK");
  ASSERT_EQ(world.Answer(CreateMigration{world.Move(MigrationType::kCold, 2, 0)}), "OK");
  ASSERT_EQ(world.Allocate("vm", "n2{VCPU:8}"), "OK");
  EXPECT_EQ(world.Answer(Chosen(world.world(), Claims(world.world(), {"move"}, "r VCPU:1"))),
            "OK");  // T-320
  EXPECT_EQ(world.Hosts("vm"), HostSet({"h2", "h3"}));
}

// What the members hold before the command counts as free, and they are not there any more.
TEST(RulesServerGroup, MembersThatAreClaimedAnewMayGoTogether) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kTogether), "OK");
  for (const char* name : {"a", "b"}) {
    ASSERT_EQ(world.Create(name), "OK");
    ASSERT_EQ(world.Allocate(name, "n3{VCPU:1}"), "OK");
  }
  ASSERT_EQ(world.Allocate("other", "n3{VCPU:6}"), "OK");
  EXPECT_EQ(world.Answer(Chosen(world.world(), Claims(world.world(), {"a", "b"}, "r VCPU:2"))),
            "OK");
  EXPECT_EQ(world.Hosts("a"), HostSet({"h1"}));
  EXPECT_EQ(world.Hosts("b"), HostSet({"h1"}));
}

TEST(RulesServerGroup, ASearchThatGaveUpIsNotToldAsNoCandidate) {
  GroupWorld world;
  ASSERT_EQ(world.Make(kTogether), "OK");
  ASSERT_EQ(world.Create("a"), "OK");
  ASSERT_EQ(world.Allocate("a", "n2{VCPU:1}"), "OK");
  for (const auto affinity : {MemberAffinity::kNone, MemberAffinity::kSameRoot}) {
    PlaceClaims claims = Claims(world.world(), {"b"}, "r VCPU:1", Strategy::kFirst, affinity);
    claims.members[0].instance = std::make_shared<const InstanceRecord>(world.Record("b"));
    claims.search_gave_up = true;
    EXPECT_EQ(world.Answer(claims), "SEARCH_BUDGET_EXCEEDED");
  }
}

// A record names a host, but no root is a node's, so no claim is about a host.
TEST(RulesServerGroup, AFleetWithoutNodesFindsPlacesToo) {
  World world("r1{VCPU:2}");
  world.Must(SetServerGroup{GroupWorld::GroupOf(kTogether), std::nullopt});
  InstanceRecord record;
  record.project = "project";
  record.user = "user";
  record.vm_state = "active";
  record.group = GroupWorld::Group(1);
  record.id = InstanceId{world.consumer("a").uuid};
  record.host = "a host";
  world.Must(SetInstance{record, std::nullopt});
  record.id = InstanceId{world.consumer("b").uuid};
  record.host.clear();
  PlaceClaims claims = Claims(world, {"b"}, "r VCPU:1");
  claims.members[0].instance = std::make_shared<const InstanceRecord>(record);
  EXPECT_EQ(Place(world, claims), std::vector<std::string>({"r1"}));
}

TEST(RulesServerGroup, AGroupHasAtMostAThousandMembers) {
  GroupWorld world;
  ASSERT_EQ(world.Make(ServerGroupPolicy::kSoftAffinity), "OK");
  for (size_t i = 0; i < kServerGroupMembersMax; ++i) {
    ASSERT_EQ(world.Create(absl::StrCat("i", i)), "OK");
  }
  EXPECT_EQ(world.Create("one more"), "SERVER_GROUP_FULL server_group");
  ImportLedger import;
  import.instances.push_back({1, world.Record("one more"), {}});
  EXPECT_EQ(world.Answer(import), "SERVER_GROUP_FULL server_group");
  ASSERT_EQ(world.Edit("i0", [](auto& record) { record.vm_state = "deleted"; }), "OK");
  EXPECT_EQ(world.Create("one more"), "OK");
}

}  // namespace
}  // namespace berth::placement
