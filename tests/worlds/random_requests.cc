#include "tests/worlds/random_requests.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace berth::placement {

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

namespace {

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

std::string WorldNotation(Dice& dice, bool sharing) {
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
  const std::vector<std::string> named(suffixes.begin(), suffixes.begin() + count);
  if (dice.Chance(15)) request.isolate.push_back(Some(dice, named));
  while (dice.Chance(15)) request.separate_subtrees.push_back(Some(dice, named));
}

// Several providers for classes of the unsuffixed group.
void AddDividedAmounts(Dice& dice, CandidateRequest& request) {
  RequestGroup& group = request.groups.front();
  for (NamedAmount& wanted : group.resources) {
    if (!dice.Chance(60)) continue;
    group.max_providers.push_back({wanted.resource_class, 1 + dice.Roll(3)});
    if (dice.Chance(50)) wanted.amount += dice.Roll(6);
  }
}

void AddRootTerms(Dice& dice, World& world, int providers, CandidateRequest& request) {
  if (dice.Chance(10)) request.root_required.push_back(Some(dice, Traits()));
  if (dice.Chance(10)) request.root_forbidden.push_back(dice.Pick(Traits()));
  std::vector<AggregateId> aggregates;
  for (const std::string& name : Aggregates()) aggregates.push_back(world.aggregate(name));
  if (dice.Chance(5)) request.root_member_of.push_back(Some(dice, aggregates));
  if (dice.Chance(5)) request.root_forbidden_aggregates.push_back(dice.Pick(aggregates));
  for (int i = 0; i < 3 && dice.Chance(10); ++i) {
    request.forbidden_roots.push_back(world.provider(absl::StrCat("p", dice.Roll(providers))));
  }
}

}  // namespace

RandomWorld::RandomWorld(Dice& dice, bool sharing) : notation(WorldNotation(dice, sharing)) {
  providers = static_cast<int>(std::count(notation.begin(), notation.end(), '\n'));
  NameInAnyOrder(dice, world, providers);
  world.Add(notation);
  for (const std::string& trait : Traits()) world.Must(EnsureTrait{trait});
  FillSome(world, dice, providers);
}

CandidateRequest RandomRequest(Dice& dice, RandomWorld& from, bool suffixed) {
  World& world = from.world;
  const int providers = from.providers;
  CandidateRequest request;
  request.groups.push_back(RandomGroup(dice, world, "", providers));
  if (dice.Chance(25)) AddDividedAmounts(dice, request);
  if (suffixed) AddSuffixed(dice, world, providers, request);
  AddRootTerms(dice, world, providers, request);
  request.collapse_equivalent = dice.Chance(20);
  return request;
}

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace berth::placement
