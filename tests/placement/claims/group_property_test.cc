// Random commands over a small world with server groups. After each command that is compared, no
// member is on a further host that its policy forbids; each refusal of the policy is right; and no
// claim that leaves the host to placement is refused while trying everything finds an allowed one
// (T-320). BERTH_SEED repeats a run, BERTH_ROUNDS lengthens it.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/placement/claims/group_commands.h"
#include "tests/placement/claims/group_model.h"
#include "tests/worlds/brute_force.h"
#include "tests/worlds/claim_notation.h"

namespace berth::placement {
namespace {

constexpr int kCommands = 80;       // in each world
constexpr int kCommandsBehind = 6;  // how old a state may be in which choices were found

// The same world, in which no group forbids anything.
World Softened(World world) {
  std::vector<ServerGroupPtr> groups;
  world.state().records().groups().ForEach(
      [&](ServerGroupId, const ServerGroupPtr& group) { groups.push_back(group); });
  for (const ServerGroupPtr& group : groups) {
    ServerGroup soft = *group;
    soft.policy = IsAntiAffinity(group->policy) ? ServerGroupPolicy::kSoftAntiAffinity
                                                : ServerGroupPolicy::kSoftAffinity;
    world.Must(SetServerGroup{soft, group->generation});
  }
  return world;
}

void Hold(World& world, const ClaimMember& member, const PlainCandidate& candidate) {
  ConsumerAllocations wanted{member.consumer, std::nullopt, member.project, "user", "INSTANCE", {}};
  for (const auto& [key, amount] : candidate.allocations) {
    if (wanted.allocations.empty() || wanted.allocations.back().provider != key.first) {
      wanted.allocations.push_back({key.first, {}});
    }
    wanted.allocations.back().amounts.push_back({key.second, amount});
  }
  world.Must(SetAllocations{{wanted}, false});
}

// Where claims find a place, by trying everything, member by member (P-176, T-320).
class Placing {
 public:
  Placing(const World& before, const PlaceClaims& claims)
      : before_(before), claims_(claims), begin_(Softened(before)) {
    for (const ClaimMember& member : claims.members) {
      if (member.expected_generation) begin_.Must(DeleteAllocations{member.consumer, std::nullopt});
      if (member.instance != nullptr) begin_.Must(SetInstance{*member.instance, std::nullopt});
    }
  }

  bool Succeeds() const {
    if (claims_.affinity != MemberAffinity::kSameRoot) return SucceedsUnder(std::nullopt);
    for (const auto& [root, candidates] : AllByRoot(begin_.state(), claims_.members[0].query)) {
      const bool is_node = before_.state().nodes().Find(root) != nullptr;
      if ((is_node || !AreTooManyForOneHost()) && SucceedsUnder(root)) return true;
    }
    return false;
  }

 private:
  bool SucceedsUnder(std::optional<ProviderId> only) const {
    World world = begin_;
    std::set<ProviderId> used;
    for (const ClaimMember& member : claims_.members) {
      BruteOptions options;
      options.first_only = true;
      options.only = only;
      CandidatesByRoot all = AllByRoot(world.state(), member.query, options);
      if (claims_.affinity == MemberAffinity::kDifferentRoots) {
        for (const ProviderId root : used) all.erase(root);
      }
      const std::optional<ProviderId> taken = TakeFirst(all, member, &world);
      if (!taken) return false;
      used.insert(*taken);
    }
    return true;
  }
  std::optional<ProviderId> TakeFirst(const CandidatesByRoot& all, const ClaimMember& member,
                                      World* world) const {
    for (const auto& [root, candidates] : all) {
      if (!MayBelow(root, member, world->state())) continue;
      World tried = *world;
      Hold(tried, member, *candidates.begin());
      if (!GroupModel(before_.state()).NewFaults(before_.state(), tried.state()).empty()) continue;
      *world = std::move(tried);
      return root;
    }
    return std::nullopt;
  }

