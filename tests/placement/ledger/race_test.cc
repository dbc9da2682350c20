// What two writers may do to each other, and what not, in every order in which they can meet.

#include "tests/placement/ledger/race.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace berth::placement {
namespace {

// A provider `number` that offers 8 VCPU, as it stands then.
std::shared_ptr<const ProviderConfig> AddHost(LedgerRunner& runner, int number) {
  const Decision made = runner.Must(NewProvider(number));
  const Generation generation = made.result.providers.at(0).config->generation;
  return runner.Must(Offer(number, generation, 8, 1024)).result.providers.at(0).config;
}

std::string Words(const Decision& first, const Decision& second) {
  return absl::StrCat(WordOf(first), " ", WordOf(second));
}

// On both roads of the process that is stopped.
class LedgerRace : public ::testing::TestWithParam<LedgerRoads> {};
INSTANTIATE_TEST_SUITE_P(Roads, LedgerRace,
                         ::testing::Values(LedgerRoads::kLong, LedgerRoads::kShortFirst));

TEST_P(LedgerRace, OfTwoWithTheSameNumberOneSucceeds) {
  Race race(GetParam());
  race.InEveryOrder(
      [&](int base) {
        AddHost(race.one(), base);
        const Decision held = race.one().Must(Claim(base, {base}, 1));
        const Generation seen = held.result.consumers.at(0).second;
        return Race::Pair{Claim(base, {base}, 2, seen), Claim(base, {base}, 3, seen)};
      },
      [](int base, const Decision& first, const Decision& second, const State& state) {
        EXPECT_EQ(Words(first, second), first.status.ok()
                                            ? "OK CONSUMER_GENERATION_CONFLICT"
                                            : "CONSUMER_GENERATION_CONFLICT OK");  // P-122
        EXPECT_EQ(UsedOf(state, base), first.status.ok() ? 2 : 3);                 // P-122, P-123
      });
}

// Nothing that happens to a provider refuses a claim that has room, and no claim refuses a change
// of the provider's configuration.
TEST_P(LedgerRace, AClaimIsNotRefusedForItsProvidersGeneration) {
  Race race(GetParam());
  race.InEveryOrder(
      [&](int base) {
        const Generation generation = AddHost(race.one(), base)->generation;
        return Race::Pair{Claim(base, {base}, 2), Offer(base, generation, 16, 1024)};
      },
      [](int base, const Decision& claim, const Decision& offer, const State& state) {
        EXPECT_EQ(Words(claim, offer), "OK OK");  // P-148, D-18
        EXPECT_EQ(UsedOf(state, base), 2);
        EXPECT_EQ(state.FindProvider(ProviderNumber(base))->config().inventories[0].capacity, 16);
      });
}

TEST_P(LedgerRace, AClaimAndTheEndOfItsInventoryExcludeEachOther) {
  Race race(GetParam());
  race.InEveryOrder(
      [&](int base) {
        AddHost(race.one(), base);
        return Race::Pair{Claim(base, {base}, 2),
                          DeleteInventory{ProviderNumber(base), std::nullopt, "VCPU"}};
      },
      [](int base, const Decision& claim, const Decision& deletion, const State& state) {
        EXPECT_EQ(Words(claim, deletion),
                  claim.status.ok() ? "OK INVENTORY_IN_USE" : "NO_INVENTORY OK");  // P-152
        EXPECT_EQ(UsedOf(state, base), claim.status.ok() ? 2 : 0);                 // P-152
      });
}

TEST_P(LedgerRace, AClaimAndAReshapeExcludeEachOther) {
  Race race(GetParam());
  race.InEveryOrder(
      [&](int base) {
        const Generation generation = AddHost(race.one(), base)->generation;
        const auto place = race.one().ledger().Newest()->FindProvider(ProviderNumber(base));
        Reshape reshape;
        reshape.providers.push_back(
            {ProviderNumber(base), generation, place->allocation_generation(), {}});
        return Race::Pair{Claim(base, {base}, 2), reshape};
      },
      [](int base, const Decision& claim, const Decision& reshape, const State& state) {
        EXPECT_EQ(Words(claim, reshape), claim.status.ok() ? "OK PROVIDER_GENERATION_CONFLICT"
                                                           : "NO_INVENTORY OK");  // P-152, P-232
        EXPECT_EQ(UsedOf(state, base), claim.status.ok() ? 2 : 0);                // P-152
      });
}

// Owners, types, aggregates and classes come into being with whoever names them first; whoever is
// second hears nothing of it.
TEST_P(LedgerRace, WhatBothMakeIsMadeOnce) {
  Race race(GetParam());
  const auto both_succeed = [&](const Race::Make& make) {
    race.InEveryOrder(make, [](int, const Decision& first, const Decision& second, const State&) {
      EXPECT_EQ(Words(first, second), "OK OK");  // P-150
    });
  };
  both_succeed([&](int base) {
    AddHost(race.one(), base);
    std::vector<CommandBody> claims;
    for (const int consumer : {base, base + 1}) {
      SetAllocations claim = std::get<SetAllocations>(Claim(consumer, {base}, 1));
      claim.consumers[0].project = absl::StrCat("project", base);  // SB 2009159
      claim.consumers[0].type = absl::StrCat("TYPE", base);
      claims.emplace_back(claim);
    }
    return Race::Pair{claims[0], claims[1]};
  });
  both_succeed([&](int base) {
    std::vector<CommandBody> sets;
    for (const int number : {base, base + 1}) {
      const Generation generation = AddHost(race.one(), number)->generation;
      const AggregateId aggregate{Uuid{0x3000, static_cast<uint64_t>(base)}};
      sets.emplace_back(SetProviderAggregates{ProviderNumber(number), generation, {aggregate}});
    }
    return Race::Pair{sets[0], sets[1]};
  });
  race.InEveryOrder(
      [](int base) {
        const CreateClass ensure{absl::StrCat("CUSTOM_C", base), true};
        return Race::Pair{ensure, ensure};
      },
      [](int, const Decision& first, const Decision& second, const State&) {
        EXPECT_EQ(Words(first, second), "OK OK");                // P-35, P-150
        EXPECT_NE(first.result.created, second.result.created);  // P-35
      });
}

// Whoever is second finds another generation, and both consumers hold what the first one left.
TEST(LedgerRace, AMoveEndsOnce) {
  Race race;
  race.InEveryOrder(
      [&](int base) {
        AddHost(race.one(), base);
        AddHost(race.one(), base + 1);
        InstanceRecord instance;
        instance.id = InstanceId{ConsumerNumber(base).uuid};
        instance.project = instance.user = "project";
        instance.host = absl::StrCat("h", base);
        instance.vm_state = "active";
        race.one().Must(SetInstance{instance, std::nullopt});
        MigrationRecord migration;
        migration.id = MigrationId{ConsumerNumber(base + 1).uuid};
        migration.instance = instance.id;
        migration.source_host = instance.host;
        migration.source_node = ProviderNumber(base);
        migration.destination_host = absl::StrCat("h", base + 1);
        migration.destination_node = ProviderNumber(base + 1);
        race.one().Must(CreateMigration{migration});
        race.one().Must(Claim(base, {base + 1}, 3));
        race.one().Must(Claim(base + 1, {base}, 2));
        const Records& records = race.one().ledger().Newest()->records();
        EndMove revert{migration.id, MoveEnd::kReverted,
                       records.FindMigration(migration.id)->generation,
                       records.FindInstance(instance.id)->generation, nullptr};
        EndMove confirm = revert;
        confirm.end = MoveEnd::kConfirmed;
        instance.host = migration.destination_host;
        confirm.instance = std::make_shared<const InstanceRecord>(instance);
        return Race::Pair{confirm, revert};
      },
      [](int base, const Decision& confirm, const Decision& revert, const State& state) {
        const bool confirmed = confirm.status.ok();
        EXPECT_EQ(Words(confirm, revert), confirmed ? "OK RECORD_CONFLICT" : "RECORD_CONFLICT OK");
        EXPECT_EQ(UsedOf(state, base), confirmed ? 0 : 2);                 // T-173, T-174
        EXPECT_EQ(UsedOf(state, base + 1), confirmed ? 3 : 0);             // T-173, T-174
        EXPECT_EQ(state.FindConsumer(ConsumerNumber(base + 1)), nullptr);  // T-221
        const InstanceId instance{ConsumerNumber(base).uuid};
        EXPECT_EQ(state.records().FindInstance(instance)->host,
                  absl::StrCat("h", confirmed ? base + 1 : base));
      });
}

// Refused at one stage after another, with neighbours that are not.
TEST_P(LedgerRace, AReshapeThatFailsMovesNoGeneration) {
  Race race(GetParam());
  const auto host = AddHost(race.one(), 1);
  AddHost(race.one(), 2);
  const Decision held = race.one().Must(Claim(1, {1}, 2));
  const auto place_before = race.one().ledger().Newest()->FindProvider(ProviderNumber(1));
  const ReshapedProvider same{
      ProviderNumber(1), host->generation, place_before->allocation_generation(), {}};
  const ReshapedProvider gone{ProviderNumber(9), Generation{1}, Generation{1}, {}};
  ReshapedProvider stale = same;
  stale.expected_generation = host->generation.Next();
  const auto moved = [&](int provider, int amount, std::optional<Generation> seen) {
    return std::get<SetAllocations>(Claim(1, {provider}, amount, seen)).consumers;
  };
  const std::optional<Generation> seen = held.result.consumers.at(0).second;
  const std::vector<Decision> decisions = race.InOneBatch({
      Reshape{{gone}, {}},
      Reshape{{stale}, {}},
      Claim(2, {2}, 1),
      Reshape{{same}, moved(2, 2, std::nullopt)},
      Reshape{{same}, moved(9, 2, seen)},
      Reshape{{same}, {}},
      Reshape{{same}, moved(2, 8, seen)},
  });
  std::vector<std::string> words;
  for (const Decision& decision : decisions) words.push_back(WordOf(decision));
  EXPECT_EQ(words,
            (std::vector<std::string>{"PROVIDER_NOT_FOUND", "PROVIDER_GENERATION_CONFLICT", "OK",
                                      "CONSUMER_GENERATION_CONFLICT", "PROVIDER_NOT_FOUND",
                                      "INVENTORY_IN_USE", "CAPACITY_EXCEEDED"}));  // P-229
  const StatePtr state = race.one().ledger().Newest();
  const auto place = state->FindProvider(ProviderNumber(1));
  EXPECT_EQ(place->config().generation, host->generation);                           // P-230
  EXPECT_EQ(place->allocation_generation(), place_before->allocation_generation());  // P-230
  EXPECT_EQ(state->FindConsumer(ConsumerNumber(1))->generation, *seen);              // P-230
}

}  // namespace
}  // namespace berth::placement
