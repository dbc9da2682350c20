#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

// Errors by precedence: each line repairs the one before it.
TEST(RulesProvider, CreateLadder) {
  World world;
  RunScript(world, R"(
    create taken                            OK
    create cn1 below taken                  OK
    create self below self                  SELF_PARENT           # P-47
    create taken below gone as cn1          PARENT_NOT_FOUND      # P-47: before the clashes
    create taken below taken as cn1         DUPLICATE_PROVIDER    # P-47: both
    create cn3 below taken as cn1           DUPLICATE_PROVIDER    # P-47: the uuid
    create taken as cn3                     DUPLICATE_PROVIDER    # P-11
    create Taken below taken as cn3         OK                    # P-11: names differ by case
  )");
}

TEST(RulesProvider, NameLength) {
  World world;
  const auto create = [&](const std::string& name, const std::string& id) {
    const auto outcome = world.Do(CreateProvider{world.provider(id), name, std::nullopt});
    return outcome.ok() ? "OK" : RefusalOf(outcome.status())->reason;
  };
  std::string wide;
  for (int i = 0; i < 200; ++i) absl::StrAppend(&wide, "é");
  EXPECT_EQ(create("", "a"), "INVALID_FIELD");          // P-10
  EXPECT_EQ(create(wide, "b"), "OK");                   // P-10: code points, not bytes
  EXPECT_EQ(create(wide + "e", "c"), "INVALID_FIELD");  // P-10
  const auto self = world.provider("d");
  const auto outcome = world.Do(CreateProvider{self, "", self});
  EXPECT_EQ(RefusalOf(outcome.status())->reason, "INVALID_FIELD");  // P-47: form comes first
  world.Must(CreateProvider{world.provider("e"), "e", std::nullopt});
  const auto renamed = world.Do(UpdateProvider{world.provider("e"), "", {}, {}});
  EXPECT_EQ(RefusalOf(renamed.status())->reason, "INVALID_FIELD");  // P-10: on update too
}

TEST(RulesProvider, CreateAnswers) {
  World world("cn1");
  const Generation root_generation = world.generation("cn1");
  const Outcome outcome =
      world.Must(CreateProvider{world.provider("numa"), "numa", world.provider("cn1")});
  ASSERT_EQ(outcome.result.providers.size(), 1u);  // P-48
  EXPECT_EQ(outcome.result.providers[0].config->id, world.provider("numa"));
  EXPECT_EQ(outcome.result.providers[0].root, world.provider("cn1"));                 // P-48
  EXPECT_EQ(outcome.result.providers[0].config->generation.value, world.commands());  // P-64
  EXPECT_EQ(world.allocation_generation("numa").value, world.commands());             // P-64
  EXPECT_EQ(outcome.result.providers[0].config->created_at,
            absl::UnixEpoch() + absl::Seconds(world.commands()));  // P-8
  EXPECT_EQ(world.generation("cn1"), root_generation);             // P-49
}

TEST(RulesProvider, DuplicatesNameWhatClashes) {
  World world("cn1\ncn2");
  const auto outcome = world.Do(CreateProvider{world.provider("cn1"), "cn2", std::nullopt});
  const std::optional<Refusal> refusal = RefusalOf(outcome.status());
  ASSERT_EQ(refusal->items.size(), 2u);  // P-47: both are named
  EXPECT_EQ(refusal->items[0].at("field"), "uuid");
  EXPECT_EQ(refusal->items[0].at("provider"), world.provider("cn1").ToString());
  EXPECT_EQ(refusal->items[1].at("field"), "name");
  EXPECT_EQ(refusal->items[1].at("provider"), world.provider("cn2").ToString());  // D-21
}

TEST(RulesProvider, RenameLadder) {
  World world("cn1\ncn2");
  const Generation generation = world.generation("cn1");
  RunScript(world, R"(
    rename gone@stale cn2                   PROVIDER_NOT_FOUND             # P-59
    rename cn1@stale cn2                    PROVIDER_GENERATION_CONFLICT   # P-53
    rename cn1@ cn2                         DUPLICATE_PROVIDER             # P-52
    rename cn1 cn1                          OK                             # P-52: no change
    rename cn1@ other                       OK
    rename cn2 cn1                          OK                             # P-11: free again
  )");
  EXPECT_EQ(world.generation("cn1"), generation);  // P-53: a rename does not move it
  EXPECT_EQ(world.place("cn1").config().name, "other");
}

