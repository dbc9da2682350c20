// Whether the checker of group_kill_test finds what is wrong, in small histories.
#include "tests/fault/groups/group_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kGroup[] = "group";        // anti-affinity, a host for each member
constexpr char kPairs[] = "pairs";        // anti-affinity, two members on a host at most
constexpr char kTogether[] = "together";  // affinity
constexpr char kPolicy[] = "SERVER_GROUP_POLICY_VIOLATED";
constexpr char kCapacity[] = "CAPACITY_EXCEEDED";
constexpr char kNothing[] = "NO_CANDIDATE";

// Two hosts with room for three members each, and three groups. That is revision 10; each further
// command is a revision, or is in the same revision as the one before it.
class GroupHistoryTest : public ::testing::Test {
 protected:
  GroupHistoryTest() {
    for (const char* const host : {"a", "b"}) {
      pb::Node& node = *Add()->mutable_present()->mutable_node();
      node.set_uuid(absl::StrCat("node of ", host));
      node.set_host(host);
    }
    AddGroup(kGroup)->set_policy(pb::SERVER_GROUP_POLICY_ANTI_AFFINITY);
    pb::ServerGroup* const pairs = AddGroup(kPairs);
    pairs->set_policy(pb::SERVER_GROUP_POLICY_ANTI_AFFINITY);
    pairs->set_max_server_per_host(2);
    AddGroup(kTogether)->set_policy(pb::SERVER_GROUP_POLICY_AFFINITY);
  }

  // The instance holds one VCPU on the host, as a member unless `group` is empty. All commands return
  // their revision.
  int64_t Claim(const std::string& instance, const std::string& host,
                const std::string& group = kGroup) {
    Begin();
    AddHeld(instance, host);
    pb::Instance& record = *Add()->mutable_present()->mutable_instance();
    record.set_uuid(instance);
    record.set_group_uuid(group);
    return revisions_.back().number;
  }
  int64_t Release(const std::string& instance) {
    Begin();
    for (const pb::EntityKind kind : {pb::ENTITY_KIND_CONSUMER, pb::ENTITY_KIND_INSTANCE}) {
      pb::EntityKey& key = *Add()->mutable_removed();
      key.set_kind(kind);
      key.set_key(instance);
    }
    return revisions_.back().number;
  }
  // A move that has begun; then its consumer holds the source, and the instance the destination.
  int64_t BeginMove(const std::string& instance, const std::string& from, const std::string& to) {
    Begin();
    AddMove(instance, "migrating", from, to);
    return revisions_.back().number;
  }
  int64_t SwapHeld(const std::string& instance, const std::string& from, const std::string& to) {
    Begin();
    AddHeld("move of " + instance, from);
    AddHeld(instance, to);
    return revisions_.back().number;
  }
  // After an error the consumer of the move holds what it held.
  int64_t EndMove(const std::string& instance, const std::string& status, const std::string& from,
                  const std::string& to) {
    Begin();
    AddMove(instance, status, from, to);
    if (status != "error") {
      pb::EntityKey& key = *Add()->mutable_removed();
      key.set_kind(pb::ENTITY_KIND_CONSUMER);
      key.set_key("move of " + instance);
    }
    return revisions_.back().number;
  }
  void Refuse(const char* reason, const std::string& instance, std::optional<std::string> host,
              int64_t from, int64_t to) {
    refusals_.push_back({"a write", reason, instance, kGroup, std::move(host), from, to});
  }
  std::vector<std::string> Faults() {
    history_.Check(revisions_, refusals_);
    return history_.faults();
  }

  GroupHistory history_{3};
  bool is_same_revision_ = false;  // the next commands are in the revision that is the newest now

