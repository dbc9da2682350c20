// Claims that find their own place: what they take, what they refuse, and that choices found before
// are only ever a hint.
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/claims/search.h"
#include "placement/values/refusal.h"
#include "tests/worlds/claim_notation.h"
#include "tests/worlds/seed.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

using Names = std::vector<std::string>;

constexpr char kThree[] = R"(
  a{VCPU:4, MEMORY_MB:64}
  b{VCPU:8, MEMORY_MB:64}
  c{VCPU:6, MEMORY_MB:64}
)";

TEST(RulesClaim, TakesTheBestByTheOrder) {
  struct Case {
    Strategy strategy;
    Names expected;
  };
  const Case cases[] = {{Strategy::kFirst, {"a", "a", "b", "b"}},
                        {Strategy::kSpread, {"a", "b", "c", "b"}},
                        {Strategy::kPack, {"a", "a", "b", "b"}}};
  for (const Case& each : cases) {
    for (const bool chosen : {false, true}) {
      World world(kThree);
      Names found;
      for (const char* consumer : {"c1", "c2", "c3", "c4"}) {
        PlaceClaims claim = Claims(world, {consumer}, "r VCPU:2", each.strategy);
        if (chosen) claim = Chosen(world, std::move(claim));
        found.push_back(Place(world, claim)[0]);
      }
      EXPECT_EQ(found, each.expected) << static_cast<int>(each.strategy);
    }
  }
}

TEST(RulesClaim, TellsWhatItTook) {
  World world(R"(
    a{VCPU:4}
      a1{CUSTOM_VF:1}
  )");
  PlaceClaims claim = Claims(world, {"c1"}, "r VCPU:2; r._N CUSTOM_VF:1", Strategy::kRandom);
  claim.order.seed = 7;
  const Outcome outcome = world.Must(Chosen(world, claim));
  ASSERT_EQ(outcome.result.candidates.size(), 1u);
  const Candidate& taken = outcome.result.candidates[0];
  EXPECT_EQ(taken.root, world.provider("a"));
  ASSERT_EQ(taken.mappings.size(), 2u);
  EXPECT_EQ(taken.mappings[1].second, std::vector<ProviderId>{world.provider("a1")});
  EXPECT_EQ(outcome.result.seed, 7u);
  EXPECT_EQ(world.state().FindConsumer(world.consumer("c1"))->allocations, taken.allocations);
  ASSERT_EQ(outcome.result.consumers.size(), 1u);
  EXPECT_EQ(outcome.result.consumers[0].second, *world.consumer_generation("c1"));
  claim.order.strategy = Strategy::kSpread;
  claim.members[0] = Member(world, "c1", "r VCPU:2");
  EXPECT_EQ(world.Must(claim).result.seed, 0u);  // nothing was left to chance
}

TEST(RulesClaim, MayBeLeased) {
  World world(kThree);
  PlaceClaims claim = Claims(world, {"c1"}, "r VCPU:1");
  claim.members[0].lease = absl::Minutes(5);
  world.Must(Chosen(world, claim));
  const ConsumerPtr consumer = world.state().FindConsumer(world.consumer("c1"));
  EXPECT_EQ(consumer->lease_expires_at, consumer->created_at + absl::Minutes(5));
}

TEST(RulesClaim, WhatTheConsumerHoldsIsFree) {
  World world("a{VCPU:4}\n");
  EXPECT_EQ(Place(world, Chosen(world, Claims(world, {"c1"}, "r VCPU:3"))), Names{"a"});
  EXPECT_EQ(Place(world, Chosen(world, Claims(world, {"c1"}, "r VCPU:4"))), Names{"a"});
  EXPECT_EQ(world.used("a", "VCPU"), 4);
  EXPECT_EQ(Place(world, Chosen(world, Claims(world, {"c2"}, "r VCPU:1"))), Names{"NO_CANDIDATE"});
}

