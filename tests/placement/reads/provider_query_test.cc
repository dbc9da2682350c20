#include "placement/reads/provider_query.h"

#include <algorithm>
#include <functional>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

constexpr ClassId kVcpu{1};
constexpr ClassId kDisk{2};
constexpr TraitId kAvx{1};
constexpr TraitId kSsd{2};
constexpr TraitId kGpu{3};
ProviderId P(uint64_t number) { return ProviderId{Uuid{0, number}}; }
AggregateId A(uint64_t number) { return AggregateId{Uuid{1, number}}; }
ConsumerId C(uint64_t number) { return ConsumerId{Uuid{2, number}}; }

Change Provider(uint64_t number, std::optional<uint64_t> parent, std::vector<InventoryRow> rows,
                std::vector<TraitId> traits, std::vector<AggregateId> aggregates) {
  ProviderConfig config;
  config.id = P(number);
  config.name = absl::StrCat("p", number);
  if (parent) config.parent = P(*parent);
  config.inventories = std::move(rows);
  config.traits = std::move(traits);
  config.aggregates = std::move(aggregates);
  return ProviderPut{std::make_shared<const ProviderConfig>(std::move(config))};
}

InventoryRow Row(ClassId resource_class, Amount total) {
  return {resource_class, Inventory{.total = total}, total};
}

Change Holding(uint64_t number, Owner owner, std::vector<Allocation> rows) {
  Consumer consumer;
  consumer.id = C(number);
  consumer.owner = std::make_shared<const Owner>(std::move(owner));
  consumer.allocations = std::move(rows);
  return ConsumerPut{std::make_shared<const Consumer>(std::move(consumer))};
}

// p1 (AVX, SSD; A1) > p2 (SSD; A2); p3 (AVX, GPU; A1, A2) > p4; p5 bare. p3 has 4 of 8 VCPU left.
State SmallState() {
  InventoryRow stepped = Row(kDisk, 100);
  stepped.inventory.step_size = 10;
  State state;
  state.Apply({ClassPut{kVcpu, "VCPU"}, ClassPut{kDisk, "DISK_GB"}, TraitPut{kAvx, "AVX"},
               TraitPut{kSsd, "SSD"}, TraitPut{kGpu, "GPU"},
               Provider(3, std::nullopt, {Row(kVcpu, 8)}, {kAvx, kGpu}, {A(1), A(2)}),
               Provider(1, std::nullopt, {Row(kVcpu, 4), stepped}, {kAvx, kSsd}, {A(1)}),
               Provider(2, 1, {Row(kDisk, 50)}, {kSsd}, {A(2)}), Provider(4, 3, {}, {}, {}),
               Provider(5, std::nullopt, {}, {}, {}),
               Holding(1, {"project", "user", "INSTANCE"}, {{P(3), kVcpu, 4}})});
  return state;
}

std::string Numbers(const ProviderPage& page) {
  return absl::StrJoin(page.providers, " ", [](std::string* out, const ProviderPlace& place) {
    absl::StrAppend(out, place.config().id.uuid.low);
  });
}

struct ListCase {
  const char* what;
  ProviderFilter filter;
  const char* expected;
};

ProviderFilter With(const std::function<void(ProviderFilter&)>& fill) {
  ProviderFilter filter;
  fill(filter);
  return filter;
}
#define WITH(assignment) With([](ProviderFilter& f) { assignment; })