 private:
  void Begin() {
    ++commands_;
    if (!is_same_revision_) revisions_.push_back({revisions_.back().number + 1, {}});
  }
  pb::Change* Add() {
    pb::Change& change = revisions_.back().changes.emplace_back();
    change.set_request_id(absl::StrCat(commands_));
    return &change;
  }
  pb::ServerGroup* AddGroup(const char* uuid) {
    pb::ServerGroup* const group = Add()->mutable_present()->mutable_server_group();
    group->set_uuid(uuid);
    return group;
  }
  void AddMove(const std::string& instance, const std::string& status, const std::string& from,
               const std::string& to) {
    pb::Migration& move = *Add()->mutable_present()->mutable_migration();
    move.set_uuid("move of " + instance);
    move.set_instance_uuid(instance);
    move.set_status(status);
    move.set_source_host(from);
    move.set_destination_host(to);
  }
  void AddHeld(const std::string& by, const std::string& host) {
    pb::Consumer& consumer = *Add()->mutable_present()->mutable_consumer();
    consumer.set_uuid(by);
    pb::ProviderAllocation& row = *consumer.add_allocations();
    row.set_provider_uuid("node of " + host);
    (*row.mutable_resources())["VCPU"] = 1;
  }

  int commands_ = 0;
  std::vector<RecordedRevision> revisions_{{10, {}}};
  std::vector<GroupRefusal> refusals_;
};

TEST_F(GroupHistoryTest, AGroupThatIsKeptIsNoFault) {
  Claim("one", "a");
  Claim("two", "b");
  Claim("other", "a", "");
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_THAT(history_.hosts_ever(),
              ElementsAre(Pair("one", ElementsAre("a")), Pair("two", ElementsAre("b"))));
  EXPECT_EQ(history_.arrivals(), 2);
  EXPECT_EQ(history_.members_placed(), 2);
  EXPECT_EQ(history_.MembersOf(kGroup).size(), 2U);
}

TEST_F(GroupHistoryTest, ASecondMemberOnAHostIsAFault) {
  Claim("one", "a");
  const int64_t broken = Claim("two", "a");
  BeginMove("two", "a", "b");  // where a member is already is not compared again
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(absl::StrCat("broken at revision ", broken, " "))));
}

TEST_F(GroupHistoryTest, TheMaximumIsThatOfTheGroup) {
  Claim("one", "a", kPairs);
  Claim("two", "a", kPairs);
  const int64_t broken = Claim("three", "a", kPairs);
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(absl::StrCat("broken at revision ", broken, " "))));
}

TEST_F(GroupHistoryTest, WithAffinityAnotherHostIsAFault) {
  Claim("one", "a", kTogether);
  Claim("two", "a", kTogether);
  const int64_t broken = Claim("three", "b", kTogether);
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(absl::StrCat("broken at revision ", broken, " "))));
}

TEST_F(GroupHistoryTest, WithAffinityNobodyJoinsWhoMoves) {
  Claim("one", "a", kTogether);
  BeginMove("one", "a", "b");
  const int64_t broken = Claim("two", "b", kTogether);
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(absl::StrCat("broken at revision ", broken, " "))));
}

TEST_F(GroupHistoryTest, WhoMovesIsOnBothHosts) {
  Claim("one", "a");
  BeginMove("one", "a", "b");
  SwapHeld("one", "a", "b");
  const int64_t source = Claim("two", "a");
  const int64_t destination = Claim("three", "b");
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(absl::StrCat("broken at revision ", source, " ")),
                                    HasSubstr(absl::StrCat("broken at revision ", destination))));
}

TEST_F(GroupHistoryTest, AMoveToAForbiddenHostIsAFault) {
  Claim("one", "a");
  Claim("two", "b");
  const int64_t broken = BeginMove("one", "a", "b");
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(absl::StrCat("broken at revision ", broken, " "))));
}

TEST_F(GroupHistoryTest, AfterAMoveTheSourceIsFree) {
  Claim("one", "a");
  BeginMove("one", "a", "b");
  SwapHeld("one", "a", "b");
  const int64_t moves = EndMove("one", "confirmed", "a", "b") - 1;
  const int64_t moved = Claim("two", "a") - 1;
  Refuse(kPolicy, "three", "a", moves, moves);
  Refuse(kPolicy, "three", "a", moved, moved);
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(absl::StrCat("between revisions ", moved, " and "))));
}

