// Claims of members of server groups at trackers, by schedulers that are late or wrong. A tracker
// knows no groups: placement compares the policy when the tracker writes the claim.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/e2e/scheduling/site.h"
#include "tests/e2e/stub_call.h"

namespace berth::e2e {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class LateClaims : public Site {
 protected:
  // A member that its scheduler has placed on the host.
  pb::Instance Placed(const Host& host, const std::string& group) {
    pb::Instance instance = NewInstance(FlavorOf(256), group);
    const client::Failure placed = Place(host, &instance);
    EXPECT_TRUE(placed.ok()) << InWords(placed);
    return instance;
  }
  // The same, and the tracker of the host has claimed it.
  pb::Instance Built(const Host& host, const std::string& group) {
    const pb::Instance instance = Placed(host, group);
    const grpc::Status claimed = ClaimOn(host, instance);
    EXPECT_TRUE(claimed.ok()) << claimed.error_message();
    return Read(instance);
  }

  // What instances and claims use on the host, in words.
  static std::string UseOf(const Host& host) {
    pb::NodeAccount account = AccountOf(host).account();
    // What is allocated counts until it is claimed, and is told when placement has told it.
    account.clear_used();
    account.clear_allocations();
    return account.DebugString();
  }

  // The tracker of the host must take no claim of the instance, and nothing may be different
  // afterwards. Returns why not.
  std::string ExpectRefused(const Host& host, const pb::Instance& instance) {
    const std::string before = UseOf(host);
    const std::vector<std::string> held = HeldBy(instance);
    const grpc::Status refused = ClaimOn(host, instance);
    EXPECT_FALSE(refused.ok());
    const pb::Instance now = Read(instance);
    EXPECT_TRUE(MessageDifferencer::Equals(now, instance)) << now.DebugString();
    EXPECT_EQ(HeldBy(instance), held);
    EXPECT_EQ(UseOf(host), before);
    // All that the host has left can be claimed.
    const tracker_pb::GetNodeViewResponse view = AccountOf(host);
    const int64_t memory_mib = view.facts().memory_mib();
    pb::Instance rest = NewInstance(FlavorOf(memory_mib - view.account().reserve().memory_mib() -
                                             view.account().instances().memory_mib()));
    EXPECT_TRUE(Place(host, FlavorOf(0, 1), &rest).ok());
    tracker_pb::Limits limits;
    limits.set_memory_mib(memory_mib);
    const grpc::Status claimed = ClaimOn(host, rest, &limits);
    EXPECT_TRUE(claimed.ok()) << claimed.error_message();
    Abort(host, rest);
    const std::vector<std::string> reasons = Reasons(refused);
    return reasons.empty() ? "" : absl::StrCat(reasons[0], ": ", refused.error_message());
  }

