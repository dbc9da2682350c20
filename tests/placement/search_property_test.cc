// Random small worlds and requests: what the search finds is what trying everything finds (P-204),
// and each of it can be claimed (P-203). BERTH_SEED repeats a run, BERTH_ROUNDS lengthens it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/search.h"
#include "tests/placement/brute_force.h"
#include "tests/placement/world.h"

namespace berth::placement {
namespace {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  // 0 to below `sides`.
  int Roll(int sides) { return static_cast<int>(engine_() % static_cast<uint64_t>(sides)); }
  bool Chance(int percent) { return Roll(100) < percent; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Roll(static_cast<int>(from.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

const std::vector<std::string>& Classes() {
  static const auto* const kClasses =
      new std::vector<std::string>{"VCPU", "MEMORY_MB", "DISK_GB", "VGPU"};
  return *kClasses;
}
const std::vector<std::string>& Traits() {
  static const auto* const kTraits =
      new std::vector<std::string>{"CUSTOM_A", "CUSTOM_B", "CUSTOM_C"};
  return *kTraits;
}
const std::vector<std::string>& Aggregates() {
  static const auto* const kAggregates = new std::vector<std::string>{"agg1", "agg2", "agg3"};
  return *kAggregates;
}

std::string RandomProvider(Dice& dice, int number, bool sharing) {
  std::string text = absl::StrCat("p", number, "[");
  std::string separator;
  for (const std::string& trait : Traits()) {
    if (!dice.Chance(30)) continue;
    absl::StrAppend(&text, separator, trait);
    separator = ",";
  }
  if (sharing && dice.Chance(35)) absl::StrAppend(&text, separator, "MISC_SHARES_VIA_AGGREGATE");
  text += "]{";
  separator.clear();
  for (const std::string& name : Classes()) {
    if (!dice.Chance(45)) continue;
    const int total = 1 + dice.Roll(8);
    absl::StrAppend(&text, separator, name, ":", total);
    if (dice.Chance(20)) absl::StrAppend(&text, " ratio ", dice.Chance(50) ? "1.5" : "0.5");
    if (dice.Chance(20)) absl::StrAppend(&text, " max ", 1 + dice.Roll(4));
    if (dice.Chance(15)) absl::StrAppend(&text, " min ", 1 + dice.Roll(2));
    if (dice.Chance(10)) absl::StrAppend(&text, " step 2");
    separator = ", ";
  }
  text += "}(";
  separator.clear();
  for (const std::string& aggregate : Aggregates()) {
    if (!dice.Chance(30)) continue;
    absl::StrAppend(&text, separator, aggregate);
    separator = ",";
  }
  return text + ")\n";
}

std::string RandomWorld(Dice& dice, bool sharing) {
  std::string text;
  int number = 0;
  for (int roots = 1 + dice.Roll(4); roots > 0; --roots) {
    text += RandomProvider(dice, number++, sharing);
    int depth = 0;
    for (int children = dice.Roll(4); children > 0; --children) {
      depth = 1 + dice.Roll(depth + 1);
      text += std::string(2 * depth, ' ') + RandomProvider(dice, number++, sharing);
    }
  }
  return text;
}

// Ids rise as names are met: meets them so that order in a tree and order of ids differ.
void NameInAnyOrder(Dice& dice, World& world, int providers) {
  std::vector<std::string> names;
  for (int i = 0; i < providers; ++i) names.push_back(absl::StrCat("p", i));
  while (!names.empty()) {
    const int at = dice.Roll(static_cast<int>(names.size()));
    world.provider(names[at]);
    names.erase(names.begin() + at);
  }
}

// Fills some of what there is, by claims that may be refused.
void FillSome(World& world, Dice& dice, int providers) {
  for (int i = 0; i < 4; ++i) {
    ConsumerAllocations claim{
        world.consumer(absl::StrCat("c", i)), std::nullopt, "project", "user", "INSTANCE", {}};
    const ProviderId provider = world.provider(absl::StrCat("p", dice.Roll(providers)));
    claim.allocations.push_back({provider, {{dice.Pick(Classes()), 1 + dice.Roll(3)}}});
    world.Do(SetAllocations{{claim}, false}).IgnoreError();
  }
}

template <typename T>
std::vector<T> Some(Dice& dice, const std::vector<T>& from) {
  std::vector<T> some;
  for (const T& one : from) {
    if (dice.Chance(40)) some.push_back(one);
  }
  if (some.empty()) some.push_back(dice.Pick(from));
  return some;
}

RequestGroup RandomGroup(Dice& dice, World& world, const std::string& suffix, int providers) {
  RequestGroup group;
  group.suffix = suffix;
  for (const std::string& name : Classes()) {
    if (dice.Chance(suffix.empty() ? 40 : 15)) group.resources.push_back({name, 1 + dice.Roll(3)});
  }
  if (group.resources.empty()) group.resources.push_back({dice.Pick(Classes()), 1});
  while (dice.Chance(25)) group.required.push_back(Some(dice, Traits()));
  if (dice.Chance(15)) group.forbidden.push_back(dice.Pick(Traits()));
  std::vector<AggregateId> aggregates;
  for (const std::string& name : Aggregates()) aggregates.push_back(world.aggregate(name));
  while (dice.Chance(15)) group.member_of.push_back(Some(dice, aggregates));
  if (dice.Chance(10)) group.forbidden_aggregates.push_back(dice.Pick(aggregates));
  if (dice.Chance(8)) group.in_tree = world.provider(absl::StrCat("p", dice.Roll(providers)));
  return group;
}

// Groups beside the unsuffixed one, with what binds them.
void AddSuffixed(Dice& dice, World& world, int providers, CandidateRequest& request) {
  const std::vector<std::string> suffixes = {"_A", "_B", "_C"};
  const int count = 1 + dice.Roll(3);
  for (int i = 0; i < count; ++i) {
    RequestGroup group = RandomGroup(dice, world, suffixes[i], providers);
    if (dice.Chance(15)) group.resources.clear();
    request.groups.push_back(group);
  }
  if (dice.Chance(20)) request.groups.erase(request.groups.begin());
  request.group_policy = dice.Chance(50) ? GroupPolicy::kNone : GroupPolicy::kIsolate;
  if (dice.Chance(40)) {
    request.same_subtree.push_back({suffixes.begin(), suffixes.begin() + count});
  }
  if (dice.Chance(15)) request.same_subtree.push_back({suffixes[0]});
}

CandidateRequest RandomRequest(Dice& dice, World& world, int providers, bool suffixed) {
  CandidateRequest request;
  request.groups.push_back(RandomGroup(dice, world, "", providers));
  if (suffixed) AddSuffixed(dice, world, providers, request);
  if (dice.Chance(10)) request.root_required.push_back(dice.Pick(Traits()));
  if (dice.Chance(10)) request.root_forbidden.push_back(dice.Pick(Traits()));
  return request;
}

// P-203: in a world of its own, so that candidates do not stand in each other's way.
void ExpectClaimable(const World& world, const Candidate& candidate) {
  World copy = world;
  ConsumerAllocations claim{
      copy.consumer("claimant"), std::nullopt, "project", "user", "INSTANCE", {}};
  for (const Allocation& allocation : candidate.allocations) {
    const std::string& name = world.state().catalog().classes.NameOf(allocation.resource_class);
    if (claim.allocations.empty() || claim.allocations.back().provider != allocation.provider) {
      claim.allocations.push_back({allocation.provider, {}});
    }
    claim.allocations.back().amounts.push_back({name, allocation.amount});
  }
  const absl::StatusOr<Outcome> outcome = copy.Do(SetAllocations{{claim}, false});
  EXPECT_TRUE(outcome.ok()) << ToString(world.state(), Plain(world.state(), candidate)) << ": "
                            << outcome.status();  // P-203
}

void ExpectExact(const World& world, const CandidateRequest& request, const std::string& notation) {
  const State& state = world.state();
  const absl::StatusOr<SearchResult> found = FindCandidates(state, request, SearchBudget{});
  if (!found.ok()) {
    EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument) << found.status();
    return;
  }
  std::set<PlainCandidate> plain;
  for (const Candidate& candidate : found->candidates) {
    EXPECT_TRUE(plain.insert(Plain(state, candidate)).second);  // P-200
  }
  EXPECT_FALSE(found->truncated);
  const std::set<PlainCandidate> expected = AllCandidates(state, request);
  for (const PlainCandidate& candidate : expected) {
    EXPECT_TRUE(plain.contains(candidate)) << "missing " << ToString(state, candidate);  // P-204
  }
  for (const PlainCandidate& candidate : plain) {
    EXPECT_TRUE(expected.contains(candidate)) << "extra " << ToString(state, candidate);  // P-204
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << notation;
}

struct Kind {
  bool sharing = false;
  bool suffixed = false;
};

class SearchProperty : public testing::TestWithParam<Kind> {};

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST_P(SearchProperty, EqualsTryingEverything) {
  const uint64_t first = NumberFrom("BERTH_SEED", std::random_device()());
  const uint64_t rounds = NumberFrom("BERTH_ROUNDS", 1000);
  std::printf("BERTH_SEED=%llu\n", static_cast<unsigned long long>(first));
  int found = 0;
  for (uint64_t seed = first; seed < first + rounds && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed, " BERTH_ROUNDS=1"));
    Dice dice(seed);
    const std::string notation = RandomWorld(dice, GetParam().sharing);
    const int providers = static_cast<int>(std::count(notation.begin(), notation.end(), '\n'));
    World world;
    NameInAnyOrder(dice, world, providers);
    world.Add(notation);
    for (const std::string& trait : Traits()) world.Must(EnsureTrait{trait});
    FillSome(world, dice, providers);
    for (int i = 0; i < 3; ++i) {
      const CandidateRequest request = RandomRequest(dice, world, providers, GetParam().suffixed);
      ExpectExact(world, request, notation);
      const auto result = FindCandidates(world.state(), request, SearchBudget{});
      if (!result.ok() || result->candidates.empty()) continue;
      ++found;
      ExpectClaimable(world, dice.Pick(result->candidates));
    }
  }
  std::printf("%d requests of %llu found something\n", found,
              static_cast<unsigned long long>(3 * rounds));
}

INSTANTIATE_TEST_SUITE_P(Worlds, SearchProperty,
                         testing::Values(Kind{false, false}, Kind{true, false}, Kind{false, true},
                                         Kind{true, true}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.suffixed ? "Suffixed" : "Unsuffixed",
                                               info.param.sharing ? "WithSharing" : "");
                         });

}  // namespace
}  // namespace berth::placement
