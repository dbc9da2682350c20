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

// Errors by precedence: each line repairs the one before it.
TEST(RulesAllocation, SetLadder) {
  World world("cn1{VCPU:8 used 6 min 2}");
  RunScript(world, R"(
    claim held-by-cn1 new gone{NO_SUCH:0}              INVALID_FIELD                 # P-130: 2
    claim held-by-cn1 new gone{NO_SUCH:9}              CONSUMER_GENERATION_CONFLICT  # P-130: 3
    claim c1 new gone{NO_SUCH:9} cn1{NO_SUCH:9}        PROVIDER_NOT_FOUND            # P-130: 4
    claim c1 new cn1{NO_SUCH:9, DISK_GB:9}             RESOURCE_CLASS_NOT_FOUND      # P-130: 5
    claim c1 new cn1{DISK_GB:9, VCPU:9}                NO_INVENTORY                  # P-130: 6
    claim c1 new cn1{VCPU:1}                           UNIT_CONSTRAINT_VIOLATED      # P-130: 7
    claim c1 new cn1{VCPU:3}                           CAPACITY_EXCEEDED             # P-130: 8
    claim c1 new cn1{VCPU:2}                           OK
  )");
}

TEST(RulesAllocation, SetLadderAcrossConsumers) {
  World world("cn1{VCPU:8 min 2}\ncn2{VCPU:8}");
  RunScript(world, R"(
    # A stage fails for any consumer before the next stage looks at the first one (P-130).
    claim c1 new cn1{VCPU:9} & c2 new cn2{VCPU:0}      INVALID_FIELD                 # P-130
    claim c1 new gone{VCPU:9} & c2 @stale cn2{VCPU:1}  CONSUMER_GENERATION_CONFLICT  # P-130
    claim c1 new cn1{NO_SUCH:9} & c2 new gone{VCPU:1}  PROVIDER_NOT_FOUND            # P-130
    claim c1 new cn1{DISK_GB:9} & c2 new cn2{NO_S:1}   RESOURCE_CLASS_NOT_FOUND      # P-130
    claim c1 new cn1{VCPU:1} & c2 new cn2{DISK_GB:1}   NO_INVENTORY                  # P-130
    claim c1 new cn2{VCPU:9} & c2 new cn1{VCPU:1}      UNIT_CONSTRAINT_VIOLATED      # P-130
    claim c1 new cn2{VCPU:8} & c2 new cn2{VCPU:1}      CAPACITY_EXCEEDED             # P-132
    claim c1 new cn2{VCPU:8}                           OK                            # P-131, P-145
  )");
}

TEST(RulesAllocation, Form) {
  World world("cn1{VCPU:8}\ncn2{VCPU:8}");
  const std::string long_name(256, 'x');
  RunScript(world, R"(
    claim c1 new cn1{}                                      INVALID_FIELD         # P-114
    claim c1 new cn1{VCPU:0}                                INVALID_FIELD         # P-114
    claim c1 new cn1{VCPU:-1}                               INVALID_FIELD         # P-114
    claim c1 new cn1{VCPU:2147483648}                       INVALID_FIELD         # P-7
    claim c1 new cn1{VCPU:2147483647}                       UNIT_CONSTRAINT_VIOLATED  # P-7
    claim c1 new cn1{vcpu:1}                                INVALID_FIELD         # P-114
    claim c1 new cn1{VCPU:1, VCPU:1}                        DUPLICATE_PARAMETER   # P-114
    claim c1 new cn1{VCPU:1} cn2{VCPU:1} cn1{VCPU:1}        DUPLICATE_PARAMETER   # P-114
    claim c1 new cn1{VCPU:1} & c1 new cn2{VCPU:1}           DUPLICATE_PARAMETER   # P-114
    claim c1 new cn1{VCPU:1} for /user/INSTANCE             INVALID_FIELD         # P-114
    claim c1 new cn1{VCPU:1} for project//INSTANCE          INVALID_FIELD         # P-114
    claim c1 new cn1{VCPU:1} for project/user/              INVALID_FIELD         # P-114
    claim c1 new cn1{VCPU:1} for project/user/instance      INVALID_FIELD         # 1.5
    claim c1 new cn1{VCPU:1} for project/user/unknown       INVALID_FIELD         # P-24
    claim c1 new cn1{VCPU:1} for ö/ü/UNKNOWN                OK                    # P-24, P-23
  )");
  RunScript(world, absl::StrCat("claim c2 new cn1{VCPU:1} for ", long_name, "/u/T  INVALID_FIELD"));
  EXPECT_EQ(RefusalOf(world.Do(SetAllocations{}).status())->reason, "INVALID_FIELD");  // P-114
}