TEST(Query, ListsWhatPassesAllFilters) {
  const State state = SmallState();
  const ListCase cases[] = {
      {"no filter", {}, "1 2 3 4 5"},                                                        // P-66
      {"name", WITH(f.name = "p2"), "2"},                                                    // P-67
      {"name of nobody", WITH(f.name = "P2"), ""},                                           // P-11
      {"uuid", WITH(f.id = P(4)), "4"},                                                      // P-68
      {"uuid of nobody", WITH(f.id = P(9)), ""},                                             // P-68
      {"name and uuid", WITH(f.name = "p2"; f.id = P(2)), "2"},                              // P-66
      {"name and other uuid", WITH(f.name = "p2"; f.id = P(1)), ""},                         // P-66
      {"tree by its root", WITH(f.in_tree = P(1)), "1 2"},                                   // P-69
      {"tree by a member", WITH(f.in_tree = P(4)), "3 4"},                                   // P-69
      {"tree of nobody", WITH(f.in_tree = P(9)), ""},                                        // P-69
      {"uuid in tree", WITH(f.in_tree = P(4); f.id = P(3)), "3"},                            // P-66
      {"uuid in another tree", WITH(f.in_tree = P(4); f.id = P(1)), ""},                     // P-66
      {"member", WITH(f.member_of = {{A(1)}}), "1 3"},                                       // P-70
      {"member of either", WITH((f.member_of = {{A(1), A(2)}})), "1 2 3"},                   // P-70
      {"member of both", WITH((f.member_of = {{A(1)}, {A(2)}})), "3"},                       // P-70
      {"in none", WITH(f.forbidden_aggregates = {A(1)}), "2 4 5"},                           // P-71
      {"in none of two", WITH((f.forbidden_aggregates = {A(1), A(2)})), "4 5"},              // P-71
      {"in and not in", WITH(f.member_of = {{A(1)}}; f.forbidden_aggregates = {A(1)}), ""},  // P-72
      {"in either, not one", WITH((f.member_of = {{A(1), A(2)}}); f.forbidden_aggregates = {A(1)}),
       "2"},                                                                             // P-72
      {"member of what is not there", WITH(f.member_of = {{A(9)}}), ""},                 // P-73
      {"not in what is not there", WITH(f.forbidden_aggregates = {A(9)}), "1 2 3 4 5"},  // P-73
      {"trait", WITH(f.required = {{"AVX"}}), "1 3"},                                    // P-74
      {"two traits", WITH((f.required = {{"AVX"}, {"SSD"}})), "1"},                      // P-74
      {"either trait", WITH((f.required = {{"GPU", "SSD"}})), "1 2 3"},                  // P-74
      {"not the trait", WITH(f.forbidden = {"AVX"}), "2 4 5"},                           // P-75
      {"neither trait", WITH((f.forbidden = {"AVX", "SSD"})), "4 5"},                    // P-75
      {"trait and not it", WITH(f.required = {{"AVX"}}; f.forbidden = {"AVX"}), ""},     // P-78
      {"room", WITH((f.resources = {{"VCPU", 4}})), "1 3"},                              // P-77
      {"room less what is used", WITH((f.resources = {{"VCPU", 5}})), ""},  // P-77, P-30
      {"room by steps", WITH((f.resources = {{"DISK_GB", 15}})), "2"},      // P-77, P-30
      {"room of two classes", WITH((f.resources = {{"VCPU", 1}, {"DISK_GB", 10}})), "1"},  // P-77
      {"roots only", WITH(f.roots_only = true), "1 3 5"},
      {"roots of a tree", WITH(f.roots_only = true; f.in_tree = P(4)), "3"},
      {"all at once",
       WITH(f.required = {{"AVX"}}; f.member_of = {{A(1)}}; (f.resources = {{"VCPU", 1}});
            f.forbidden = {"GPU"}; f.in_tree = P(2)),
       "1"},  // P-66
  };
  for (const ListCase& c : cases) {
    const auto page = ListProviders(state, c.filter, std::nullopt, 100);
    ASSERT_TRUE(page.ok()) << c.what << page.status();
    EXPECT_EQ(Numbers(*page), c.expected) << c.what;
    EXPECT_FALSE(page->more) << c.what;
  }
  // p2 stands below p1, which is a member.
  const auto members = ListProviders(state, WITH(f.member_of = {{A(1)}}; f.in_tree = P(2)), {}, 9);
  EXPECT_EQ(Numbers(*members), "1");  // P-105
}

