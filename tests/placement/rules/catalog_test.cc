#include <string>
#include <vector>

#include "gtest/gtest.h"
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

}  // namespace
}  // namespace berth::placement