TEST(RulesClaim, Refusals) {  // in the order that the protocol documents
  World world(kThree);
  world.Must(SetAllocations{{world.Claim("holder", "a{VCPU:1}")}, false});
  PlaceClaims good = Claims(world, {"c1"}, "r VCPU:1");
  const auto reason = [&](const PlaceClaims& claims) {
    const std::string refused = ReasonOf(world.Do(claims).status());
    // A search before the lock refuses nothing else, and survives the rest.
    PlaceClaims searched = claims;
    const absl::Status found = FindChoices(world.state(), {}, &searched);
    if (!found.ok()) {
      EXPECT_EQ(ReasonOf(found), refused);
    }
    return refused;
  };
  PlaceClaims claims = Claims(world, {"c1"}, "r VCPU:99");
  claims.search_gave_up = true;
  EXPECT_EQ(reason(claims), "SEARCH_BUDGET_EXCEEDED");
  claims.search_gave_up = false;
  EXPECT_EQ(reason(claims), "NO_CANDIDATE");
  claims.members[0].consumer = world.consumer("holder");
  EXPECT_EQ(reason(claims), "CONSUMER_GENERATION_CONFLICT");
  claims.members[0].query.groups[0].resources[0].resource_class = "CUSTOM_NONE";
  EXPECT_EQ(reason(claims), "RESOURCE_CLASS_NOT_FOUND");
  claims.members[0].query.groups[0].resources[0].amount = 0;
  EXPECT_EQ(reason(claims), "INVALID_FIELD");
  claims.members.push_back(claims.members[0]);
  EXPECT_EQ(reason(claims), "DUPLICATE_PARAMETER");
  claims = good;
  claims.members[0].project = "";
  EXPECT_EQ(reason(claims), "INVALID_FIELD");
  claims = good;
  claims.members[0].type = "not upper";
  EXPECT_EQ(reason(claims), "INVALID_FIELD");
  claims = good;
  claims.members[0].lease = absl::Milliseconds(999);
  EXPECT_EQ(reason(claims), "INVALID_FIELD");
  claims.members.clear();
  EXPECT_EQ(reason(claims), "INVALID_FIELD");
  EXPECT_EQ(reason(Claims(world, Names(257, "c1"), "r VCPU:1")), "INVALID_FIELD");
  EXPECT_EQ(world.state().consumers().size(), 1);  // nothing of it was done
  EXPECT_EQ(reason(good), "");
}

// A search that let one consumer hold two places would end the process.
TEST(RulesClaim, NoConsumerTwice) {
  World world(kThree);
  world.Must(SetAllocations{{world.Claim("holder", "a{VCPU:1}")}, false});
  for (const Names& names :
       {Names{"holder", "holder"}, Names{"c1", "c1"}, Names{"c1", "c1", "c2"}}) {
    PlaceClaims claims = Claims(world, names, "r VCPU:1");
    EXPECT_EQ(ReasonOf(FindChoices(world.state(), {}, &claims)), "DUPLICATE_PARAMETER");
    EXPECT_EQ(Place(world, claims), Names{"DUPLICATE_PARAMETER"});
  }
}

// Which member a fault lies in, and where in the request.
TEST(RulesClaim, FaultsOfQueriesNameTheirConsumer) {
  World world(kThree);
  const auto fault_of = [&](const char* query, bool one, bool searched) {
    PlaceClaims claims = Claims(world, {"c1", "c2"}, "r VCPU:1");
    if (one) claims.members.erase(claims.members.begin());
    claims.one = one;
    claims.members.back().query = ParseRequest(world, query);
    return searched ? FindChoices(world.state(), {}, &claims) : world.Do(claims).status();
  };
  for (const bool searched : {false, true}) {
    absl::Status fault = fault_of("r VCPU:0", false, searched);
    EXPECT_EQ(RefusalOf(fault)->items[0].at("consumer"), world.consumer("c2").ToString());
    EXPECT_EQ(RefusalOf(fault)->items[0].at("field"), "members[1].query.groups[0].resources");
    EXPECT_EQ(fault.message().substr(0, 31), "members[1].query.groups[0].reso");
    fault = fault_of("r VCPU:0", true, searched);
    EXPECT_EQ(RefusalOf(fault)->items[0].at("field"), "query.groups[0].resources");
  }
  const absl::Status fault = fault_of("r CUSTOM_NONE:1", false, false);
  EXPECT_EQ(ReasonOf(fault), "RESOURCE_CLASS_NOT_FOUND");
  EXPECT_EQ(RefusalOf(fault)->items[0].at("consumer"), world.consumer("c2").ToString());
  PlaceClaims claims = Claims(world, {"c1"}, "r VCPU:1");
  claims.order.trait_weights = {{"lower", 1}};
  const absl::Status order = FindChoices(world.state(), {}, &claims);
  EXPECT_EQ(RefusalOf(order)->items[0].at("field"), "order.trait_weights");
  EXPECT_FALSE(RefusalOf(order)->items[0].contains("consumer"));
}

