// Explanations of worlds so small that they can be checked by hand.
#include "placement/explain/explain.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/worlds/request_notation.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

using Lines = std::vector<std::string>;

std::string ToText(const Constraint& constraint) {
  static constexpr const char* kNames[] = {
      "root traits", "root aggregates", "in tree",           "staleness",  "inventory",
      "free",        "required",        "forbidden",         "member of",  "forbidden aggregates",
      "isolate",     "same subtree",    "separate subtrees", "combination"};
  std::string text = absl::StrCat(kNames[static_cast<int>(constraint.kind)], constraint.suffix);
  if (!constraint.names.empty()) {
    absl::StrAppend(&text, " ", absl::StrJoin(constraint.names, ","));
  }
  if (constraint.amount > 0) absl::StrAppend(&text, ":", constraint.amount);
  return text;
}

Explanation Ask(World& world, const std::string& text, int near_misses_max = 10,
                const SearchBudget& budget = {}) {
  absl::StatusOr<Explanation> said =
      Explain(world.state(), ParseRequest(world, text), near_misses_max, budget);
  EXPECT_TRUE(said.ok()) << said.status();
  return said.ok() ? *std::move(said) : Explanation{};
}

Lines StepsOf(const Explanation& said) {
  Lines lines;
  for (const FilterStep& step : said.steps) {
    lines.push_back(absl::StrCat(step.roots_after, " ", ToText(step.constraint)));
  }
  return lines;
}

Lines NearMissesOf(const Explanation& said) {
  Lines lines;
  for (const NearMiss& miss : said.near_misses) {
    std::string line = miss.name;
    for (const Shortfall& each : miss.shortfalls) {
      absl::StrAppend(&line, "; ", ToText(each.constraint), " has ", each.available);
    }
    lines.push_back(line);
  }
  return lines;
}

Lines RelaxationsOf(const Explanation& said) {
  Lines lines;
  for (const Relaxation& each : said.relaxations) {
    lines.push_back(
        absl::StrCat(each.root_count, " ", ToText(each.constraint), " to ", each.fitting_amount));
  }
  return lines;
}

TEST(Explain, FlatHosts) {  // D-31
  World world(R"(
    a[CUSTOM_A]{VCPU:16, MEMORY_MB:64 used 4}
    b[CUSTOM_A]{VCPU:16, MEMORY_MB:64 used 12}
    c[CUSTOM_A]{VCPU:16 used 1, MEMORY_MB:128}
    d{VCPU:16, MEMORY_MB:128}
    e{MEMORY_MB:128}
  )");
  const Explanation said = Ask(world, "r VCPU:16,MEMORY_MB:64 q CUSTOM_A");
  EXPECT_EQ(said.root_count, 5);
  EXPECT_EQ(said.fitting_root_count, 0);
  EXPECT_EQ(StepsOf(said), (Lines{"4 inventory VCPU:16", "4 inventory MEMORY_MB:64",
                                  "3 required CUSTOM_A", "2 free VCPU:16", "0 free MEMORY_MB:64"}));
  EXPECT_EQ(NearMissesOf(said), (Lines{"a; free MEMORY_MB:64 has 60", "b; free MEMORY_MB:64 has 52",
                                       "c; free VCPU:16 has 15", "d; required CUSTOM_A has 0",
                                       "e; inventory VCPU:16 has 0"}));
  EXPECT_EQ(RelaxationsOf(said), (Lines{"1 required CUSTOM_A to 0", "1 free VCPU:16 to 15",
                                        "1 free MEMORY_MB:64 to 60"}));
  EXPECT_FALSE(said.truncated);
  EXPECT_EQ(Ask(world, "r VCPU:16,MEMORY_MB:64 q CUSTOM_A", 1).near_misses.size(), 1u);
}

TEST(Explain, WhatFitsNeedsNoChange) {
  World world("a{VCPU:4}\nb{VCPU:2}");
  const Explanation said = Ask(world, "r VCPU:3");
  EXPECT_EQ(said.fitting_root_count, 1);
  EXPECT_EQ(NearMissesOf(said), Lines{"b; inventory VCPU:3 has 2"});
  EXPECT_TRUE(said.relaxations.empty());
}

TEST(Explain, GroupsThatStandInEachOthersWay) {
  World world(R"(
    a
      a1{VGPU:1}
    b
      b1{VGPU:1}
      b2[CUSTOM_B]{VGPU:1}
  )");
  Explanation said = Ask(world, "r._1 VGPU:1; r._2 VGPU:1; r._3 VGPU:1; none apart _1,_2");
  EXPECT_EQ(StepsOf(said), (Lines{"2 inventory_1 VGPU:1", "2 free_1 VGPU:1", "2 inventory_2 VGPU:1",
                                  "2 free_2 VGPU:1", "2 inventory_3 VGPU:1", "2 free_3 VGPU:1",
                                  "1 isolate _1,_2", "0 combination"}));
  EXPECT_EQ(NearMissesOf(said), (Lines{"b; combination has 0", "a; isolate _1,_2 has 0"}));
  said = Ask(world, "r._1 VGPU:1; r._2 VGPU:1 q._2 CUSTOM_B; none ss _1,_2");
  EXPECT_EQ(RelaxationsOf(said), (Lines{"1 free_2 VGPU:1 to 0", "1 same subtree _1,_2 to 0"}));
}

TEST(Explain, SharingProvidersCount) {
  World world(R"(
    a{VCPU:4}(A)
    b{VCPU:4}
    pool[MISC_SHARES_VIA_AGGREGATE]{DISK_GB:10}(A)
  )");
  const Explanation said = Ask(world, "r VCPU:1,DISK_GB:20");
  EXPECT_EQ(NearMissesOf(said)[0], "a; inventory DISK_GB:20 has 10");
  EXPECT_EQ(RelaxationsOf(said), Lines{"1 free DISK_GB:20 to 10"});
}

TEST(Explain, BudgetEnds) {
  World world("a{VCPU:4}\nb{VCPU:4}");
  SearchBudget budget;
  budget.steps_max = 3;
  const Explanation said = Ask(world, "r VCPU:1", 10, budget);
  EXPECT_TRUE(said.truncated);
  EXPECT_EQ(said.root_count, 2);
  EXPECT_LT(said.steps[0].roots_before, 2);
}

// A tree of thirty providers, each with one of the traits asked for. The explanation must not try
// all 2^30 sets of them.
TEST(Explain, ManyTraitsInOneTree) {
  std::string tree = "root";
  std::vector<std::string> traits;
  for (int i = 0; i < 30; ++i) {
    traits.push_back(absl::StrCat("CUSTOM_", i));
    absl::StrAppend(&tree, "\n  p", i, "[", traits.back(), "]{VGPU:2}");
  }
  World world(tree);
  CandidateRequest request = ParseRequest(world, "r VGPU:60");
  for (const std::string& trait : traits) request.groups[0].required.push_back({trait});
  request.groups[0].max_providers = {{"VGPU", 16}};
  const auto said = Explain(world.state(), request, 10, SearchBudget{});
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_EQ(said->fitting_root_count, 0);
  request.groups[0].resources[0].amount = 32;  // sixteen could give it if no traits were asked for
  const auto traits_miss = Explain(world.state(), request, 10, SearchBudget{});
  ASSERT_TRUE(traits_miss.ok()) << traits_miss.status();
  EXPECT_EQ(traits_miss->fitting_root_count, 0);
  EXPECT_TRUE(traits_miss->truncated);
}

}  // namespace
}  // namespace berth::placement