TEST(RulesAllocation, Limits) {
  World world("cn1{VCPU:1000000}");
  SetAllocations set;
  for (int i = 0; i < 1000; ++i) {
    set.consumers.push_back(world.Claim(absl::StrCat("c", i), "cn1{VCPU:1}"));
  }
  EXPECT_TRUE(world.Do(set).ok());
  set.consumers.push_back(world.Claim("one more", "cn1{VCPU:1}"));
  EXPECT_EQ(RefusalOf(world.Do(set).status())->reason, "INVALID_FIELD");
  ConsumerAllocations wide = world.Claim("wide", "");
  for (int i = 0; i < 257; ++i) {
    wide.allocations.push_back({world.provider(absl::StrCat("p", i)), {{"VCPU", 1}}});
  }
  EXPECT_EQ(RefusalOf(world.Do(SetAllocations{{wide}}).status())->reason, "INVALID_FIELD");
  wide.allocations.pop_back();
  EXPECT_EQ(RefusalOf(world.Do(SetAllocations{{wide}}).status())->reason, "PROVIDER_NOT_FOUND");
}

TEST(RulesAllocation, ConsumerGenerations) {
  World world("cn1{VCPU:8}");
  RunScript(world, R"(
    claim c1 @stale cn1{VCPU:1}          CONSUMER_GENERATION_CONFLICT   # P-120: a number, none
    claim c1 new cn1{VCPU:1}             OK                             # P-141
    claim c1 new cn1{VCPU:1}             CONSUMER_GENERATION_CONFLICT   # P-121, P-141
    claim c1 @stale cn1{VCPU:1}          CONSUMER_GENERATION_CONFLICT   # P-120
    claim c1 @ cn1{VCPU:2}               OK                             # P-141
    claim c1 @                           OK                             # P-137
    claim c1 @stale                      CONSUMER_GENERATION_CONFLICT   # P-125
    claim c1 new cn1{VCPU:1}             OK                             # P-125, R-10
  )");
  const Generation first = *world.consumer_generation("c1");
  world.Must(ParseCommand(world, "release c1"));
  RunScript(world, "claim c1 new cn1{VCPU:1}   OK");
  EXPECT_GT(*world.consumer_generation("c1"), first);  // P-119, D-39
  const auto late = world.Do(SetAllocations{
      {ConsumerAllocations{world.consumer("c1"), first, "project", "user", "INSTANCE", {}}}});
  EXPECT_EQ(late.status().code(), absl::StatusCode::kAborted);  // D-39
}

TEST(RulesAllocation, AllStaleConsumersAreNamed) {
  World world("cn1{VCPU:8}");
  RunScript(world, "claim c1 new cn1{VCPU:1} & c2 new cn1{VCPU:1}   OK");
  SetAllocations set{{world.Claim("c1", "cn1{VCPU:1}"), world.Claim("c2", "cn1{VCPU:1}"),
                      world.Claim("c3", "cn1{VCPU:1}")}};
  set.consumers[0].expected_generation = std::nullopt;
  set.consumers[2].expected_generation = Generation{9};
  const std::optional<Refusal> refusal = RefusalOf(world.Do(set).status());
  ASSERT_EQ(refusal->items.size(), 2u);  // P-120
  EXPECT_EQ(refusal->items[0].at("consumer"), world.consumer("c1").ToString());
  EXPECT_EQ(refusal->items[0].at("expected_generation"), "new");
  EXPECT_EQ(refusal->items[0].at("actual_generation"),
            absl::StrCat(world.consumer_generation("c1")->value));
  EXPECT_EQ(refusal->items[1].at("consumer"), world.consumer("c3").ToString());
  EXPECT_EQ(refusal->items[1].at("expected_generation"), "9");
  EXPECT_EQ(refusal->items[1].at("actual_generation"), "none");
}