  // The instance for which the consumer of the member holds.
  InstanceId InstanceOf(const ClaimMember& member) const {
    const MigrationPtr move =
        before_.state().records().FindMigration(MigrationId{member.consumer.uuid});
    return move == nullptr ? InstanceId{member.consumer.uuid} : move->instance;
  }
  // By affinity only the nodes of the host of the others are searched, even for what says nothing
  // about the host.
  bool MayBelow(ProviderId root, const ClaimMember& member, const State& now) const {
    const InstanceId id = InstanceOf(member);
    const GroupModel model(before_.state());
    if (!model.IsTogether(now, id)) return true;
    const NodeRecordPtr* const node = now.nodes().Find(root);
    return node != nullptr && (!model.Forbids(now, id, (*node)->host) ||
                               GroupModel::HostsOf(before_.state(), id).contains((*node)->host));
  }
  // Whether a group with anti-affinity does not allow all its members of the claims on one host.
  // Then nothing is searched for them that says nothing about the host.
  bool AreTooManyForOneHost() const {
    std::map<ServerGroupId, int64_t> together;
    for (const ClaimMember& member : claims_.members) {
      const InstanceId id = InstanceOf(member);
      const auto group = GroupModel::GroupOf(begin_.state(), id);
      const ServerGroupPtr found =
          group ? FindGroup(before_.state().records(), *group) : ServerGroupPtr();
      if (found == nullptr || found->policy != ServerGroupPolicy::kAntiAffinity) continue;
      if (++together[*group] > found->max_server_per_host.value_or(1)) return true;
    }
    return false;
  }

  const World& before_;
  const PlaceClaims& claims_;
  World begin_;  // without groups that forbid, and without what the members hold
};

// For messages: the members of the claims, and where the members of all groups are.
std::string TextOf(const State& state, const PlaceClaims& claims) {
  std::string text = absl::StrCat("\naffinity ", static_cast<int>(claims.affinity), "\n");
  for (const ClaimMember& member : claims.members) {
    absl::StrAppend(&text, "claims for ", member.consumer.ToString());
    for (const NamedAmount& each : member.query.groups[0].resources) {
      absl::StrAppend(&text, " ", each.resource_class, ":", each.amount);
    }
    const auto in_tree = member.query.groups[0].in_tree;
    absl::StrAppend(&text, " in ", in_tree ? in_tree->ToString() : "any tree", "\n");
  }
  state.records().groups().ForEach([&](ServerGroupId id, const ServerGroupPtr& group) {
    absl::StrAppend(&text, id.ToString(), " policy ", static_cast<int>(group->policy), " max ",
                    group->max_server_per_host.value_or(1), "\n");
  });
  state.records().instances().ForEach([&](InstanceId id, const InstancePtr& record) {
    absl::StrAppend(&text, id.ToString(), record->group ? " in " + record->group->ToString() : "",
                    " on ", absl::StrJoin(GroupModel::HostsOf(state, id), ","), "; record ",
                    record->host, " ", record->vm_state, "\n");
  });
  state.records().migrations().ForEach([&](MigrationId id, const MigrationPtr& move) {
    absl::StrAppend(&text, "move ", id.ToString(), " of ", move->instance.ToString(), " ",
                    move->status, " ", move->source_host, " ", move->destination_host, "\n");
  });
  return text;
}

bool IsCompared(const CommandBody& body) {
  return !std::holds_alternative<MoveNode>(body) && !std::holds_alternative<DeleteInstance>(body) &&
         !std::holds_alternative<SetServerGroup>(body);
}

class Story {
 public:
  explicit Story(uint64_t seed) : commands_(seed), older_(commands_.world()) {}

