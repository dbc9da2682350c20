// Defects that OpenStack Placement is known to have where two writers meet, by their numbers in the
// specification. Each test makes the orders happen that hurt there. Those of single calls are in
// tests/e2e.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/placement/ledger/race.h"
#include "tests/worlds/safety.h"

namespace berth::placement {
namespace {

// A provider `number` that offers so many VCPU; its generation.
Generation AddHost(LedgerRunner& runner, int number, Amount vcpu) {
  const Decision made = runner.Must(NewProvider(number));
  const Generation generation = made.result.providers.at(0).config->generation;
  const Decision offered = runner.Must(Offer(number, generation, vcpu, 1024));
  return offered.result.providers.at(0).config->generation;
}

Generation GenerationOf(const Decision& decision) { return decision.result.consumers.at(0).second; }

// How much `consumer` holds of everything.
Amount HeldBy(const State& state, int consumer) {
  Amount sum = 0;
  const ConsumerPtr holder = state.FindConsumer(ConsumerNumber(consumer));
  if (holder == nullptr) return sum;
  for (const Allocation& allocation : holder->allocations) sum += allocation.amount;
  return sum;
}

CommandBody Move(int provider, int parent) {
  UpdateProvider move;
  move.id = ProviderNumber(provider);
  move.parent.emplace(ProviderNumber(parent));
  return move;
}

CommandBody SetTraits(int provider, Generation generation, std::vector<std::string> traits) {
  return SetProviderTraits{ProviderNumber(provider), generation, std::move(traits)};
}

// The words of both, the greater one first: for pairs of which either may win.
std::string Sorted(const Decision& a, const Decision& b) {
  std::string first = WordOf(a), second = WordOf(b);
  if (first < second) first.swap(second);
  return absl::StrCat(first, " ", second);
}

// The peer tries a claim that met another one again in the same transaction, where its own first
// attempt counts as use that was there before: both claims of 5 on a capacity of 8 succeed.
TEST(Defects, D1_TwoClaimsNeverExceedTheCapacity) {
  Race race;
  race.InEveryOrder(
      [&](int base) {
        AddHost(race.one(), base, 8);
        return Race::Pair{Claim(base + 1, {base}, 5), Claim(base + 2, {base}, 5)};
      },
      [](int base, const Decision& first, const Decision& second, const State& state) {
        EXPECT_EQ(Sorted(first, second), "OK CAPACITY_EXCEEDED");  // D-1, P-4, P-136, P-149
        EXPECT_EQ(UsedOf(state, base), 5);                         // D-1, P-4
      });
}

// The same where the use is above the capacity already, so that the exemption of P-133 is near.
TEST(Defects, D1_AnExemptHandOverExemptsNobodyElse) {
  Race race;
  race.InEveryOrder(
      [&](int base) {
        const Generation generation = AddHost(race.one(), base, 8);
        const Decision held = race.one().Must(Claim(base + 1, {base}, 6));
        race.one().Must(Offer(base, generation, 4, 1024));
        SetAllocations swap = std::get<SetAllocations>(Claim(base + 2, {base}, 4));
        SetAllocations release = std::get<SetAllocations>(Claim(base + 1, {}, 0));
        release.consumers[0].expected_generation = GenerationOf(held);
        swap.consumers.push_back(release.consumers[0]);
        return Race::Pair{swap, Claim(base + 3, {base}, 1)};
      },
      [](int base, const Decision& first, const Decision& second, const State& state) {
        EXPECT_EQ(WordOf(first), "OK");                  // P-133
        EXPECT_EQ(WordOf(second), "CAPACITY_EXCEEDED");  // D-1, P-136
        EXPECT_EQ(UsedOf(state, base), 4);
      });
}

// The peer lets the second of two writers that both say `new` read the first one's record and
// replace what it holds; both are told that they succeeded.
TEST(Defects, D2_OfTwoNewWritersOneSucceeds) {
  Race race;
  race.InEveryOrder(
      [&](int base) {
        AddHost(race.one(), base, 8);
        AddHost(race.one(), base + 1, 8);
        return Race::Pair{Claim(base, {base}, 2), Claim(base, {base + 1}, 3)};
      },
      [](int base, const Decision& first, const Decision& second, const State& state) {
        EXPECT_EQ(Sorted(first, second), "OK CONSUMER_GENERATION_CONFLICT");  // D-2, P-121
        EXPECT_EQ(UsedOf(state, base), first.status.ok() ? 2 : 0);            // D-2
        EXPECT_EQ(UsedOf(state, base + 1), first.status.ok() ? 0 : 3);        // D-2
      });
}

// The peer writes the consumer's record before it looks at the claim. An empty map, or a provider
// that is not there, leaves a record behind that refuses every later `new`.
TEST(Defects, D3_WhatTakesNothingLeavesNoConsumer) {
  const auto claim_of_nobody = [](int base) { return Claim(base, {base + 99}, 1); };
  const auto with_a_neighbour = [](int base) {
    SetAllocations set = std::get<SetAllocations>(Claim(base + 1, {base}, 1));
    set.consumers.push_back(std::get<SetAllocations>(Claim(base, {base + 99}, 1)).consumers[0]);
    return CommandBody(set);
  };
  const auto reshape = [](int base) {
    Reshape body;
    body.providers.push_back({ProviderNumber(base + 99), Generation{1}, Generation{1}, {}});
    body.consumers = std::get<SetAllocations>(Claim(base, {base}, 1)).consumers;
    return CommandBody(body);
  };
  const std::map<std::string, std::function<CommandBody(int)>> ways = {
      {"an empty map", [](int base) { return Claim(base, {}, 0); }},
      {"an unknown provider", claim_of_nobody},
      {"an unknown provider beside a lawful claim", with_a_neighbour},
      {"a reshape of an unknown provider", reshape}};
  for (const auto& [words, way] : ways) {
    SCOPED_TRACE(words);
    Race race;
    race.InEveryOrder(
        [&race, &way = way](int base) {
          AddHost(race.one(), base, 8);
          return Race::Pair{way(base), Claim(base, {base}, 2)};
        },
        [&words = words](int base, const Decision& first, const Decision& second,
                         const State& state) {
          EXPECT_EQ(WordOf(second), "OK");        // D-3, P-131, P-138
          EXPECT_EQ(HeldBy(state, base), 2);      // D-3
          EXPECT_EQ(UsedOf(state, base), 2);      // D-3, P-131
          EXPECT_EQ(HeldBy(state, base + 1), 0);  // P-118
          const bool empty = words == "an empty map";
          const std::string expected = empty ? "OK" : "PROVIDER_NOT_FOUND";
          // Whoever comes second meets a consumer that holds something; a reshape looks at its
          // providers first (P-229).
          if (WordOf(first) != expected) {
            EXPECT_EQ(WordOf(first), "CONSUMER_GENERATION_CONFLICT");  // P-229
          }
        });
  }
}

// The peer moves "a below b" and "b below a" at the same time, and neither has a root any more.
TEST(Defects, D5_TwoMovesMakeNoCycle) {
  Race race;
  race.InEveryOrder(
      [&](int base) {
        AddHost(race.one(), base, 8);
        AddHost(race.one(), base + 1, 8);
        return Race::Pair{Move(base, base + 1), Move(base + 1, base)};
      },
      [](int base, const Decision& first, const Decision& second, const State& state) {
        EXPECT_EQ(Sorted(first, second), "PROVIDER_LOOP OK");  // D-5, P-57
        const ProviderId root = ProviderNumber(first.status.ok() ? base + 1 : base);
        for (const int number : {base, base + 1}) {
          EXPECT_EQ(state.FindProvider(ProviderNumber(number))->tree->root_id(), root);  // D-5, P-1
        }
      });
}

TEST(Defects, D5_ThreeMovesMakeNoCycleInAnyOrder) {
  Race race;
  std::vector<int> order = {0, 1, 2};
  int base = 0;
  do {
    base += 10;
    for (int i = 0; i < 3; ++i) AddHost(race.one(), base + i, 8);
    std::vector<CommandBody> moves;
    for (const int i : order) moves.push_back(Move(base + i, base + (i + 1) % 3));
    const std::vector<Decision> decisions = race.InOneBatch(moves);
    EXPECT_EQ(WordOf(decisions[0]), "OK");
    EXPECT_EQ(WordOf(decisions[1]), "OK");
    EXPECT_EQ(WordOf(decisions[2]), "PROVIDER_LOOP");  // D-5, P-57
    CheckSafety(*race.one().ledger().Newest());        // P-1
  } while (std::next_permutation(order.begin(), order.end()));
}

// The peer looks for allocations and then deletes the provider; a claim that commits in between is
// left without one, for ever.
TEST(Defects, D6_AClaimAndTheDeletionOfItsProviderExcludeEachOther) {
  Race race;
  race.InEveryOrder(
      [&](int base) {
        AddHost(race.one(), base, 8);
        return Race::Pair{Claim(base, {base}, 2), DeleteProvider{ProviderNumber(base)}};
      },
      [](int base, const Decision& claim, const Decision& deletion, const State& state) {
        EXPECT_EQ(absl::StrCat(WordOf(claim), " ", WordOf(deletion)),
                  claim.status.ok() ? "OK PROVIDER_IN_USE" : "PROVIDER_NOT_FOUND OK");  // D-6, P-62
        EXPECT_EQ(HeldBy(state, base), claim.status.ok() ? 2 : 0);                      // D-6, P-62
        EXPECT_EQ(UsedOf(state, base), claim.status.ok() ? 2 : -1);                     // D-6
      });
}

// The peer answers the second of two writers of one provider's traits with an internal error.
TEST(Defects, D17_TheLoserOfATraitRaceIsTold) {
  Race race;
  for (const char* name : {"CUSTOM_A", "CUSTOM_B"}) race.one().Must(EnsureTrait{name});
  race.InEveryOrder(
      [&](int base) {
        const Generation generation = AddHost(race.one(), base, 8);
        return Race::Pair{SetTraits(base, generation, {"CUSTOM_A"}),
                          SetTraits(base, generation, {"CUSTOM_B"})};
      },
      [](int base, const Decision& first, const Decision& second, const State& state) {
        EXPECT_EQ(Sorted(first, second), "PROVIDER_GENERATION_CONFLICT OK");  // D-17, P-100
        const auto traits = state.FindProvider(ProviderNumber(base))->config().traits;
        ASSERT_EQ(traits.size(), 1u);
        EXPECT_EQ(state.catalog().traits.NameOf(traits[0]),
                  first.status.ok() ? "CUSTOM_A" : "CUSTOM_B");  // D-17
      });
}

TEST(Defects, D17_ATraitThatIsDeletedIsNobodys) {
  Race race;
  race.InEveryOrder(
      [&](int base) {
        const std::string name = absl::StrCat("CUSTOM_T", base);
        race.one().Must(EnsureTrait{name});
        const Generation generation = AddHost(race.one(), base, 8);
        return Race::Pair{SetTraits(base, generation, {name}), DeleteTrait{name}};
      },
      [](int base, const Decision& set, const Decision& deletion, const State& state) {
        EXPECT_EQ(absl::StrCat(WordOf(set), " ", WordOf(deletion)),
                  set.status.ok() ? "OK TRAIT_IN_USE" : "TRAIT_NOT_FOUND OK");  // D-17, P-46
        const auto traits = state.FindProvider(ProviderNumber(base))->config().traits;
        EXPECT_EQ(traits.size(), set.status.ok() ? 1u : 0u);
      });
}

// The peer counts anew for a consumer that was released and claims again, and for a provider that
// was deleted and made again: who holds a number of the one before passes the check.
TEST(Defects, D39_AConsumersNumberOfBeforeIsStale) {
  Race race;
  race.InEveryOrder(
      [&](int base) {
        AddHost(race.one(), base, 8);
        const Generation before = GenerationOf(race.one().Must(Claim(base, {base}, 2)));
        race.one().Must(Release(base, before));
        return Race::Pair{Claim(base, {base}, 5, before), Claim(base, {base}, 3)};
      },
      [](int base, const Decision& late, const Decision& next, const State& state) {
        EXPECT_EQ(WordOf(next), "OK");
        EXPECT_EQ(WordOf(late), "CONSUMER_GENERATION_CONFLICT");  // D-39, P-119
        EXPECT_EQ(UsedOf(state, base), 3);                        // D-39
      });
}

TEST(Defects, D39_AProvidersNumberOfBeforeIsStale) {
  Race race;
  race.InEveryOrder(
      [&](int base) {
        const Decision made = race.one().Must(NewProvider(base));
        const Generation before = made.result.providers.at(0).config->generation;
        race.one().Must(DeleteProvider{ProviderNumber(base)});
        return Race::Pair{Offer(base, before, 8, 1024), NewProvider(base)};
      },
      [](int base, const Decision& late, const Decision& next, const State& state) {
        EXPECT_EQ(WordOf(next), "OK");
        // Without a provider before the next one, with another one after it.
        if (WordOf(late) != "PROVIDER_NOT_FOUND") {
          EXPECT_EQ(WordOf(late), "PROVIDER_GENERATION_CONFLICT");  // D-39, P-64
        }
        const auto place = state.FindProvider(ProviderNumber(base));
        EXPECT_TRUE(place->config().inventories.empty());  // D-39
      });
}

}  // namespace
}  // namespace berth::placement
