#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

TEST(RulesCatalog, Classes) {
  World world("cn1{VCPU:8 used 1, CUSTOM_USED:8 used 1}");
  RunScript(world, R"(
    class create CUSTOM_                 INVALID_NAME              # P-20
    class create CUSTOM_a                INVALID_NAME              # P-21
    class create XCUSTOM_A               INVALID_NAME              # P-21
    class create CUSTOM_A-B              INVALID_NAME              # P-21
    class create VCPU                    INVALID_NAME              # P-34
    class create CUSTOM_A                OK                        # P-34
    class create CUSTOM_A                RESOURCE_CLASS_EXISTS     # P-34
    class ensure CUSTOM_A                OK                        # P-35
    class ensure CUSTOM_B                OK                        # P-35
    class ensure VCPU                    INVALID_NAME              # P-35
    class delete lower                   INVALID_FIELD
    class delete NO_SUCH                 RESOURCE_CLASS_NOT_FOUND  # P-37
    class delete VCPU                    STANDARD_IMMUTABLE        # P-37: before it is in use
    class delete PCPU                    STANDARD_IMMUTABLE        # P-31
    class delete CUSTOM_USED             RESOURCE_CLASS_IN_USE     # P-37
    release held-by-cn1                  OK
    class delete CUSTOM_USED             RESOURCE_CLASS_IN_USE     # P-38
    inventory drop cn1 CUSTOM_USED       OK
    class delete CUSTOM_USED             OK                        # P-37
    class delete CUSTOM_USED             RESOURCE_CLASS_NOT_FOUND
  )");
}

TEST(RulesCatalog, CreatedIsTold) {
  World world;
  EXPECT_TRUE(world.Must(CreateClass{"CUSTOM_A", true}).result.created);   // P-35
  EXPECT_FALSE(world.Must(CreateClass{"CUSTOM_A", true}).result.created);  // P-35
  EXPECT_TRUE(world.Must(EnsureTrait{"CUSTOM_A"}).result.created);         // P-42
  EXPECT_FALSE(world.Must(EnsureTrait{"CUSTOM_A"}).result.created);        // P-42
}

TEST(RulesCatalog, NamesAreAtMost255Long) {
  World world;
  const std::string longest = "CUSTOM_" + std::string(248, 'X');
  EXPECT_TRUE(world.Do(CreateClass{longest}).ok());
  EXPECT_FALSE(world.Do(CreateClass{longest + "X"}).ok());  // 1.4
  EXPECT_TRUE(world.Do(EnsureTrait{longest}).ok());
  EXPECT_FALSE(world.Do(EnsureTrait{longest + "X"}).ok());  // 1.4
}

TEST(RulesCatalog, ANewClassOfAnOldNameIsAnother) {
  World world;
  world.Must(CreateClass{"CUSTOM_A"});
  const auto first = world.state().catalog().classes.Find("CUSTOM_A");
  world.Must(DeleteClass{"CUSTOM_A"});
  world.Must(CreateClass{"CUSTOM_A"});
  EXPECT_NE(world.state().catalog().classes.Find("CUSTOM_A"), first);  // P-40
}

TEST(RulesCatalog, Traits) {
  World world("cn1[CUSTOM_USED,OWNER_NOVA]");
  RunScript(world, R"(
    trait ensure CUSTOM_                 INVALID_NAME         # P-20
    trait ensure HW_CPU_X86_AVX          INVALID_NAME         # P-42
    trait ensure CUSTOM_A                OK                   # P-42
    trait ensure CUSTOM_A                OK                   # P-42
    trait delete lower                   INVALID_FIELD
    trait delete NO_SUCH                 TRAIT_NOT_FOUND      # P-44: not STANDARD_IMMUTABLE
    trait delete OWNER_NOVA              STANDARD_IMMUTABLE   # P-44: before it is in use
    trait delete CUSTOM_USED             TRAIT_IN_USE         # P-44
    clear cn1                            OK
    trait delete CUSTOM_USED             OK                   # P-44
    trait delete CUSTOM_USED             TRAIT_NOT_FOUND      # P-44
  )");
}

