// ClaimSearch: its budget, which never turns "not found yet" into "there is none", the roots it
// tries, and choices that it may not take.
#include "placement/claims/search.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/worlds/claim_notation.h"
#include "tests/worlds/fleet_world.h"

namespace berth::placement {
namespace {

using Names = std::vector<std::string>;

// The roots that a search of so many steps finds, or the reason why there are none.
Names RootsIn(const World& world, const PlaceClaims& claims, int64_t steps_max) {
  ClaimSearch search(world.state(), claims, 1, steps_max);
  const absl::StatusOr<std::vector<Candidate>> placed = search.Place();
  if (!placed.ok()) return {ReasonOf(placed.status())};
  EXPECT_EQ(placed->size(), claims.members.size());
  Names names;
  for (const Candidate& candidate : *placed) {
    names.push_back(world.state().FindProvider(candidate.root)->config().name);
  }
  return names;
}

// Hosts with room for one, the last with room for two.
std::string HostsForOne(int count) {
  std::string notation;
  for (int i = 0; i < count; ++i) absl::StrAppend(&notation, "h", i, "{VCPU:4}\n");
  return absl::StrCat(notation, "last{VCPU:8}\n");
}

TEST(ClaimSearch, ABudgetNeverSaysThatThereIsNone) {
  struct Case {
    std::string world;
    const char* query;
    MemberAffinity affinity;
    Names expected;
  };
  using enum MemberAffinity;
  const Case cases[] = {
      {"a{VCPU:4}\nb{VCPU:8}\nc{VCPU:6}\n", "r VCPU:3", kSameRoot, {"b", "b"}},
      {HostsForOne(15), "r VCPU:3", kSameRoot, {"last", "last"}},
      {HostsForOne(16), "r VCPU:3", kSameRoot, {"last", "last"}},
      {HostsForOne(300), "r VCPU:3", kSameRoot, {"last", "last"}},
      {HostsForOne(3), "r VCPU:5", kSameRoot, {"NO_CANDIDATE"}},
      {HostsForOne(40), "r VCPU:3", kDifferentRoots, {"h0", "h1"}},
      {HostsForOne(2), "r VCPU:3", kNone, {"h0", "h1"}},
  };
  for (const Case& each : cases) {
    World world(each.world);
    for (const Strategy strategy : {Strategy::kFirst, Strategy::kPack}) {
      const PlaceClaims claims = Claims(world, {"c1", "c2"}, each.query, strategy, each.affinity);
      Names found = {"SEARCH_BUDGET_EXCEEDED"};
      int64_t steps = 0;
      for (; steps < 1'000'000 && found[0] == "SEARCH_BUDGET_EXCEEDED"; steps += 1 + steps / 50) {
        found = RootsIn(world, claims, steps);
      }
      EXPECT_EQ(found, each.expected) << each.world << steps;
      EXPECT_GT(steps, 4);
    }
  }
}

// Three members, of which each host has room for any two. The work that is done for a host is more
// than its search: all of it counts.
TEST(ClaimSearch, TheBudgetPaysForEveryHostThatIsTried) {
  std::string notation;
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&notation, "h", i, "\n  x", i, "{VCPU:3}\n  y", i, "{VCPU:3}\n");
  }
  World world(notation);
  PlaceClaims claims =
      Claims(world, {"c1", "c2"}, "r VCPU:2", Strategy::kFirst, MemberAffinity::kSameRoot);
  claims.members.push_back(Member(world, "c3", "r VCPU:2"));
  EXPECT_EQ(RootsIn(world, claims, 5'000'000), Names{"NO_CANDIDATE"});
  EXPECT_EQ(RootsIn(world, claims, 5'000), Names{"SEARCH_BUDGET_EXCEEDED"});
  // What the lock allows is less than what a worker does.
  for (int i = 200; i < 500; ++i) {
    world.Add(absl::StrCat("h", i, "\n  x", i, "{VCPU:3}\n  y", i, "{VCPU:3}\n"));
  }
  PlaceClaims searched = claims;
  ASSERT_EQ(FindChoices(world.state(), {}, &searched), absl::OkStatus());
  EXPECT_FALSE(searched.search_gave_up);
  EXPECT_EQ(Place(world, claims), Names{"SEARCH_BUDGET_EXCEEDED"});
}

// Wide orders are dear before any root is looked at.
TEST(ClaimSearch, TheBudgetPaysForTheOrder) {
  World world(HostsForOne(1000));
  for (int i = 0; i < 200; ++i) world.Must(EnsureTrait{absl::StrCat("CUSTOM_T", i)});
  PlaceClaims claims = Claims(world, {"c1"}, "r VCPU:1");
  EXPECT_EQ(RootsIn(world, claims, 300), Names{"h0"});
  for (int i = 0; i < 200; ++i) {
    claims.order.trait_weights.push_back({absl::StrCat("CUSTOM_T", i), 1});
  }
  EXPECT_EQ(RootsIn(world, claims, 4'000), Names{"SEARCH_BUDGET_EXCEEDED"});
  EXPECT_EQ(RootsIn(world, claims, 50'000), Names{"h0"});
}

// A candidate of sharing providers alone counts once among candidates, but a root that it is found
// under may be the one that has room for the others.
TEST(ClaimSearch, ASharedPlaceIsFoundUnderEachRoot) {
  World world(R"(
    a{VCPU:4 used 4}(agg1)
    b{VCPU:4}(agg1)
    pool[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:100}(agg1)
  )");
  PlaceClaims claims =
      Claims(world, {"c1"}, "r DISK_GB:1", Strategy::kFirst, MemberAffinity::kSameRoot);
  claims.members.push_back(Member(world, "c2", "r VCPU:1"));
  EXPECT_EQ(RootsIn(world, claims, 100'000), (Names{"b", "b"}));
  claims.order.trait_weights = {{"MISC_SHARES_VIA_AGGREGATE", 1}};
  EXPECT_EQ(RootsIn(world, claims, 100'000), (Names{"b", "b"}));
}

// What a sharing provider does not offer the root itself must have.
TEST(ClaimSearch, SharingDoesNotMakeEveryRootWorthTrying) {
  std::string notation = "pool[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:100}(agg1)\n";
  for (int i = 0; i < 300; ++i) absl::StrAppend(&notation, "h", i, "{VCPU:4}(agg1)\n");
  World world(notation + "last{VCPU:8}(agg1)\n");
  const PlaceClaims claims = Claims(world, {"c1", "c2"}, "r VCPU:3,DISK_GB:1", Strategy::kFirst,
                                    MemberAffinity::kSameRoot);
  EXPECT_EQ(RootsIn(world, claims, 10'000), (Names{"last", "last"}));
}

TEST(ClaimSearch, MembersDrawForThemselves) {
  std::string notation;
  for (int i = 0; i < 50; ++i) absl::StrAppend(&notation, "h", i, "{VCPU:4}\n");
  World world(notation);
  PlaceClaims claims = Claims(world, {"c1", "c2", "c3"}, "r VCPU:1", Strategy::kRandom);
  std::set<std::string> roots;
  int together = 0;
  for (claims.order.seed = 1; claims.order.seed <= 40; ++claims.order.seed) {
    const Names found = RootsIn(world, claims, 100'000);
    EXPECT_EQ(found, RootsIn(world, claims, 100'000));
    roots.insert(found.begin(), found.end());
    together += found[0] == found[1] ? 1 : 0;
  }
  EXPECT_GT(roots.size(), 25u);
  EXPECT_LT(together, 10);
}

TEST(ClaimSearch, AGivenUpSearchIsNotDoneAgain) {
  World world("a{VCPU:1}\nb{VCPU:1}\n");
  PlaceClaims claims = Chosen(world, Claims(world, {"c1", "c2"}, "r VCPU:1"));
  claims.search_gave_up = true;
  EXPECT_EQ(Place(world, claims), (Names{"a", "b"}));  // there was something for each
  PlaceClaims more = Chosen(world, Claims(world, {"c1", "c2", "c3"}, "r VCPU:1"));
  EXPECT_EQ(more.choices.size(), 2u);
  const std::string before = world.Text();
  more.search_gave_up = true;
  const absl::Status status = world.Do(more).status();
  EXPECT_EQ(ReasonOf(status), "SEARCH_BUDGET_EXCEEDED");
  EXPECT_EQ(RefusalOf(status)->items[0].at("consumer"), world.consumer("c3").ToString());
  EXPECT_EQ(world.Text(), before);
}

// A choice that stands may still be the wrong one for those behind: then all is searched anew.
TEST(ClaimSearch, AChoiceDoesNotTakeTheRoomOfTheNext) {
  struct Case {
    const char* world;
    MemberAffinity affinity;
    Names providers;
  };
  const Case cases[] = {
      {"x{VCPU:2}\ny[CUSTOM_B]{VCPU:4}\n", MemberAffinity::kNone, {"x", "y"}},
      {"r\n  x{VCPU:2}\n  y[CUSTOM_B]{VCPU:4}\n", MemberAffinity::kSameRoot, {"x", "y"}},
  };
  for (const Case& each : cases) {
    World world(each.world);
    world.Must(SetAllocations{{world.Claim("first", "x{VCPU:1}")}, false});
    PlaceClaims claims = Claims(world, {"c1"}, "r VCPU:2", Strategy::kFirst, each.affinity);
    claims.members.push_back(Member(world, "c2", "r VCPU:2 q CUSTOM_B"));
    claims = Chosen(world, claims);
    ASSERT_EQ(claims.choices.size(), 2u);  // both on y
    world.Must(DeleteAllocations{world.consumer("first"), std::nullopt});
    world.Must(SetAllocations{{world.Claim("second", "y{VCPU:2}")}, false});
    const absl::StatusOr<Outcome> outcome = world.Do(claims);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    for (size_t m = 0; m < 2; ++m) {
      EXPECT_EQ(outcome->result.candidates[m].allocations[0].provider,
                world.provider(each.providers[m]));
    }
  }
}

// A choice whose trees stand as they stood may not be taken all the same.
TEST(ClaimSearch, AChoiceOfAnUnfitNodeIsNotTaken) {
  const auto fleet = [] {
    FleetWorld fleet;
    int process = 0;
    for (const std::string name : {"n1", "n2"}) {
      EXPECT_EQ(fleet.Register(name, ++process, "machine-" + name), "OK");
      EXPECT_EQ(fleet.Report(name, process, name + "{VCPU:4}", 1), "OK");
    }
    return fleet;
  };
  FleetWorld down = fleet();
  PlaceClaims claims = Claims(down.world, {"c1"}, "r VCPU:1");
  claims.members[0].query.exclude_stale_roots = true;
  claims = Chosen(down.world, claims);
  ASSERT_EQ(claims.choices[0].size(), 2u);
  EXPECT_EQ(down.Mark("n1", 1, false), "OK");
  EXPECT_EQ(Place(down.world, claims), Names{"n2"});
  FleetWorld retired = fleet();
  claims = Chosen(retired.world, Claims(retired.world, {"c1"}, "r VCPU:1"));
  const ProviderId node = retired.world.provider("n1");
  // Something of it is held, so that it stays.
  retired.world.Must(SetAllocations{{retired.world.Claim("holder", "n1{VCPU:1}")}, false});
  retired.world.Must(RetireNode{node, true});
  EXPECT_EQ(Place(retired.world, claims), Names{"n2"});
}

// By what is free, a choice counts with all of its root's tree, and with the traits of those who
// serve, sharing providers of other trees among them.
TEST(ClaimSearch, ChoicesAreComparedWithTheirTreesAsTheyAre) {
  World world(R"(
    a{VCPU:100}(agg1)
    b{VCPU:100}(agg1)
    pool[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:100}(agg1)
  )");
  const PlaceClaims claims =
      Chosen(world, Claims(world, {"c1"}, "r VCPU:1,DISK_GB:1", Strategy::kSpread));
  ASSERT_GE(claims.choices[0].size(), 2u);
  EXPECT_EQ(claims.choices[0][0].trees.size(), 2u);
  World busy = world;
  busy.Must(SetAllocations{{busy.Claim("other", "a{VCPU:50}")}, false});
  EXPECT_EQ(Place(busy, claims), Names{"b"});
  World full = world;
  full.Must(SetAllocations{{full.Claim("other", "pool{DISK_GB:100}")}, false});
  EXPECT_EQ(Place(full, claims), Names{"NO_CANDIDATE"});
  World apart = world;  // the pool no longer serves them
  apart.Must(SetProviderAggregates{
      apart.provider("pool"), apart.generation("pool"), {apart.aggregate("agg2")}});
  EXPECT_EQ(Place(apart, claims), Names{"NO_CANDIDATE"});
}

}  // namespace
}  // namespace berth::placement