TEST(RulesClaim, NobodyCollidesOverTheSameChoices) {
  std::string hosts;
  for (int i = 0; i < kChoicesOfOne + 4; ++i) absl::StrAppend(&hosts, "h", i, "{VCPU:1}\n");
  for (const Strategy strategy : {Strategy::kFirst, Strategy::kSpread, Strategy::kPack}) {
    World world(hosts);
    std::vector<PlaceClaims> claims;  // all searched before any of them is decided
    for (int i = 0; i < kChoicesOfOne + 5; ++i) {
      claims.push_back(Chosen(world, Claims(world, {absl::StrCat("c", i)}, "r VCPU:1", strategy)));
    }
    std::set<std::string> roots;
    for (int i = 0; i < kChoicesOfOne + 4; ++i) roots.insert(Place(world, claims[i])[0]);
    EXPECT_EQ(roots.size(),
              static_cast<size_t>(kChoicesOfOne + 4));  // those behind the choices too
    EXPECT_EQ(Place(world, claims.back()), Names{"NO_CANDIDATE"});
  }
}

TEST(RulesClaim, ChoicesAreTakenByWhatIsFreeNow) {
  World world("a{VCPU:100}\nb{VCPU:100}\nc{VCPU:100}\n");
  std::vector<PlaceClaims> claims;
  for (int i = 0; i < 6; ++i) {
    claims.push_back(
        Chosen(world, Claims(world, {absl::StrCat("c", i)}, "r VCPU:1", Strategy::kSpread)));
  }
  Names found;
  for (const PlaceClaims& claim : claims) found.push_back(Place(world, claim)[0]);
  EXPECT_EQ(found, (Names{"a", "b", "c", "a", "b", "c"}));
}

TEST(RulesClaim, AChoiceThatChangedIsNotTaken) {
  World world(kThree);
  world.Must(EnsureTrait{"CUSTOM_BAD"});
  const PlaceClaims claim = Chosen(world, Claims(world, {"c1"}, "r VCPU:1 q !CUSTOM_BAD"));
  world.Must(SetProviderTraits{world.provider("a"), world.generation("a"), {"CUSTOM_BAD"}});
  EXPECT_EQ(Place(world, claim), Names{"b"});
  // A choice in a tree that is gone, and room that only now is there.
  World full("a{VCPU:1 used 1}\nb{VCPU:1}\n");
  const PlaceClaims late = Chosen(full, Claims(full, {"c1"}, "r VCPU:1"));
  full.Must(DeleteProvider{full.provider("b")});
  EXPECT_EQ(Place(full, late), Names{"NO_CANDIDATE"});
  full.Must(DeleteAllocations{full.consumer("held-by-a"), std::nullopt});
  EXPECT_EQ(Place(full, late), Names{"a"});
}

TEST(RulesClaim, ManyAllOrNone) {
  World world(kThree);
  const PlaceClaims fits = Claims(world, {"c1", "c2", "c3"}, "r VCPU:3");
  const PlaceClaims too_many = Claims(world, {"c1", "c2", "c3", "c4", "c5", "c6"}, "r VCPU:3");
  for (const bool chosen : {false, true}) {
    World copy = world;
    const std::string before = copy.Text();
    EXPECT_EQ(Place(copy, chosen ? Chosen(copy, too_many) : too_many), Names{"NO_CANDIDATE"});
    EXPECT_EQ(copy.Text(), before);
    EXPECT_EQ(Place(copy, chosen ? Chosen(copy, fits) : fits), (Names{"a", "b", "b"}));
    EXPECT_EQ(copy.used("b", "VCPU"), 6);
  }
  const absl::Status status = world.Do(too_many).status();
  EXPECT_EQ(RefusalOf(status)->items[0].at("consumer"), world.consumer("c6").ToString());
}