TEST(RulesAllocation, AllViolationsOfTheStageAreNamed) {
  World world("cn1{VCPU:8 used 6, DISK_GB:10 min 2}\ncn2{VCPU:1}");
  const auto refuse = [&](std::vector<ConsumerAllocations> consumers) {
    return *RefusalOf(world.Do(SetAllocations{std::move(consumers)}).status());
  };
  Refusal refusal = refuse({world.Claim("c1", "gone{VCPU:1} cn1{VCPU:1}"),
                            world.Claim("c2", "away{VCPU:1} gone{VCPU:1}")});
  ASSERT_EQ(refusal.items.size(), 2u);  // P-130: each unknown provider once
  EXPECT_EQ(refusal.items[0].at("provider"), world.provider("gone").ToString());
  EXPECT_EQ(refusal.items[0].at("field"), "consumers[0].allocations[0].resources");
  EXPECT_EQ(refusal.items[1].at("provider"), world.provider("away").ToString());
  EXPECT_EQ(refusal.items[1].at("field"), "consumers[1].allocations[0].resources");

  refusal = refuse({world.Claim("c1", "cn1{NO_B:1, VCPU:1}"), world.Claim("c2", "cn1{NO_A:1}")});
  ASSERT_EQ(refusal.items.size(), 2u);  // P-130
  EXPECT_EQ(refusal.items[0].at("resource_class"), "NO_B");
  EXPECT_EQ(refusal.items[1].at("resource_class"), "NO_A");

  refusal = refuse({world.Claim("c1", "cn1{PCPU:1, VCPU:1}"), world.Claim("c2", "cn2{PCPU:1}")});
  ASSERT_EQ(refusal.items.size(), 2u);  // P-130
  EXPECT_EQ(refusal.items[1].at("provider"), world.provider("cn2").ToString());
  EXPECT_EQ(refusal.items[1].at("consumer"), world.consumer("c2").ToString());

  refusal = refuse({world.Claim("c1", "cn1{DISK_GB:1, VCPU:9}"), world.Claim("c2", "cn2{VCPU:1}")});
  ASSERT_EQ(refusal.items.size(), 2u);               // P-130
  EXPECT_EQ(refusal.items[0].at("requested"), "1");  // P-236
  EXPECT_EQ(refusal.items[0].at("min_unit"), "2");   // P-236
  EXPECT_EQ(refusal.items[0].at("max_unit"), "10");  // P-236
  EXPECT_EQ(refusal.items[0].at("step_size"), "1");  // P-236

  refusal = refuse({world.Claim("c1", "cn1{VCPU:2}"), world.Claim("c2", "cn1{VCPU:1}"),
                    world.Claim("c3", "cn2{VCPU:1}")});
  ASSERT_EQ(refusal.items.size(), 1u);               // P-130: each inventory once
  EXPECT_EQ(refusal.items[0].at("requested"), "3");  // P-132: the sum
  EXPECT_EQ(refusal.items[0].at("used"), "6");       // P-236
  EXPECT_EQ(refusal.items[0].at("capacity"), "8");   // P-236
}