TEST(Query, RefusesWhatIsMalformedOrUnknown) {
  const State state = SmallState();
  struct Case {
    const char* what;
    ProviderFilter filter;
    absl::StatusCode code;
    const char* reason;
    size_t items;
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kMissing = absl::StatusCode::kNotFound;
  const Case cases[] = {
      {"empty name", WITH(f.name = ""), kInvalid, "INVALID_FIELD", 1},                    // P-67
      {"empty term", WITH(f.member_of = {{}}), kInvalid, "INVALID_FIELD", 1},             // P-70
      {"empty trait term", WITH(f.required = {{}}), kInvalid, "INVALID_FIELD", 1},        // P-76
      {"empty trait", WITH((f.required = {{"AVX", ""}})), kInvalid, "INVALID_FIELD", 1},  // P-76
      {"empty forbidden", WITH(f.forbidden = {""}), kInvalid, "INVALID_FIELD", 1},        // P-76
      {"no amount", WITH((f.resources = {{"VCPU", 0}})), kInvalid, "INVALID_FIELD", 1},   // P-7
      {"much", WITH((f.resources = {{"VCPU", kAmountMax + 1}})), kInvalid, "INVALID_FIELD", 1},
      {"a class that cannot be", WITH((f.resources = {{"vcpu", 1}})), kInvalid, "INVALID_FIELD", 1},
      {"form first", WITH(f.name = ""; f.forbidden = {"X"}), kInvalid, "INVALID_FIELD", 1},
      {"terms of aggregates", WITH(f.member_of.resize(65)), kInvalid, "INVALID_FIELD", 1},
      {"terms of traits", WITH(f.required.resize(65)), kInvalid, "INVALID_FIELD", 1},
      {"classes", WITH(f.resources.resize(257)), kInvalid, "INVALID_FIELD", 1},
      {"many names", WITH(f.required = {{"AVX"}}; f.forbidden.resize(4096)), kInvalid,
       "INVALID_FIELD", 1},
      {"unknown traits", WITH((f.required = {{"AVX", "X"}, {"Y"}}); f.forbidden = {"Z"}), kMissing,
       "TRAIT_NOT_FOUND", 3},  // P-46, P-80
      {"unknown classes", WITH((f.resources = {{"X", 1}, {"VCPU", 1}, {"Y", 1}})), kMissing,
       "RESOURCE_CLASS_NOT_FOUND", 2},  // P-77
      {"traits before classes", WITH((f.resources = {{"X", 1}}); f.forbidden = {"Z"}), kMissing,
       "TRAIT_NOT_FOUND", 1},
      {"before the place", WITH(f.id = P(9); f.forbidden = {"Z"}), kMissing, "TRAIT_NOT_FOUND", 1},
  };
  for (const Case& c : cases) {
    const absl::Status status = ListProviders(state, c.filter, std::nullopt, 100).status();
    EXPECT_EQ(status.code(), c.code) << c.what;
    ASSERT_TRUE(RefusalOf(status)) << c.what;
    EXPECT_EQ(RefusalOf(status)->reason, c.reason) << c.what;
    EXPECT_EQ(RefusalOf(status)->items.size(), c.items) << c.what;
  }
}

// A forest of 1000 providers, two thirds of them below others.
std::vector<ProviderConfig> DrawForest(std::mt19937_64& random) {
  std::vector<ProviderConfig> configs(1000);
  for (size_t i = 0; i < configs.size(); ++i) {
    configs[i].id = ProviderId{Uuid{random(), random()}};
    configs[i].name = absl::StrCat(i);
    if (i > 0 && random() % 3 != 0) configs[i].parent = configs[random() % i].id;
  }
  return configs;
}

std::vector<ProviderId> ListAll(const State& state, const ProviderFilter& filter, int limit) {
  std::vector<ProviderId> seen;
  std::optional<ProviderId> after;
  while (true) {
    const auto page = ListProviders(state, filter, after, limit);
    for (const ProviderPlace& place : page->providers) seen.push_back(place.config().id);
    if (!page->more) return seen;
    EXPECT_EQ(page->providers.size(), static_cast<size_t>(limit));
    after = seen.back();
  }
}

TEST(Query, PagesByRisingId) {
  std::mt19937_64 random(Seed());
  const std::vector<ProviderConfig> configs = DrawForest(random);
  Changes changes;
  std::vector<ProviderId> all;
  std::vector<ProviderId> roots;
  for (const ProviderConfig& config : configs) {
    changes.push_back(ProviderPut{std::make_shared<const ProviderConfig>(config)});
    all.push_back(config.id);
    if (!config.parent) roots.push_back(config.id);
  }
  State state;
  state.Apply(changes);
  std::vector<ProviderId> tree;
  for (const ProviderId id : all) {
    if (state.FindProvider(id)->tree->root_id() == configs[0].id) tree.push_back(id);
  }
  for (std::vector<ProviderId>* ids : {&all, &roots, &tree}) std::sort(ids->begin(), ids->end());
  for (const int limit : {1, 7, 256, 10'000}) {
    EXPECT_EQ(ListAll(state, {}, limit), all);                           // P-79, D-22
    EXPECT_EQ(ListAll(state, WITH(f.roots_only = true), limit), roots);  // P-79
    ProviderFilter in_tree;
    in_tree.in_tree = configs[0].id;
    EXPECT_EQ(ListAll(state, in_tree, limit), tree);  // P-69
  }
}

std::string Usages(const State& state, const std::string& project,
                   const std::optional<std::string>& user,
                   const std::optional<std::string>& consumer_type) {
  const auto groups = GetUsages(state, project, user, consumer_type);
  if (!groups.ok()) return RefusalOf(groups.status())->reason;
  return absl::StrJoin(*groups, "; ", [](std::string* out, const auto& group) {
    absl::StrAppend(out, group.first, " ", group.second.consumer_count);
    for (const auto& [name, amount] : group.second.used)
      absl::StrAppend(out, " ", name, ":", amount);
  });
}

TEST(Query, SumsWhatAProjectHolds) {
  State state = SmallState();
  state.Apply({Holding(2, {"project", "user", "INSTANCE"}, {{P(1), kVcpu, 1}, {P(1), kDisk, 20}}),
               Holding(3, {"project", "other", "MIGRATION"}, {{P(1), kVcpu, 2}}),
               Holding(4, {"project", "other", ""}, {{P(2), kDisk, 5}}),
               Holding(5, {"project", "other", "ALL"}, {{P(2), kDisk, 6}}),
               Holding(6, {"project 2", "user", "INSTANCE"}, {{P(2), kDisk, 7}}),
               Holding(7, {"projec", "user", "INSTANCE"}, {{P(2), kDisk, 8}})});
  struct Case {
    const char* project;
    std::optional<std::string> user, consumer_type;
    const char* expected;
  };
  const Case cases[] = {
      {"project",
       {},
       {},  // P-159, P-24, P-162, P-163
       "ALL 1 DISK_GB:6; INSTANCE 2 DISK_GB:20 VCPU:5; MIGRATION 1 VCPU:2; unknown 1 DISK_GB:5"},
      {"project", "user", {}, "INSTANCE 2 DISK_GB:20 VCPU:5"},
      {"project", "nobody", {}, ""},                                // P-158
      {"nothing", {}, {}, ""},                                      // P-158
      {"project", {}, "INSTANCE", "INSTANCE 2 DISK_GB:20 VCPU:5"},  // P-160
      {"project", {}, "ABSENT", ""},                                // P-160
      {"project", {}, "all", "all 5 DISK_GB:31 VCPU:7"},            // P-161
      {"nothing", {}, "all", ""},                                   // P-163
      {"project", {}, "ALL", "ALL 1 DISK_GB:6"},                    // P-161
      {"project", {}, "unknown", "unknown 1 DISK_GB:5"},            // P-161
      {"project", {}, "UNKNOWN", ""},                               // P-161
      {"project", "other", "all", "all 3 DISK_GB:11 VCPU:2"},
      {"", {}, {}, "INVALID_FIELD"},                 // P-158
      {"project", {}, "allfoo", "INVALID_FIELD"},    // P-165
      {"project", {}, "", "INVALID_FIELD"},          // P-165
      {"project", {}, "instance", "INVALID_FIELD"},  // P-165
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Usages(state, c.project, c.user, c.consumer_type), c.expected)
        << c.project << " " << c.user.value_or("-") << " " << c.consumer_type.value_or("-");
  }
  EXPECT_EQ(Usages(state, std::string(256, 'p'), {}, {}), "INVALID_FIELD");  // P-158
  EXPECT_EQ(Usages(state, std::string(255, 'p'), {}, {}), "");               // P-158
  // Released and handed over: the sums follow (P-129, P-146).
  Consumer moved = *state.FindConsumer(C(1));
  moved.generation = moved.generation.Next();
  moved.owner = state.ShareOwner({"project 2", "user", "INSTANCE"});
  state.Apply({ConsumerRemoved{C(2)}, ConsumerPut{std::make_shared<const Consumer>(moved)}});
  EXPECT_EQ(Usages(state, "project", "user", {}), "");                           // P-129
  EXPECT_EQ(Usages(state, "project 2", {}, {}), "INSTANCE 2 DISK_GB:7 VCPU:4");  // P-146
}

}  // namespace
}  // namespace berth::placement