TEST(RulesCatalog, StandardNames) {
  World world("cn1{VCPU:8}");
  EnsureStandardNames names;
  names.classes = {"VCPU", "NEW_B", "MEMORY_MB", "NEW_A", "NEW_B"};
  names.traits = {"NEW_TRAIT", "OWNER_NOVA"};
  const Outcome outcome = world.Must(names);
  EXPECT_EQ(outcome.changes.size(), 3u);  // P-32: only what is missing
  const NameTable<ClassId>& classes = world.state().catalog().classes;
  EXPECT_LT(classes.Find("NEW_B"), classes.Find("NEW_A"));  // P-31: in the order given
  EXPECT_LT(classes.Find("VCPU"), classes.Find("MEMORY_MB"));
  EXPECT_TRUE(world.Must(names).changes.empty());                      // P-32: idempotent
  EXPECT_TRUE(world.Must(EnsureStandardNames{}).changes.empty());      // P-32: nothing goes
  EXPECT_TRUE(classes.Find("NEW_A"));                                  // P-32
  EXPECT_FALSE(world.Do(EnsureStandardNames{{"CUSTOM_A"}, {}}).ok());  // P-33
  EXPECT_FALSE(world.Do(EnsureStandardNames{{}, {"lower"}}).ok());     // P-21
  RunScript(world, "class delete NEW_A      STANDARD_IMMUTABLE  # P-33");
}

// Aggregates that have a name; what is refused leaves nothing behind.
class AggregateWorld : public World {
 public:
  using World::World;

  static Aggregate Named(const std::string& name, uint64_t number = 1) {
    Aggregate aggregate;
    aggregate.id = AggregateId{Uuid{14, number}};
    aggregate.name = name;
    return aggregate;
  }
  AggregatePtr Stored(uint64_t number = 1) {
    return state().aggregates().Find(AggregateId{Uuid{14, number}});
  }
  // "OK", or the code and the reason with the field at fault, if there is one.
  std::string Answer(CommandBody body) {
    const std::string before = Text();
    const absl::StatusOr<Outcome> outcome = Do(std::move(body));
    if (outcome.ok()) return "OK";
    EXPECT_EQ(Text(), before);
    const std::optional<Refusal> refusal = RefusalOf(outcome.status());
    if (!refusal || refusal->items.empty()) return outcome.status().ToString();
    std::string words =
        absl::StrCat(absl::StatusCodeToString(outcome.status().code()), " ", refusal->reason);
    const auto field = refusal->items[0].find("field");
    return field == refusal->items[0].end() ? words : absl::StrCat(words, " ", field->second);
  }
  // Creates the aggregate, or replaces it at its present generation.
  std::string Set(const Aggregate& aggregate) {
    const AggregatePtr before = state().aggregates().Find(aggregate.id);
    return Answer(
        SetAggregate{aggregate, before ? std::optional(before->generation) : std::nullopt});
  }
  std::string SetWith(const std::map<std::string, std::string>& metadata) {
    Aggregate aggregate = Named("rack");
    aggregate.metadata = metadata;
    return Set(aggregate);
  }
};

TEST(RulesAggregate, TheNameIsOneLineOfUpTo255Characters) {
  AggregateWorld world;
  const char* const wrong = "INVALID_ARGUMENT INVALID_FIELD aggregate.name";
  EXPECT_EQ(world.Set(AggregateWorld::Named("")), wrong);
  EXPECT_EQ(world.Set(AggregateWorld::Named("a\nb")), wrong);
  EXPECT_EQ(world.Set(AggregateWorld::Named(std::string(256, 'n'))), wrong);
  std::string longest;
  for (int i = 0; i < 255; ++i) longest += "ü";
  EXPECT_EQ(world.Set(AggregateWorld::Named(longest)), "OK");
}

TEST(RulesAggregate, MetadataHasLimits) {
  AggregateWorld world;
  const char* const wrong = "INVALID_ARGUMENT INVALID_FIELD aggregate.metadata";
  EXPECT_EQ(world.SetWith({{"", "v"}}), wrong);
  EXPECT_EQ(world.SetWith({{"a\nb", "v"}}), wrong);
  EXPECT_EQ(world.SetWith({{std::string(256, 'k'), "v"}}), wrong);
  EXPECT_EQ(world.SetWith({{"k", std::string(1025, 'v')}}), wrong);
  EXPECT_EQ(world.SetWith({{"k", std::string(1 << 20, 'v')}}), wrong);
  EXPECT_EQ(world.SetWith({{std::string(1 << 20, 'k'), "v"}}), wrong);
  EXPECT_EQ(
      world.SetWith({{std::string(255, 'k'), std::string(1024, 'v')}, {"=", "\n"}, {"e", ""}}),
      "OK");
  std::map<std::string, std::string> many;
  for (int i = 0; i < 256; ++i) many[absl::StrCat(i)] = "v";
  EXPECT_EQ(world.SetWith(many), "OK");
  many["one more"] = "v";
  EXPECT_EQ(world.SetWith(many), wrong);
  std::map<std::string, std::string> large;
  for (int i = 0; i < 64; ++i) large[absl::StrCat("k", 100 + i)] = std::string(1020, 'v');
  EXPECT_EQ(world.SetWith(large), "OK");  // 64 KiB together
  large["k100"] += 'v';
  EXPECT_EQ(world.SetWith(large), wrong);
}

