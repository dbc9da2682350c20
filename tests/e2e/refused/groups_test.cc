// Server groups that are none, and members that a group does not take: refused with the entities at
// fault (T-320).
#include <optional>
#include <string>
#include <vector>

#include "berth/placement/v1/fleet.pb.h"
#include "berth/placement/v1/instance.pb.h"
#include "berth/placement/v1/server_group.pb.h"
#include "tests/e2e/refused/refused.h"

namespace berth::e2e {
namespace {

class RefusedGroups : public RefusedTest {
 protected:
  static pb::SetServerGroupRequest GroupOf(int policy, std::optional<int32_t> max = std::nullopt) {
    pb::SetServerGroupRequest request;
    pb::ServerGroup& group = *request.mutable_group();
    group.set_uuid(Random());
    group.set_project_id("p");
    group.set_user_id("u");
    group.set_policy(static_cast<pb::ServerGroupPolicy>(policy));
    if (max) group.set_max_server_per_host(*max);
    return request;
  }
  static pb::ServerGroup Make(const pb::SetServerGroupRequest& request) {
    pb::SetServerGroupResponse response;
    Do("ServerGroupService/SetServerGroup", request, &response);
    return response.group();
  }
  static std::string Set(const pb::SetServerGroupRequest& request) {
    return Told<pb::SetServerGroupResponse>("ServerGroupService/SetServerGroup", request);
  }

  // A host with one node, which has 8 VCPU. Its name is the uuid of the node.
  static std::string NewNode() {
    const pb::Provider root = Read(NewHost().first);
    pb::CreateNodeRequest request;
    request.set_node_uuid(root.uuid());
    request.set_name(root.name());
    request.set_host(root.uuid());
    pb::CreateNodeResponse response;
    Do("FleetService/CreateNode", request, &response);
    return root.uuid();
  }
  // The record of a member on the node. Empty: on none.
  static pb::Instance NewMember(const std::string& group, const std::string& node) {
    pb::SetInstanceRequest request;
    pb::Instance& instance = *request.mutable_instance();
    instance.set_uuid(Random());
    instance.set_project_id("p");
    instance.set_user_id("u");
    instance.set_vm_state("active");
    instance.mutable_flavor()->set_vcpus(1);
    instance.set_group_uuid(group);
    instance.set_host(node);
    instance.set_node_uuid(node);
    pb::SetInstanceResponse response;
    Do("InstanceService/SetInstance", request, &response);
    return response.instance();
  }
  static pb::SetInstanceRequest Moved(const pb::Instance& instance, const std::string& node) {
    pb::SetInstanceRequest request;
    *request.mutable_instance() = instance;
    request.mutable_instance()->set_host(node);
    request.mutable_instance()->set_node_uuid(node);
    request.set_expected_generation(instance.generation());
    return request;
  }
  static pb::CreateMigrationRequest MoveOf(const pb::Instance& instance, const std::string& node) {
    pb::CreateMigrationRequest request;
    pb::Migration& move = *request.mutable_migration();
    move.set_uuid(Random());
    move.set_instance_uuid(instance.uuid());
    move.set_type(pb::MIGRATION_TYPE_LIVE);
    move.set_source_host(instance.host());
    move.set_source_node_uuid(instance.node_uuid());
    move.set_destination_host(node);
    move.set_destination_node_uuid(node);
    return request;
  }
  static pb::SetAllocationsRequest ClaimBy(const pb::Instance& instance, const std::string& node) {
    pb::SetAllocationsRequest request = ClaimOn(node, 1);
    request.mutable_consumers(0)->set_consumer_uuid(instance.uuid());
    return request;
  }