TEST_F(GroupHistoryTest, AfterAnErrorTheMoveIsWhereItHolds) {
  Claim("one", "a");
  BeginMove("one", "a", "b");
  SwapHeld("one", "a", "b");
  EndMove("one", "error", "a", "b");
  const int64_t broken = Claim("two", "a");
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(absl::StrCat("broken at revision ", broken, " "))));
}

TEST_F(GroupHistoryTest, TheCommandsOfARevisionAreComparedOneByOne) {
  const int64_t both = Claim("one", "a");
  is_same_revision_ = true;
  Claim("two", "a");
  Release("one");
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(absl::StrCat("broken at revision ", both, " "))));
}

TEST_F(GroupHistoryTest, ARefusalMayBeRightBetweenTheCommandsOfARevision) {
  const int64_t first = Claim("one", "a");
  Claim("two", "b");
  is_same_revision_ = true;
  Release("two");
  Refuse(kNothing, "three", std::nullopt, first, first + 1);
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_EQ(history_.always_right(), 0);
}

TEST_F(GroupHistoryTest, ARefusalIsComparedWithEachMomentBetweenCallAndAnswer) {
  const int64_t first = Claim("one", "a");
  const int64_t second = Claim("two", "b");
  const int64_t third = Release("two");
  Refuse(kNothing, "three", std::nullopt, second, second);  // right
  Refuse(kNothing, "three", std::nullopt, first, third);    // right in between
  EXPECT_THAT(Faults(), IsEmpty());
  EXPECT_EQ(history_.always_right(), 1);
}

TEST_F(GroupHistoryTest, ARefusalIsAFaultIfAHostWasFreeAllTheTime) {
  const int64_t first = Claim("one", "a");
  Claim("two", "b");
  const int64_t third = Release("two");
  Claim("two", "b");
  Refuse(kNothing, "three", std::nullopt, first, first);
  Refuse(kNothing, "three", "b", third, third);
  Refuse(kPolicy, "three", "b", third, third);
  const std::string at_first = absl::StrCat("between revisions ", first, " and ", first);
  const std::string at_third = absl::StrCat("between revisions ", third, " and ", third);
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(at_first), HasSubstr(at_third), HasSubstr(at_third)));
}

TEST_F(GroupHistoryTest, AHostWithoutRoomIsNotFree) {
  Claim("one", "a", "");
  Claim("two", "a", "");
  const int64_t full = Claim("three", "a", "");
  const int64_t free = Release("three");
  Refuse(kCapacity, "four", "a", full, full);
  Refuse(kNothing, "four", "a", full, full);
  Refuse(kCapacity, "four", "a", free, free);
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(absl::StrCat("between revisions ", free, " and "))));
}

TEST_F(GroupHistoryTest, TheReasonMustBeTheRightOne) {
  Claim("one", "b", "");
  Claim("two", "b", "");
  Claim("three", "b", "");
  const int64_t last = Claim("four", "a");
  Refuse(kPolicy, "five", "b", last, last);    // full, but the group allows it
  Refuse(kCapacity, "five", "a", last, last);  // the group forbids it, but there is room
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr(kPolicy), HasSubstr(kCapacity)));
}

TEST_F(GroupHistoryTest, NoPolicyForbidsWhereAMemberIs) {
  Claim("one", "a");
  const int64_t broken = Claim("two", "a");
  Refuse(kPolicy, "two", "a", broken, broken);
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("broken"), HasSubstr("in vain")));
}

TEST_F(GroupHistoryTest, WhatWasBeforeTheRecordJustifiesNothing) {
  Refuse(kNothing, "one", std::nullopt, 9, 10);
  Claim("one", "a");
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("in vain")));
}

}  // namespace
}  // namespace berth::fault