TEST(RulesAllocation, Units) {
  World world("cn1{VCPU:24 min 4 max 12 step 4}");
  RunScript(world, R"(
    claim c1 new cn1{VCPU:2}             UNIT_CONSTRAINT_VIOLATED   # P-30: min_unit
    claim c1 new cn1{VCPU:6}             UNIT_CONSTRAINT_VIOLATED   # P-30: step_size
    claim c1 new cn1{VCPU:16}            UNIT_CONSTRAINT_VIOLATED   # P-30: max_unit
    claim c1 new cn1{VCPU:12}            OK                         # P-30
    claim c2 new cn1{VCPU:12}            OK                         # P-30: never the sum
    inventories cn1@ VCPU:24 max 8       OK
    claim c1 @ cn1{VCPU:12}              UNIT_CONSTRAINT_VIOLATED   # P-134: unchanged
    claim c1 @ cn1{VCPU:11}              UNIT_CONSTRAINT_VIOLATED   # P-134: reduced
    claim c1 @ & m1 new cn1{VCPU:12}     UNIT_CONSTRAINT_VIOLATED   # P-134: handed over
    claim c1 @                           OK                         # P-135
    release c2                           OK                         # P-135
  )");
}

TEST(RulesAllocation, UnchangedAmountsMayBeExempt) {
  World world("cn1{VCPU:24, DISK_GB:24}");
  RunScript(world, R"(
    claim c1 new cn1{VCPU:12, DISK_GB:12}  OK
    inventories cn1@ VCPU:24 max 8, DISK_GB:24 max 8  OK
  )");
  const auto exempt = [&](std::vector<ConsumerAllocations> consumers) {
    return world.Do(SetAllocations{std::move(consumers), true}).status();
  };
  const ConsumerAllocations release = world.Claim("c1", "");
  EXPECT_EQ(exempt({world.Claim("c1", "cn1{VCPU:12, DISK_GB:11}")}).code(),
            absl::StatusCode::kFailedPrecondition);  // P-134: another amount
  EXPECT_EQ(exempt({release, world.Claim("m1", "cn1{VCPU:12}"), world.Claim("m2", "cn1{VCPU:12}")})
                .code(),
            absl::StatusCode::kFailedPrecondition);  // P-134: one row exempts one
  EXPECT_EQ(exempt({world.Claim("m2", "cn1{VCPU:12}")}).code(),
            absl::StatusCode::kFailedPrecondition);  // P-134: of the same request only
  EXPECT_TRUE(
      exempt({release, world.Claim("m1", "cn1{VCPU:12, DISK_GB:12}")}).ok());  // P-134, D-20
}

TEST(RulesAllocation, Capacity) {
  World world("cn1{VCPU:8}\ncn2{VCPU:8 used 8}");
  RunScript(world, R"(
    claim a new cn1{VCPU:3} & b new cn1{VCPU:3} & c new cn1{VCPU:3}  CAPACITY_EXCEEDED  # P-132
    claim a new cn1{VCPU:3} & b new cn1{VCPU:3} & c new cn1{VCPU:2}  OK                 # P-132
    claim d new cn1{VCPU:1}                                          CAPACITY_EXCEEDED  # P-30
    claim a @ & d new cn1{VCPU:3}                                    OK                 # P-132
    claim d @                                                        OK
    claim e new cn1{VCPU:3}                                          OK                 # P-140
    claim held-by-cn2 @ cn1{VCPU:1}                                  CAPACITY_EXCEEDED  # P-118
    inventories cn2@ VCPU:4 max 8                                    OK
    claim f new cn2{VCPU:1}                                          CAPACITY_EXCEEDED  # P-90
    claim held-by-cn2 @ & f new cn2{VCPU:8}                          OK                 # P-133
    claim f @ cn2{VCPU:7}                                            OK                 # P-133
    claim f @ cn2{VCPU:8}                                            CAPACITY_EXCEEDED  # P-132
    claim f @ cn2{VCPU:5} & g new cn2{VCPU:2}                        OK                 # P-133
    claim f @ cn2{VCPU:5} & g @ cn2{VCPU:3}                          CAPACITY_EXCEEDED  # P-4
  )");
  EXPECT_EQ(world.used("cn2", "VCPU"), 7);
}