TEST(RulesAggregate, RefusalsComeInOrder) {
  AggregateWorld world;
  ASSERT_EQ(world.Set(AggregateWorld::Named("rack-1")), "OK");
  ASSERT_EQ(world.Set(AggregateWorld::Named("rack-2", 2)), "OK");
  const Generation generation = world.Stored()->generation;
  SetAggregate command{AggregateWorld::Named("rack-2"), std::nullopt};
  command.aggregate.metadata = {{"", ""}};
  EXPECT_EQ(world.Answer(command), "INVALID_ARGUMENT INVALID_FIELD aggregate.metadata");
  command.aggregate.metadata.clear();
  EXPECT_EQ(world.Answer(command), "ABORTED RECORD_CONFLICT");  // it is there already
  command.expected_generation = generation.Next();
  EXPECT_EQ(world.Answer(command), "ABORTED RECORD_CONFLICT");
  command.expected_generation = generation;
  EXPECT_EQ(world.Answer(command), "ALREADY_EXISTS DUPLICATE_AGGREGATE aggregate.name");
  command.aggregate.name = "rack-3";
  EXPECT_EQ(world.Answer(command), "OK");
  command.aggregate = AggregateWorld::Named("rack-9", 9);
  EXPECT_EQ(world.Answer(command), "ABORTED RECORD_CONFLICT");  // there is none
  DeleteAggregate removal{AggregateId{Uuid{14, 9}}, generation};
  EXPECT_EQ(world.Answer(removal), "NOT_FOUND AGGREGATE_NOT_FOUND aggregate_uuid");
  removal.aggregate = AggregateId{Uuid{14, 1}};
  EXPECT_EQ(world.Answer(removal), "ABORTED RECORD_CONFLICT");
  removal.expected_generation = world.Stored()->generation;
  EXPECT_EQ(world.Answer(removal), "OK");
  EXPECT_EQ(world.Stored(), nullptr);
}

TEST(RulesAggregate, AWriteReplacesTheWhole) {
  AggregateWorld world;
  ASSERT_EQ(world.SetWith({{"a", "1"}, {"b", "2"}}), "OK");
  const AggregatePtr first = world.Stored();
  world.Must(EnsureTrait{"CUSTOM_A"});
  ASSERT_EQ(world.SetWith({{"b", "3"}}), "OK");
  const AggregatePtr second = world.Stored();
  EXPECT_EQ(second->metadata, (std::map<std::string, std::string>{{"b", "3"}}));
  EXPECT_EQ(second->generation, first->generation.Next());
  EXPECT_EQ(second->created_at, first->created_at);
  EXPECT_GT(second->updated_at, first->updated_at);
  // D-39: one that is made again starts above all generations that it had before.
  ASSERT_EQ(world.Answer(DeleteAggregate{first->id, std::nullopt}), "OK");
  ASSERT_EQ(world.SetWith({}), "OK");
  EXPECT_GT(world.Stored()->generation, second->generation);
}

TEST(RulesAggregate, ANameIsFreeWhenItsAggregateHasAnotherOrIsGone) {
  AggregateWorld world;
  ASSERT_EQ(world.Set(AggregateWorld::Named("a", 1)), "OK");
  ASSERT_EQ(world.Set(AggregateWorld::Named("a", 1)), "OK");  // it keeps its own
  ASSERT_EQ(world.Set(AggregateWorld::Named("b", 1)), "OK");
  ASSERT_EQ(world.Set(AggregateWorld::Named("a", 2)), "OK");
  EXPECT_EQ(world.state().aggregates().FindByName("a"), world.Stored(2));
  ASSERT_EQ(world.Answer(DeleteAggregate{AggregateId{Uuid{14, 2}}, std::nullopt}), "OK");
  EXPECT_EQ(world.state().aggregates().FindByName("a"), nullptr);
  ASSERT_EQ(world.Set(AggregateWorld::Named("a", 3)), "OK");
}

TEST(RulesAggregate, ProvidersNameAnyUuidWithOrWithoutAName) {
  AggregateWorld world("cn1{VCPU:8}(agg1)");  // P-22: it has no name
  Aggregate aggregate = AggregateWorld::Named("rack");
  aggregate.id = world.aggregate("agg1");
  ASSERT_EQ(world.Set(aggregate), "OK");
  ASSERT_EQ(world.Set(AggregateWorld::Named("of nobody", 7)), "OK");
  ASSERT_EQ(world.Answer(DeleteAggregate{aggregate.id, std::nullopt}), "OK");
  EXPECT_TRUE(world.place("cn1").config().IsMemberOf(aggregate.id));
}

}  // namespace
}  // namespace berth::placement