  // An instance whose build on `from` was aborted, after a move to `to` had failed. It holds its
  // allocations on `from`.
  pb::Instance Unbuilt(const Host& from, const Host& to, const std::string& group) {
    const pb::Instance placed = Placed(from, group);
    const grpc::Status claimed = ClaimOn(from, placed);
    EXPECT_TRUE(claimed.ok()) << claimed.error_message();
    FailMove(placed, from, to);
    Abort(from, placed);
    return Read(placed);
  }
  void FailMove(const pb::Instance& instance, const Host& from, const Host& to) {
    pb::CreateMigrationRequest create;
    pb::Migration& migration = *create.mutable_migration();
    migration.set_uuid(placement::Uuid::Random().ToString());
    migration.set_instance_uuid(instance.uuid());
    migration.set_type(pb::MIGRATION_TYPE_COLD);
    migration.set_source_host(from.name);
    migration.set_source_node_uuid(from.node);
    migration.set_destination_host(to.name);
    migration.set_destination_node_uuid(to.node);
    const pb::Migration made = MustCall<pb::InstanceService>(
                                   channel(), &pb::InstanceService::Stub::CreateMigration, create)
                                   .migration();
    pb::UpdateMigrationRequest fail;
    fail.set_migration_uuid(made.uuid());
    fail.set_expected_status(made.status());
    fail.set_status("error");
    MustCall<pb::InstanceService>(channel(), &pb::InstanceService::Stub::UpdateMigration, fail);
  }
};

// A tracker may write a claim on its host after a move to there has failed. Meanwhile another member
// was placed on the host.
TEST_F(LateClaims, ThatBreakAGroupAreRefusedWhenTheTrackerWrites) {
  const Host& first = *AddHost("h1", 4096);
  const Host& second = *AddHost("h2", 4096);
  const std::string group = NewGroup(pb::SERVER_GROUP_POLICY_ANTI_AFFINITY);
  const pb::Instance late = Unbuilt(second, first, group);
  Built(first, group);
  EXPECT_THAT(ExpectRefused(first, late),
              StartsWith("SERVER_GROUP_POLICY_VIOLATED"));  // T-320, T-321
  // Nothing but the group was in the way.
  const pb::Instance free = Unbuilt(second, first, "");
  const grpc::Status claimed = ClaimOn(first, free);
  EXPECT_TRUE(claimed.ok()) << claimed.error_message();
}

// The scheduler of `late` was so slow that an operator gave its place back, and another one placed
// a member there.
TEST_F(LateClaims, OfAPlaceThatWasGivenBackAreRefused) {
  const Host& host = *AddHost("h1", 4096);
  const Host& elsewhere = *AddHost("h2", 4096);
  const std::string group = NewGroup(pb::SERVER_GROUP_POLICY_ANTI_AFFINITY);
  const pb::Instance late = Placed(host, group);
  Release(late);
  Built(host, group);
  EXPECT_THAT(ExpectRefused(host, late), HasSubstr("it holds nothing on this host"));  // T-386
  pb::Instance again = NewInstance(FlavorOf(256), group);
  EXPECT_EQ(Place(host, &again).reason, "NO_CANDIDATE");  // T-320
  EXPECT_EQ(Read(Built(elsewhere, group)).host(), "h2");
}

// It got one host, and claims on the other one.
TEST_F(LateClaims, OnAWrongHostAreRefused) {
  const Host& first = *AddHost("h1", 4096);
  const Host& second = *AddHost("h2", 4096);
  const std::string apart = NewGroup(pb::SERVER_GROUP_POLICY_ANTI_AFFINITY);
  const std::string together = NewGroup(pb::SERVER_GROUP_POLICY_AFFINITY);
  for (const std::string& group : {apart, together}) Built(first, group);
  const pb::Instance distant = Placed(second, apart);
  ExpectRefused(first, distant);  // T-386
  const pb::Instance near = Placed(first, together);
  ExpectRefused(second, near);  // T-386
  for (const auto& [host, instance] : {std::pair(&second, distant), std::pair(&first, near)}) {
    const grpc::Status claimed = ClaimOn(*host, instance);
    EXPECT_TRUE(claimed.ok()) << claimed.error_message();
  }
}

// Two schedulers choose at once, and each claims at the tracker of its host.
TEST_F(LateClaims, OfTwoSchedulersAtOncePassForOneOnly) {
  const Host& first = *AddHost("h1", 4096);
  const Host& second = *AddHost("h2", 4096);
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    const bool apart = round % 2 == 0;
    const std::string group =
        NewGroup(apart ? pb::SERVER_GROUP_POLICY_ANTI_AFFINITY : pb::SERVER_GROUP_POLICY_AFFINITY);
    const Host* const hosts[2] = {&first, apart ? &first : &second};
    pb::Instance members[2] = {NewInstance(FlavorOf(64), group), NewInstance(FlavorOf(64), group)};
    std::string ends[2];
    const auto schedule = [&](int i) {
      const client::Failure placed = Place(*hosts[i], &members[i]);
      ends[i] = placed.ok() ? ClaimOn(*hosts[i], members[i]).error_message() : placed.reason;
      if (placed.ok() && ends[i].empty()) ends[i] = "built";
    };
    std::thread other([&] { schedule(1); });
    schedule(0);
    other.join();
    EXPECT_THAT(ends, UnorderedElementsAre("built", "NO_CANDIDATE"));  // T-321
    for (int i = 0; i < 2; ++i) {
      if (ends[i] != "built") continue;
      Abort(*hosts[i], members[i]);
      Release(members[i]);
    }
  }
}

}  // namespace
}  // namespace berth::e2e