TEST(RulesAllocation, ReplacesAll) {
  World world("cn1{VCPU:8, DISK_GB:8}\ncn2{VCPU:8}");
  RunScript(world, R"(
    claim c1 new cn1{VCPU:2, DISK_GB:3} cn2{VCPU:4}   OK
    claim c1 @ cn2{VCPU:1}                            OK   # P-117
  )");
  EXPECT_EQ(world.used("cn1", "VCPU"), 0);     // P-117; LP 1707669
  EXPECT_EQ(world.used("cn1", "DISK_GB"), 0);  // P-117
  EXPECT_EQ(world.used("cn2", "VCPU"), 1);     // P-117
  const ConsumerPtr consumer = world.state().FindConsumer(world.consumer("c1"));
  EXPECT_EQ(consumer->allocations.size(), 1u);
}

TEST(RulesAllocation, CountersThatMove) {
  World world("cn1{VCPU:8}\ncn2{VCPU:8}\ncn3{VCPU:8}");
  const auto moves = [&](absl::string_view line) {
    std::vector<Generation> before, allocations;
    for (const char* name : {"cn1", "cn2", "cn3"}) {
      before.push_back(world.generation(name));
      allocations.push_back(world.allocation_generation(name));
    }
    world.Must(ParseCommand(world, line));
    std::string moved;
    for (int i = 0; i < 3; ++i) {
      const std::string name = absl::StrCat("cn", i + 1);
      EXPECT_EQ(world.generation(name), before[i]) << line;  // P-92, D-18
      absl::StrAppend(&moved, world.allocation_generation(name).value - allocations[i].value);
    }
    return moved;
  };
  EXPECT_EQ(moves("claim c1 new cn1{VCPU:1} cn2{VCPU:1}"), "110");  // P-92
  const Generation generation = *world.consumer_generation("c1");
  EXPECT_EQ(moves("claim c1 @ cn1{VCPU:1} cn2{VCPU:1}"), "110");           // P-124
  EXPECT_EQ(*world.consumer_generation("c1"), generation.Next());          // P-124
  EXPECT_EQ(moves("claim c1 @ cn2{VCPU:1} cn3{VCPU:1}"), "111");           // P-93: the omitted one
  EXPECT_EQ(moves("claim c1 @ & c2 new cn3{VCPU:1}"), "011");              // P-92: the emptied one
  EXPECT_EQ(moves("claim c3 new cn3{VCPU:1} & c2 @ cn3{VCPU:2}"), "001");  // P-5: once a command
  EXPECT_EQ(moves("release c2"), "001");                                   // P-93
  EXPECT_EQ(moves("claim c4 new"), "000");                                 // P-138
}

// A consumer's number is moved by its own writes alone, whoever else comes to its providers.
TEST(RulesAllocation, NeighboursDoNotDisturb) {
  World world("cn1{VCPU:8}");
  world.Must(ParseCommand(world, "claim c1 new cn1{VCPU:1}"));
  const CommandBody planned = ParseCommand(world, "claim c1 @ cn1{VCPU:2}");
  RunScript(world, R"(
    claim c2 new cn1{VCPU:1}             OK
    inventories cn1@ VCPU:9              OK
    aggregates cn1@ a                    OK
  )");
  EXPECT_TRUE(world.Do(planned).ok());  // P-26
  EXPECT_EQ(RefusalOf(world.Do(planned).status())->reason,
            "CONSUMER_GENERATION_CONFLICT");  // P-26
}

