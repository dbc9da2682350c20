// What a tracker tells of its host that is too much costs a scheduler little, and overflows nothing.
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/client/cpp/host_view.h"
#include "services/client/cpp/weighers.h"

namespace berth::client {
namespace {

HostView ViewOf(const pb::HostState& state) {
  HostView view;
  UpdateHostView(PartsOf(state), &view);
  return view;
}

// Sums of what trackers tell must not overflow.
TEST(HostBounds, OfAmounts) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kBound = int64_t{1} << 42;
  for (const int64_t sign : {1, -1}) {
    pb::HostState state;
    pb::NodeFacts& facts = *state.mutable_node()->mutable_facts();
    facts.set_memory_mib(sign * kMost);
    facts.set_disk_gib(sign * kMost);
    facts.set_memory_allocation_ratio(1.5);
    facts.set_disk_allocation_ratio(1e300);
    pb::NodeAccount& account = *state.mutable_node()->mutable_account();
    account.mutable_used()->set_memory_mib(-sign * kMost);
    account.mutable_used()->set_disk_gib(-sign * kMost);
    account.mutable_used()->set_vcpus(-sign * kMost);
    (*state.mutable_stats())["num_instances"] = absl::StrCat(sign * kMost);
    HostView view = ViewOf(state);
    EXPECT_EQ(view.free_memory_mib, 2 * sign * kBound);
    EXPECT_EQ(view.free_disk_mib, 2 * sign * kBound * 1024);
    EXPECT_EQ(view.used_disk_mib, -sign * kBound * 1024);
    EXPECT_EQ(view.used_vcpus, -sign * kBound);
    EXPECT_EQ(view.instance_count, sign * kBound);
    const tracker::v1::Limits limits = LimitsOf(view);
    EXPECT_EQ(limits.memory_mib(), sign * 1'000'000'000'000'000);
    EXPECT_EQ(limits.disk_gib(), sign * 1'000'000'000'000'000);
    account.set_disk_available_least_gib(-sign * kMost);
    EXPECT_EQ(ViewOf(state).free_disk_mib, (sign > 0 ? -1 : -2) * kBound * 1024);

    pb::Flavor flavor;
    flavor.set_memory_mib(sign * kMost);
    flavor.set_root_disk_gib(sign * kMost);
    flavor.set_ephemeral_disk_gib(sign * kMost);
    const HostDemand demand = DemandOf(flavor);
    EXPECT_EQ(demand.memory_mib, sign * kBound);
    EXPECT_EQ(demand.disk_gib, 2 * sign * kBound);
  }
}

TEST(HostBounds, OfTheTextOfCpus) {
  const auto count = [](const std::string& json) {
    const auto node = std::make_shared<pb::Node>();
    node->mutable_facts()->set_cpu_info_json(json);
    return CpuInfo(node).values().size();
  };
  const auto nested = [](const std::string& key, size_t depth) {
    return "{" + key + ":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_EQ(count(nested("a", 32)), 1U);
  // What is in a string nests nothing, and any quotes end only a string that they began.
  const char* const keys[] = {"a", R"("a")", R"("[[\"[[")", R"('[["[[\'[[')", R"('"')", R"("'")"};
  for (const char* const key : keys) {
    EXPECT_EQ(count(nested(key, 30)), 1U) << key;
    EXPECT_EQ(count(nested(key, 33)), 0U) << key;
  }
  const std::string around = R"({"a":""})";
  EXPECT_EQ(count(R"({"a":")" + std::string((64 << 10) - around.size(), 'x') + R"("})"), 1U);
  EXPECT_EQ(count(R"({"a":")" + std::string((64 << 10) + 1 - around.size(), 'x') + R"("})"), 0U);
  // Each of the values has the long key in its path.
  const auto repeated = [](size_t values) {
    std::string json = "{\"" + std::string(32 << 10, 'k') + "\":{\"0\":0";
    for (size_t i = 1; i < values; ++i) json += absl::StrCat(",\"", i, "\":0");
    return json + "}}";
  };
  EXPECT_EQ(count(repeated(30)), 30U);
  EXPECT_EQ(count(repeated(32)), 0U) << "the paths have more than 1 MiB";
}

// Weights stay numbers, so that they have an order.
TEST(HostBounds, OfFactors) {
  const auto host = [](int64_t memory_mib, double cpu_ratio, const std::string& cpu_multiplier) {
    pb::HostState state;
    state.mutable_node()->mutable_facts()->set_memory_mib(memory_mib);
    state.mutable_node()->mutable_facts()->set_vcpus(16);
    state.mutable_node()->mutable_facts()->set_cpu_allocation_ratio(cpu_ratio);
    state.mutable_node()->mutable_account();
    auto& metadata = *state.add_aggregates()->mutable_metadata();
    if (!cpu_multiplier.empty()) metadata["cpu_weight_multiplier"] = cpu_multiplier;
    return ViewOf(state);
  };
  const HostView little = host(1, 4, ""), much = host(3, 4, ""), boundless = host(2, 1e308, "");
  const HostView wanted = host(2, 1e308, "1e308"), unwanted = host(2, 1e308, "-1e308");
  using Order = std::vector<const HostView*>;
  const auto order = [](const HostMultipliers& multipliers, const Order& hosts) {
    Order sorted;
    for (const auto& [one, weight] : WeighHosts(multipliers, {}, hosts)) {
      EXPECT_TRUE(std::isfinite(weight));
      sorted.push_back(one);
    }
    return sorted;
  };
  const HostMultipliers memory = {{"ram_weight_multiplier", 10}};
  EXPECT_EQ(order(memory, {&little, &boundless, &much}), (Order{&much, &boundless, &little}));
  EXPECT_EQ(order(memory, {&unwanted, &little, &wanted, &much}),
            (Order{&wanted, &much, &little, &unwanted}));
  for (const double most : {1e308, std::numeric_limits<double>::infinity()}) {
    const HostMultipliers both = {{"ram_weight_multiplier", most},
                                  {"cpu_weight_multiplier", -most}};
    EXPECT_EQ(order(both, {&little, &boundless, &much}), (Order{&much, &little, &boundless}));
  }
  // The aggregate of `wanted` has a multiplier of its own; the other sums are no numbers.
  const HostMultipliers none = {
      {"cpu_weight_multiplier", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_EQ(order(none, {&little, &wanted, &much}), (Order{&wanted, &little, &much}));
}

}  // namespace
}  // namespace berth::client
