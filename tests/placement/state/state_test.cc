// Random commands against a model in plain maps, and what must end the process.
#include "placement/state/state.h"

#include <set>
#include <thread>

#include "gtest/gtest.h"
#include "placement/values/capacity.h"
#include "tests/worlds/model_state.h"
#include "tests/worlds/random_commands.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

TEST(State, AgreesWithItsModelAndLeavesCopiesAlone) {
  RandomCommands commands(Seed(), 30, 40);
  State state;
  std::vector<std::pair<State, ModelState>> older;
  for (int i = 0; i < 1500; ++i) {
    state.Apply(commands.Next());
    if (i % 25 == 0) ExpectSame(state, commands.model());
    if (i % 100 == 0) older.emplace_back(state, commands.model());
    if (testing::Test::HasFailure()) FAIL() << "after command " << i;
  }
  ExpectSame(state, commands.model());
  for (const auto& [state_then, model_then] : older) ExpectSame(state_then, model_then);
}

// A kind of change that is never drawn is one of which the tests with random commands tell nothing.
TEST(RandomCommands, DrawEachKindOfChange) {
  RandomCommands commands(Seed(), 3, 3);
  std::set<size_t> drawn;
  for (int i = 0; i < 5000; ++i) {
    for (const Change& change : commands.Next()) drawn.insert(change.index());
  }
  EXPECT_EQ(drawn.size(), std::variant_size_v<Change> - 1);  // all but FormatRaised
}

// The thread sanitizer watches: readers walk and drop the published state while its copy changes.
TEST(State, CopiesServeOtherThreads) {
  RandomCommands commands(Seed(), 30, 40);
  State state;
  for (int i = 0; i < 300; ++i) state.Apply(commands.Next());
  for (int round = 0; round < 30; ++round) {
    const ModelState model = commands.model();
    StatePtr published = std::make_shared<const State>(state);
    std::thread reader(
        [published = std::move(published), &model] { ExpectSame(*published, model); });
    for (int i = 0; i < 10; ++i) state.Apply(commands.Next());
    reader.join();
  }
}

TEST(State, HandsOutNoIdTwiceAfterALoad) {
  State state;
  state.Apply({ClassPut{ClassId{1}, "CUSTOM_A"}, TraitPut{TraitId{1}, "CUSTOM_T"}});
  const State before = state;
  Position position;
  position.next_class_id = 7;
  position.next_trait_id = 9;
  state.set_position(position);
  EXPECT_EQ(state.catalog().classes.NextId(), ClassId{7});
  EXPECT_EQ(state.catalog().traits.NextId(), TraitId{9});
  EXPECT_EQ(before.catalog().classes.NextId(), ClassId{2});
  EXPECT_EQ(state.position().next_class_id, 7u);
}

constexpr ClassId kClass{1};
constexpr ClassId kOtherClass{2};
constexpr TraitId kTrait{1};
const ProviderId kRoot{Uuid{1, 1}};
const ProviderId kChild{Uuid{1, 2}};
const ProviderId kAbsent{Uuid{9, 9}};
const ConsumerId kConsumer{Uuid{2, 1}};
const ConsumerId kNewConsumer{Uuid{2, 2}};

struct ConfigDraft {
  ProviderId id;
  std::string name;
  std::optional<ProviderId> parent = std::nullopt;
  std::vector<ClassId> classes = {kClass};
  int64_t generation = 2;
  std::vector<TraitId> traits = {};
};

Change Put(const ConfigDraft& draft) {
  ProviderConfig config;
  config.id = draft.id;
  config.name = draft.name;
  config.parent = draft.parent;
  config.generation = {draft.generation};
  for (const ClassId id : draft.classes) {
    config.inventories.push_back({id, Inventory{.total = 10}, 10});
  }
  config.traits = draft.traits;
  return ProviderPut{std::make_shared<const ProviderConfig>(std::move(config))};
}

Change Put(ConsumerId id, std::vector<Allocation> rows, int64_t generation = 2) {
  const auto owner = std::make_shared<const Owner>(Owner{"project", "user", "TYPE"});
  return ConsumerPut{std::make_shared<const Consumer>(Consumer{.id = id,
                                                               .generation = {generation},
                                                               .owner = owner,
                                                               .allocations = std::move(rows),
                                                               .created_at = absl::UnixEpoch(),
                                                               .updated_at = absl::UnixEpoch()})};
}

// Two classes, a trait, a root with a child that has the trait, and a consumer of the root.
State SmallWorld() {
  State state;
  state.Apply({ClassPut{kClass, "VCPU"}, ClassPut{kOtherClass, "DISK_GB"}, TraitPut{kTrait, "T"},
               Put({.id = kRoot, .name = "root"}),
               Put({.id = kChild, .name = "child", .parent = kRoot, .traits = {kTrait}}),
               Put(kConsumer, {{kRoot, kClass, 3}}, 1), ProviderUsed{kRoot, {3}, {{kClass, 3}}}});
  return state;
}