  // Each way in which the instance would come to the node is refused, and nothing comes of it.
  static void ExpectItStays(const pb::Instance& instance, const std::string& node) {
    const std::string refusal =
        absl::StrCat("FAILED_PRECONDITION SERVER_GROUP_POLICY_VIOLATED host=", node,
                     " instance=", instance.uuid(), " server_group=", instance.group_uuid());
    EXPECT_EQ(Told<pb::SetInstanceResponse>("InstanceService/SetInstance", Moved(instance, node)),
              refusal);  // T-320
    EXPECT_EQ(Told<pb::CreateMigrationResponse>("InstanceService/CreateMigration",
                                                MoveOf(instance, node)),
              refusal);  // T-320
    EXPECT_EQ(Told<pb::SetAllocationsResponse>("AllocationService/SetAllocations",
                                               ClaimBy(instance, node)),
              refusal);  // T-320
    // A move whose destination is chosen later.
    pb::CreateMigrationRequest open = MoveOf(instance, "");
    pb::CreateMigrationResponse begun;
    Do("InstanceService/CreateMigration", open, &begun);
    pb::UpdateMigrationRequest choose;
    choose.set_migration_uuid(begun.migration().uuid());
    choose.set_expected_status(begun.migration().status());
    choose.set_destination_host(node);
    choose.set_destination_node_uuid(node);
    EXPECT_EQ(Told<pb::UpdateMigrationResponse>("InstanceService/UpdateMigration", choose),
              refusal);  // T-320
    pb::SetAllocationsRequest claim = ClaimBy(instance, node);
    claim.mutable_consumers(0)->set_consumer_uuid(begun.migration().uuid());
    claim.mutable_consumers(0)->set_consumer_type("MIGRATION");
    EXPECT_EQ(Told<pb::SetAllocationsResponse>("AllocationService/SetAllocations", claim),
              refusal);  // T-320
  }
};

TEST_F(RefusedGroups, APolicyOrAMaximumThatIsNoneNamesItsField) {
  const std::string policy = "INVALID_ARGUMENT INVALID_FIELD field=group.policy";
  const std::string max = "INVALID_ARGUMENT INVALID_FIELD field=group.max_server_per_host";
  const struct {
    int policy;
    std::optional<int32_t> max;
    std::string told;
  } cases[] = {
      {pb::SERVER_GROUP_POLICY_UNSPECIFIED, {}, policy},
      {5, {}, policy},
      {-1, {}, policy},
      {pb::SERVER_GROUP_POLICY_ANTI_AFFINITY + 256, {}, policy},
      {5, 1, policy},
      {pb::SERVER_GROUP_POLICY_ANTI_AFFINITY, 0, max},
      {pb::SERVER_GROUP_POLICY_ANTI_AFFINITY, -1, max},
      {pb::SERVER_GROUP_POLICY_SOFT_ANTI_AFFINITY, 0, max},
      {pb::SERVER_GROUP_POLICY_AFFINITY, 0, max},
      {pb::SERVER_GROUP_POLICY_AFFINITY, 1, max},
      {pb::SERVER_GROUP_POLICY_SOFT_AFFINITY, 2, max},
  };
  const pb::ServerGroup there = Make(GroupOf(pb::SERVER_GROUP_POLICY_ANTI_AFFINITY, 3));
  for (const auto& one : cases) {
    SCOPED_TRACE(absl::StrCat(one.policy, " ", one.max.value_or(-99)));
    pb::SetServerGroupRequest request = GroupOf(one.policy, one.max);
    EXPECT_EQ(Set(request), one.told);
    request.mutable_group()->set_uuid(there.uuid());
    request.set_expected_generation(there.generation());
    EXPECT_EQ(Set(request), one.told);  // nor is the group replaced
  }
  pb::ListServerGroupsResponse listed;
  Do("ServerGroupService/ListServerGroups", pb::ListServerGroupsRequest(), &listed);
  for (const pb::ServerGroup& group : listed.groups()) {
    EXPECT_EQ(group.DebugString(), there.DebugString());
  }
}

TEST_F(RefusedGroups, AMemberOfOneGroupIsNotTakenIntoAnother) {
  const std::string first = Make(GroupOf(pb::SERVER_GROUP_POLICY_SOFT_AFFINITY)).uuid();
  const std::string second = Make(GroupOf(pb::SERVER_GROUP_POLICY_SOFT_AFFINITY)).uuid();
  const std::string free = NewMember("", "").uuid();
  const std::string taken = NewMember(first, "").uuid();
  pb::UpdateServerGroupMembersRequest join;
  const auto told = [&join] {
    return Told<pb::UpdateServerGroupMembersResponse>("ServerGroupService/UpdateServerGroupMembers",
                                                      join);
  };
  join.set_group_uuid(second);
  join.add_add_instance_uuids(free);
  join.add_add_instance_uuids(taken);
  EXPECT_EQ(told(),
            absl::StrCat("FAILED_PRECONDITION OTHER_SERVER_GROUP ",
                         "field=add_instance_uuids[1] instance=", taken, " server_group=", first));
  join.set_add_instance_uuids(1, free);
  EXPECT_EQ(told(), "INVALID_ARGUMENT DUPLICATE_PARAMETER field=add_instance_uuids[1]");
  join.mutable_add_instance_uuids()->RemoveLast();
  join.add_remove_instance_uuids(free);
  EXPECT_EQ(told(), "INVALID_ARGUMENT DUPLICATE_PARAMETER field=remove_instance_uuids[0]");
  join.clear_remove_instance_uuids();
  EXPECT_EQ(told(), "OK");
  pb::GetServerGroupRequest get;
  pb::GetServerGroupResponse got;
  for (const auto& [group, member] : {std::pair(first, taken), std::pair(second, free)}) {
    get.set_group_uuid(group);
    Do("ServerGroupService/GetServerGroup", get, &got);
    ASSERT_EQ(got.members_size(), 1);
    EXPECT_EQ(got.members(0).instance_uuid(), member);
  }
}

TEST_F(RefusedGroups, AMemberDoesNotMoveToTheHostOfAnotherAgainstAntiAffinity) {
  const std::string group = Make(GroupOf(pb::SERVER_GROUP_POLICY_ANTI_AFFINITY)).uuid();
  const std::string first = NewNode(), second = NewNode();
  NewMember(group, first);
  ExpectItStays(NewMember(group, second), first);
}

TEST_F(RefusedGroups, AMemberDoesNotMoveAwayFromAnotherAgainstAffinity) {
  const std::string group = Make(GroupOf(pb::SERVER_GROUP_POLICY_AFFINITY)).uuid();
  const std::string first = NewNode(), second = NewNode();
  NewMember(group, first);
  ExpectItStays(NewMember(group, first), second);
}

// The members are where they are, and it is the policy that would come.
TEST_F(RefusedGroups, APolicyThatTheMembersBreakIsNotSet) {
  pb::SetServerGroupRequest request = GroupOf(pb::SERVER_GROUP_POLICY_ANTI_AFFINITY, 2);
  const pb::ServerGroup group = Make(request);
  const std::string node = NewNode();
  std::vector<std::string> members;
  for (int i = 0; i < 2; ++i) members.push_back(NewMember(group.uuid(), node).uuid());
  request.set_expected_generation(group.generation());
  request.mutable_group()->set_max_server_per_host(1);
  const std::string told = Set(request);
  EXPECT_TRUE(told == absl::StrCat("FAILED_PRECONDITION SERVER_GROUP_POLICY_VIOLATED host=", node,
                                   " instance=", std::min(members[0], members[1]),
                                   " server_group=", group.uuid()))
      << told;  // T-320
}

}  // namespace
}  // namespace berth::e2e