TEST(RulesProvider, MoveLadder) {
  World world(R"(
    root1
      mid
        leaf
    root2
  )");
  RunScript(world, R"(
    move gone@stale below mid               PROVIDER_NOT_FOUND             # P-59
    move mid@stale below gone               PROVIDER_GENERATION_CONFLICT   # P-53, P-238
    move mid@ below gone                    PARENT_NOT_FOUND               # P-56
    move mid below mid                      PROVIDER_LOOP                  # P-56
    move mid below leaf                     PROVIDER_LOOP                  # P-56
    move root1 below leaf                   PROVIDER_LOOP                  # P-56
    move leaf below root1                   OK                             # P-54: within the tree
    move mid below leaf                     OK                             # P-54
    move root1 below root2                  OK                             # P-58
    move leaf out                           OK                             # P-55
    move leaf out                           OK                             # P-55: already a root
  )");
  EXPECT_EQ(world.place("mid").tree->root_id(), world.provider("leaf"));     // P-13
  EXPECT_EQ(world.place("root1").tree->root_id(), world.provider("root2"));  // P-13, P-58
}

TEST(RulesProvider, MoveTouchesOnlyTheMovedOne) {
  World world(R"(
    root1
      mid{VCPU:8 used 2}(agg)
        leaf{VCPU:8 used 1}
    root2
  )");
  std::map<std::string, Generation> before;
  for (const char* name : {"root1", "mid", "leaf", "root2"}) before[name] = world.generation(name);
  const Generation allocations = world.allocation_generation("mid");
  Outcome outcome = world.Must(UpdateProvider{
      world.provider("mid"), std::nullopt, std::optional(world.provider("root2")), {}});
  EXPECT_EQ(outcome.result.providers.at(0).root, world.provider("root2"));
  EXPECT_EQ(world.generation("mid"), before["mid"].Next());  // P-53: the moved one
  for (const char* name : {"root1", "leaf", "root2"}) {
    EXPECT_EQ(world.generation(name), before[name]) << name;  // P-53
  }
  EXPECT_EQ(world.allocation_generation("mid"), allocations);               // P-54
  EXPECT_EQ(world.used("mid", "VCPU"), 2);                                  // P-54
  EXPECT_EQ(world.place("leaf").tree->root_id(), world.provider("root2"));  // P-13, P-54
  outcome = world.Must(UpdateProvider{
      world.provider("mid"), std::nullopt, std::optional(world.provider("root2")), {}});
  EXPECT_TRUE(outcome.changes.empty());  // P-54: it stands there already
  EXPECT_EQ(outcome.result.providers.at(0).config->id, world.provider("mid"));
}

TEST(RulesProvider, RenameAndMoveAtOnce) {
  World world("root1\n  leaf\nroot2");
  world.Must(UpdateProvider{world.provider("leaf"), "other", std::optional(world.provider("root2")),
                            world.generation("leaf")});
  EXPECT_EQ(world.place("leaf").config().name, "other");                    // P-51
  EXPECT_EQ(world.place("leaf").tree->root_id(), world.provider("root2"));  // P-51
}

TEST(RulesProvider, DeleteLadder) {
  World world(R"(
    cn1{VCPU:8 used 1}
      numa{VCPU:8 used 1}
  )");
  RunScript(world, R"(
    delete gone                             PROVIDER_NOT_FOUND      # P-60
    delete cn1                              PROVIDER_HAS_CHILDREN   # P-60: before its allocations
    delete numa                             PROVIDER_IN_USE         # P-60
    release held-by-numa                    OK
    delete numa                             OK                      # P-61: inventories hinder not
    delete cn1                              PROVIDER_IN_USE         # P-60
    release held-by-cn1                     OK
    delete cn1                              OK
    delete cn1                              PROVIDER_NOT_FOUND
    create cn1                              OK                      # P-64
  )");
  EXPECT_TRUE(world.place("cn1").config().inventories.empty());  // P-60
}

TEST(RulesProvider, GenerationsDoNotComeBack) {
  World world("cn1{VCPU:8}");
  const Generation first = world.generation("cn1");
  world.Must(DeleteProvider{world.provider("cn1")});
  world.Must(CreateProvider{world.provider("cn1"), "cn1", std::nullopt});
  EXPECT_GT(world.generation("cn1"), first);             // P-64, D-39
  EXPECT_GT(world.allocation_generation("cn1"), first);  // P-64, D-39
}

TEST(RulesProvider, DeepAndWideTrees) {
  World world;
  world.Must(CreateProvider{world.provider("p0"), "p0", std::nullopt});
  for (int i = 1; i < 300; ++i) {  // P-50
    world.Must(CreateProvider{world.provider(absl::StrCat("p", i)), absl::StrCat("p", i),
                              world.provider(absl::StrCat("p", i - 1))});
    world.Must(CreateProvider{world.provider(absl::StrCat("q", i)), absl::StrCat("q", i),
                              world.provider("p0")});
  }
  RunScript(world, R"(
    move p0 below p299                      PROVIDER_LOOP           # P-56
    move p150 out                           OK
  )");
  EXPECT_EQ(world.place("p299").tree->root_id(), world.provider("p150"));
  EXPECT_EQ(world.place("p149").tree->root_id(), world.provider("p0"));
}

}  // namespace
}  // namespace berth::placement