TEST(StateDeathTest, EndsTheProcessOnWhatCannotBe) {
  const std::vector<std::pair<const char*, Changes>> cases = {
      {"a class twice", {ClassPut{kClass, "CUSTOM_X"}}},
      {"a name of a class twice", {ClassPut{ClassId{5}, "VCPU"}}},
      {"a class in use", {ClassRemoved{kClass}}},  // P-38
      {"an unknown class", {ClassRemoved{ClassId{5}}}},
      {"a trait in use", {TraitRemoved{kTrait}}},  // P-44
      {"an unknown trait", {TraitRemoved{TraitId{5}}}},
      {"a name twice", {Put({.id = kAbsent, .name = "child"})}},  // P-11
      {"no name", {Put({.id = kAbsent, .name = ""})}},
      {"an unknown parent", {Put({.id = kChild, .name = "child", .parent = kAbsent})}},    // P-1
      {"a circle", {Put({.id = kRoot, .name = "root", .parent = kChild})}},                // P-1
      {"a circle of one", {Put({.id = kRoot, .name = "root", .parent = kRoot})}},          // P-1
      {"a generation that falls", {Put({.id = kRoot, .name = "root", .generation = 1})}},  // P-5
      {"a class that is not there", {Put({.id = kRoot, .name = "root", .classes = {ClassId{5}}})}},
      {"classes in disorder",
       {Put({.id = kRoot, .name = "root", .classes = {kOtherClass, kClass}})}},
      {"a trait that is not there", {Put({.id = kRoot, .name = "root", .traits = {TraitId{5}}})}},
      {"a used class dropped", {Put({.id = kRoot, .name = "root", .classes = {}})}},  // P-2
      {"an unknown provider removed", {ProviderRemoved{kAbsent}}},
      {"a provider in use removed", {ProviderRemoved{kChild}, ProviderRemoved{kRoot}}},  // P-2
      {"an only parent removed", {ConsumerRemoved{kConsumer}, ProviderRemoved{kRoot}}},  // P-61
      {"rows of nobody", {Put(kNewConsumer, {})}},                                       // P-3
      {"a row of nothing", {Put(kNewConsumer, {{kRoot, kClass, 0}})}},                   // P-25
      {"a row twice", {Put(kNewConsumer, {{kRoot, kClass, 1}, {kRoot, kClass, 1}})}},
      {"rows in disorder", {Put(kNewConsumer, {{kChild, kClass, 1}, {kRoot, kClass, 1}})}},
      {"a row on no provider", {Put(kNewConsumer, {{kAbsent, kClass, 1}})}},              // P-2
      {"a row on no inventory", {Put(kNewConsumer, {{kRoot, kOtherClass, 1}})}},          // P-2
      {"a consumer's generation that stays", {Put(kConsumer, {{kRoot, kClass, 1}}, 1)}},  // P-5
      {"an unknown consumer removed", {ConsumerRemoved{kNewConsumer}}},                   // P-3
      {"use that is no sum",
       {Put(kNewConsumer, {{kRoot, kClass, 1}}), ProviderUsed{kRoot, {4}, {{kClass, 5}}}}},  // P-2
      {"use of another class", {ProviderUsed{kRoot, {4}, {{kOtherClass, 3}}}}},
      {"use of nothing", {ProviderUsed{kRoot, {4}, {}}}},
      {"use on no provider", {ProviderUsed{kAbsent, {4}, {}}}},
      {"steps in disorder", {ConsumerRemoved{kConsumer}, Put({.id = kAbsent, .name = "late"})}},
      {"an unknown service removed", {ServiceRemoved{"host", "binary"}}},
      {"an unknown node removed", {NodeRemoved{kAbsent}}},
  };
  for (const auto& [name, changes] : cases) {
    EXPECT_DEATH(SmallWorld().Apply(changes), "BERTH_CHECK failed") << name;
  }
}

// Half-way states need not make sense: a class goes while its rows move, within one command.
TEST(State, LooksAtTheEndOfACommandOnly) {
  State state = SmallWorld();
  state.Apply({Put({.id = kRoot, .name = "child", .classes = {kOtherClass}}),
               Put({.id = kChild, .name = "root", .parent = kRoot}),
               Put(kConsumer, {{kRoot, kOtherClass, 2}, {kChild, kClass, 1}}),
               ProviderUsed{kRoot, {4}, {{kOtherClass, 2}}},
               ProviderUsed{kChild, {4}, {{kClass, 1}}}});
  EXPECT_EQ(state.FindProvider(kRoot)->used(0), 2);
  EXPECT_EQ(state.FindProvider(kChild)->used(0), 1);
  EXPECT_EQ(state.FindProviderByName("child"), kRoot);
}

}  // namespace
}  // namespace berth::placement