TEST(RulesAllocation, OwnersChange) {
  World world("cn1{VCPU:8}");
  RunScript(world, R"(
    claim c1 new cn1{VCPU:2} for p1/u1/INSTANCE    OK
    claim c1 @ cn1{VCPU:9} for p2/u2/MIGRATION     UNIT_CONSTRAINT_VIOLATED
  )");
  EXPECT_EQ(world.state().FindConsumer(world.consumer("c1"))->owner->project, "p1");  // P-127
  const Generation before = *world.consumer_generation("c1");
  RunScript(world, "claim c1 @ cn1{VCPU:2} for p2/u2/MIGRATION     OK   # P-146");
  const ConsumerPtr consumer = world.state().FindConsumer(world.consumer("c1"));
  EXPECT_EQ(*consumer->owner, (Owner{"p2", "u2", "MIGRATION"}));  // P-127, P-128, P-129
  EXPECT_EQ(consumer->generation, before.Next());                 // P-127: no extra one
  for (const char* line :
       {"claim c1 @ cn1{VCPU:2} for p3/u2/MIGRATION", "claim c1 @ cn1{VCPU:2} for p3/u3/MIGRATION",
        "claim c1 @ cn1{VCPU:2} for p3/u3/INSTANCE"}) {
    world.Must(ParseCommand(world, line));
    const Owner& owner = *world.state().FindConsumer(world.consumer("c1"))->owner;
    EXPECT_EQ(absl::StrCat(owner.project, "/", owner.user, "/", owner.type),
              absl::string_view(line).substr(27));  // P-127: each alone
  }
}

TEST(RulesAllocation, Empty) {
  World world("cn1{VCPU:8}");
  const Outcome outcome = world.Must(ParseCommand(world, "claim c1 new"));
  EXPECT_TRUE(outcome.changes.empty());           // P-138
  EXPECT_TRUE(outcome.result.consumers.empty());  // P-138
  EXPECT_FALSE(world.consumer_generation("c1"));  // P-138, D-3
  RunScript(world, R"(
    release c1                                     CONSUMER_NOT_FOUND             # P-139
    release c1@stale                               CONSUMER_NOT_FOUND             # P-139
    claim c1 new cn1{VCPU:2}                       OK
    release c1@stale                               CONSUMER_GENERATION_CONFLICT   # P-139, T-222
    release c1@                                    OK                             # P-139, T-222
    claim c1 new cn1{VCPU:2}                       OK
    release c1                                     OK                             # P-139, T-222
  )");
  EXPECT_FALSE(world.consumer_generation("c1"));  // P-125
  EXPECT_EQ(world.used("cn1", "VCPU"), 0);        // P-140
}

TEST(RulesAllocation, Answers) {
  World world("cn1{VCPU:8}");
  world.Must(ParseCommand(world, "claim c1 new cn1{VCPU:1}"));
  const Outcome outcome =
      world.Must(ParseCommand(world, "claim c1 @ & c2 new cn1{VCPU:1} & c3 new"));
  ASSERT_EQ(outcome.result.consumers.size(), 1u);
  EXPECT_EQ(outcome.result.consumers[0].first, world.consumer("c2"));
  EXPECT_EQ(outcome.result.consumers[0].second, Generation{world.commands()});  // P-119
}

TEST(RulesAllocation, Patterns) {
  World world("src{VCPU:8 used 4}\ndst{VCPU:8}");
  RunScript(world, R"(
    claim i1 new src{VCPU:4}                            OK
    claim i1 @ & m1 new src{VCPU:4}                     OK                  # P-142, T-221: just full
    claim i1 new dst{VCPU:4}                            OK                  # P-143
    claim i1 @ & m1 @ & x new dst{VCPU:1}               OK
    claim x @ & i1 new src{VCPU:4}                      OK
    claim i1 @ & m1 new src{VCPU:4}                     OK
    claim i1 new dst{VCPU:4}                            OK
    claim i1 @ src{VCPU:4} & m1 @                       OK                  # P-143, T-221: the way back
    claim i1 @ src{VCPU:5}                              CAPACITY_EXCEEDED   # P-144: bigger
    claim i1 @ src{VCPU:3}                              OK                  # P-144: smaller
    claim a new dst{VCPU:4} & b new dst{VCPU:5}         CAPACITY_EXCEEDED   # P-145
    claim a new dst{VCPU:4}                             OK                  # P-145
    inventories src@ VCPU:2 max 8                       OK
    claim i1 @ & m1 new src{VCPU:3}                     OK                  # P-142: overcommitted
  )");
  EXPECT_FALSE(world.consumer_generation("i1"));  // P-142
  EXPECT_EQ(world.used("src", "VCPU"), 7);        // P-142
}

}  // namespace
}  // namespace berth::placement
