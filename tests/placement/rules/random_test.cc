// Random commands decided by the rules and by a model side by side: the same refusals, the same
// world, the same counters, and the safety properties after each of 20,000 steps.
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <variant>

#include "gtest/gtest.h"
#include "placement/claims/search.h"
#include "placement/rules/rules.h"
#include "placement/values/refusal.h"
#include "tests/worlds/imported.h"
#include "tests/worlds/model_ledger.h"
#include "tests/worlds/random_bodies.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/seed.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

constexpr int kSteps = kSanitized ? 8'000 : 20'000;
constexpr int kStepsToImport = 20;

void ExpectSameGenerations(const State& state, const ModelLedger& model) {
  for (const auto& [id, provider] : model.providers) {
    const auto place = state.FindProvider(id);
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(place->config().generation, provider.generation) << provider.name;  // P-92
    EXPECT_EQ(place->allocation_generation(), provider.allocation_generation)     // P-93
        << provider.name;
  }
  for (const auto& [id, consumer] : model.consumers) {
    ASSERT_NE(state.FindConsumer(id), nullptr);
    EXPECT_EQ(state.FindConsumer(id)->generation, consumer.generation);  // P-119
  }
}

// The claim as it comes from a worker: with choices that it found in `state` some time ago. Names
// that are gone since then it does not notice, so that queries with traits come without.
void Choose(const State& state, CommandBody& body) {
  auto* const place = std::get_if<PlaceClaims>(&body);
  if (place == nullptr || place->members.size() > 1) return;
  const RequestGroup& group = place->members[0].query.groups[0];
  if (!group.required.empty() || !group.forbidden.empty()) return;
  (void)FindChoices(state, {}, place);  // what it refuses is refused again
}

// What the model is to do: choices may be worse than what it would find now, but they must be
// lawful, and there must be none only where it finds none.
CommandBody ForModel(const State& state, const CommandBody& body,
                     const absl::StatusOr<Outcome>& outcome) {
  const auto* const place = std::get_if<PlaceClaims>(&body);
  if (place == nullptr || place->choices.empty() || !outcome.ok()) return body;
  SetAllocations set;
  set.consumers.push_back(
      AllocationsOf(state.catalog(), place->members[0], outcome->result.candidates.at(0)));
  return set;
}

// What `state` holds can be brought into another ledger.
void ExpectPortable(const State& state) {
  State other = EmptyLike(state);
  const auto outcome = Decide(other, ImportOf(state), {absl::UnixEpoch(), Generation{1}});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  other.Apply(outcome->changes);
  CheckSafety(other);
  EXPECT_EQ(TextOf(other), TextOf(state));
}

TEST(RulesRandom, AgreesWithTheModel) {
  const uint64_t seed = Seed();
  RandomBodies bodies(seed);
  ModelLedger model;
  State state;
  State searched;  // of some time ago
  std::map<std::string, int> met;
  for (int step = 1; step <= kSteps && !testing::Test::HasFailure(); ++step) {
    SCOPED_TRACE(testing::Message() << "BERTH_SEED=" << seed << " step " << step);
    Command command{"", "", "", {}, bodies.Next(model)};
    if (step % 10 == 0) searched = state;
    Choose(searched, command.body);
    const RuleContext context{absl::UnixEpoch() + absl::Seconds(step), Generation{step}};
    const absl::StatusOr<Outcome> outcome = Decide(state, command, context);
    model.now = context.now;
    const std::string expected = model.Do(ForModel(state, command.body, outcome), context.fresh);
    const std::string reason = outcome.ok() ? "OK" : RefusalOf(outcome.status())->reason;
    ASSERT_EQ(reason, expected) << outcome.status();
    ++met[reason];
    if (!outcome.ok()) continue;
    const State before = state;
    state.Apply(outcome->changes);
    CheckStep(before, state, context.fresh);
    CheckSafety(state);
    ASSERT_EQ(TextOf(state), model.Text());
    ExpectSameGenerations(state, model);
    if (step % kStepsToImport == 0) ExpectPortable(state);
  }
  for (const auto& [reason, count] : met) std::printf("%6d %s\n", count, reason.c_str());
  for (const char* reason : {"OK",
                             "INVALID_FIELD",
                             "DUPLICATE_PARAMETER",
                             "GENERATION_REQUIRED",
                             "SELF_PARENT",
                             "PROVIDER_LOOP",
                             "PROVIDER_NOT_FOUND",
                             "PARENT_NOT_FOUND",
                             "DUPLICATE_PROVIDER",
                             "PROVIDER_HAS_CHILDREN",
                             "PROVIDER_IN_USE",
                             "PROVIDER_GENERATION_CONFLICT",
                             "INVALID_INVENTORY",
                             "RESOURCE_CLASS_NOT_FOUND",
                             "INVENTORY_IN_USE",
                             "INVENTORY_EXISTS",
                             "INVENTORY_NOT_FOUND",
                             "TRAIT_NOT_FOUND",
                             "CONSUMER_GENERATION_CONFLICT",
                             "CONSUMER_NOT_FOUND",
                             "NEGATIVE_ALLOCATION",
                             "NO_CANDIDATE",
                             "NO_INVENTORY",
                             "UNIT_CONSTRAINT_VIOLATED",
                             "CAPACITY_EXCEEDED"}) {
    EXPECT_GT(met[reason], 0) << reason << " never came up";
  }
}

}  // namespace
}  // namespace berth::placement