  void Step(std::map<std::string, int>* seen) {
    CommandBody body = commands_.Draw();
    if (auto* claims = std::get_if<PlaceClaims>(&body)) Choose(claims);
    const World before = commands_.world();
    const absl::StatusOr<Outcome> outcome = commands_.world().Do(body);
    const std::string reason = ReasonOf(outcome.status());
    ++(*seen)[absl::StrCat(body.index(), " ", reason)];
    if (outcome.ok()) {
      ExpectNoFault(before, body);
    } else if (reason == "SERVER_GROUP_POLICY_VIOLATED") {
      ExpectFault(before, body, outcome.status());
    } else if (reason == "NO_CANDIDATE") {
      const auto& claims = std::get<PlaceClaims>(body);
      EXPECT_FALSE(Placing(before, claims).Succeeds())
          << outcome.status() << TextOf(before.state(), claims);  // T-320
    } else {
      EXPECT_NE(reason, "SEARCH_BUDGET_EXCEEDED");
    }
    if (commands_.dice().Roll(kCommandsBehind) == 0) older_ = commands_.world();
  }

  std::string Text() { return commands_.world().Text(); }

 private:
  // The choices may be those of an older state.
  void Choose(PlaceClaims* claims) {
    const int roll = commands_.dice().Roll(3);
    if (roll == 0) return;
    const World& where = roll == 1 ? commands_.world() : older_;
    FindChoices(where.state(), {}, claims).IgnoreError();
  }

  void ExpectNoFault(const World& before, const CommandBody& body) {
    const State& after = commands_.world().state();
    const GroupModel model(after);
    if (const auto* set = std::get_if<SetServerGroup>(&body)) {
      const ServerGroupPtr had = FindGroup(before.state().records(), set->group.id);
      const bool changes = had != nullptr && (had->policy != set->group.policy ||
                                              had->max_server_per_host.value_or(1) !=
                                                  set->group.max_server_per_host.value_or(1));
      if (!changes) return;
      EXPECT_EQ(absl::StrJoin(model.FaultsOf(after, set->group.id), ", "), "");  // T-320
    } else if (IsCompared(body)) {
      EXPECT_EQ(absl::StrJoin(model.NewFaults(before.state(), after), ", "), "");  // T-320
    }
  }

  // The policy alone stands in the way, and it does.
  static void ExpectFault(const World& before, const CommandBody& body,
                          const absl::Status& status) {
    EXPECT_FALSE(std::holds_alternative<PlaceClaims>(body)) << "it looked elsewhere: " << status;
    if (const auto* set = std::get_if<SetServerGroup>(&body)) {
      State after = before.state();
      ServerGroup group = set->group;
      group.generation = FindGroup(after.records(), group.id)->generation.Next();
      after.Apply({ServerGroupPut{std::make_shared<const ServerGroup>(group)}});
      EXPECT_FALSE(GroupModel(after).FaultsOf(after, group.id).empty()) << status;  // T-320
      return;
    }
    World free = Softened(before);
    const absl::StatusOr<Outcome> outcome = free.Do(body);
    EXPECT_TRUE(outcome.ok()) << outcome.status() << " comes before " << status;
    const GroupModel model(before.state());
    EXPECT_FALSE(model.NewFaults(before.state(), free.state()).empty()) << status;  // T-320
  }

  GroupCommands commands_;
  World older_;
};

TEST(GroupProperty, NoPolicyIsBrokenAndNoClaimIsRefusedInVain) {
  const uint64_t first = NumberFrom("BERTH_SEED", std::random_device()());
  const uint64_t rounds = NumberFrom("BERTH_ROUNDS", 400);
  std::printf("BERTH_SEED=%llu\n", static_cast<unsigned long long>(first));
  std::map<std::string, int> seen;
  for (uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed, " BERTH_ROUNDS=1"));
    Story story(seed);
    for (int i = 0; i < kCommands && !HasFailure(); ++i) story.Step(&seen);
    if (HasFailure()) ADD_FAILURE() << story.Text();
  }
  for (const auto& [what, count] : seen) std::printf("%6d %s\n", count, what.c_str());
}

}  // namespace
}  // namespace berth::placement