TEST(RulesClaim, ManyTogetherOrApart) {
  struct Case {
    int members;
    const char* query;
    MemberAffinity affinity;
    Names expected;
  };
  const Case cases[] = {
      {2, "r VCPU:3", MemberAffinity::kSameRoot, {"b", "b"}},
      {2, "r VCPU:2", MemberAffinity::kSameRoot, {"a", "a"}},
      {3, "r VCPU:3", MemberAffinity::kSameRoot, {"NO_CANDIDATE"}},
      {3, "r VCPU:3", MemberAffinity::kDifferentRoots, {"a", "b", "c"}},
      {4, "r VCPU:1", MemberAffinity::kDifferentRoots, {"NO_CANDIDATE"}},
      {3, "r VCPU:3", MemberAffinity::kNone, {"a", "b", "b"}},
  };
  for (const Case& each : cases) {
    for (const bool chosen : {false, true}) {
      World world(kThree);
      Names names;
      for (int i = 0; i < each.members; ++i) names.push_back(absl::StrCat("c", i));
      PlaceClaims claims = Claims(world, names, each.query, Strategy::kFirst, each.affinity);
      if (chosen) claims = Chosen(world, std::move(claims));
      EXPECT_EQ(Place(world, claims), each.expected) << &each - cases << " " << chosen;
    }
  }
}

TEST(RulesClaim, TogetherElsewhereWhereTheChoiceIsGone) {
  World world(kThree);
  const PlaceClaims claims = Chosen(
      world, Claims(world, {"c1", "c2"}, "r VCPU:2", Strategy::kFirst, MemberAffinity::kSameRoot));
  world.Must(SetAllocations{{world.Claim("other", "a{VCPU:1}")}, false});
  EXPECT_EQ(Place(world, claims), (Names{"b", "b"}));
}

// Many claims, decided late over choices found early, at hosts that are nearly full.
TEST(RulesClaim, NothingIsRefusedWhileThereIsRoom) {
  std::mt19937_64 random(Seed());
  for (int round = 0; round < 200; ++round) {
    std::string hosts;
    const int count = 1 + static_cast<int>(random() % 6);
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&hosts, "h", i, "{VCPU:", 1 + random() % 6, "}\n");
    }
    World world(hosts);
    std::vector<PlaceClaims> claims;
    for (int i = 0; i < 24; ++i) {
      PlaceClaims claim =
          Claims(world, {absl::StrCat("c", i)}, absl::StrCat("r VCPU:", 1 + random() % 3),
                 static_cast<Strategy>(random() % 4));
      claim.order.seed = random();
      if (random() % 4 == 0) {
        claim.members.push_back(Member(world, absl::StrCat("d", i), "r VCPU:1"));
        claim.affinity = static_cast<MemberAffinity>(random() % 3);
      }
      claims.push_back(Chosen(world, std::move(claim)));
    }
    for (const PlaceClaims& claim : claims) {
      const absl::StatusOr<Outcome> outcome = world.Do(claim);  // checks P-4
      if (outcome.ok()) {
        if (random() % 5 == 0) {
          world.Must(DeleteAllocations{claim.members[0].consumer, std::nullopt});
        }
        continue;
      }
      ASSERT_EQ(RefusalOf(outcome.status())->reason, "NO_CANDIDATE");
      if (claim.members.size() > 1) continue;
      const auto room = FindCandidates(world.state(), claim.members[0].query, {});
      ASSERT_TRUE(room.ok() && room->candidates.empty()) << world.Text();
    }
  }
}

}  // namespace
}  // namespace berth::placement
