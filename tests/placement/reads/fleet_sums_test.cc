#include "placement/reads/fleet_sums.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

using ::testing::ElementsAre;

ProviderId FleetNode(uint64_t number) { return ProviderId{Uuid{7, number}}; }

// A fleet whose records are put into the state directly.
class SummedFleet {
 public:
  State state;

  void AddTracker(const std::string& host, bool disabled = false, bool up = true) {
    ServiceRecord service;
    service.host = host;
    service.binary = std::string(kTrackerBinary);
    service.id = Uuid{5, ++services_};
    service.disabled = disabled;
    service.up = up;
    state.Apply({ServicePut{std::make_shared<const ServiceRecord>(std::move(service))}});
  }
  void AddNode(uint64_t number, const std::string& host, const NodeSums& sums) {
    NodeRecord node;
    node.id = FleetNode(number);
    node.name = absl::StrCat("node ", number);
    node.host = host;
    node.sums = sums;
    // Bytes that are no message: the sums must not decode them.
    node.facts = std::make_shared<const std::string>(1000, '\xff');
    node.account = std::string(1000, '\xff');
    state.Apply({NodePut{std::make_shared<const NodeRecord>(std::move(node))}});
  }
  void AddInstance(const std::string& host, std::optional<ProviderId> node,
                   const std::string& project, const FlavorAmounts& flavor,
                   const std::string& vm_state = "active") {
    auto instance = std::make_shared<InstanceRecord>();
    instance->id = InstanceId{Uuid{11, ++instances_}};
    instance->generation = Generation{static_cast<int64_t>(instances_)};
    instance->host = host;
    instance->node = node;
    instance->project = project;
    instance->vm_state = vm_state;
    instance->flavor = flavor;
    state.Apply({InstancePut{std::move(instance)}});
  }

 private:
  uint64_t services_ = 0, instances_ = 0;
};

NodeSums Sums(const NodeAmounts& total, const NodeAmounts& used) {
  NodeSums sums;
  sums.total = total;
  sums.used = used;
  return sums;
}

std::string ReasonOf(const absl::Status& status) {
  const auto refusal = RefusalOf(status);
  return refusal ? refusal->reason + " " + refusal->items.at(0).at("field") : status.ToString();
}

// The host of C-20: two projects, and a reserve of 512 MB. The record counts swap as disk.
SummedFleet TwoProjects() {
  SummedFleet fleet;
  fleet.AddTracker("h");
  fleet.AddNode(1, "h", Sums({16, 0, 32768, 500}, {8, 0, 8704, 92}));
  fleet.AddInstance("h", FleetNode(1), "A", {2, 2048, 20, 5, 1024});
  fleet.AddInstance("h", FleetNode(1), "A", {2, 2048, 20, 5, 1024});
  fleet.AddInstance("h", FleetNode(1), "B", {4, 4096, 40, 0, 0});
  return fleet;
}

TEST(FleetSums, AHostSaysWhatItHasAndWhoUsesIt) {
  const SummedFleet fleet = TwoProjects();
  const auto sums = SumUpHost(fleet.state, "h", std::nullopt);
  ASSERT_TRUE(sums.ok()) << sums.status();
  ASSERT_EQ(sums->nodes.size(), 1u);
  EXPECT_EQ(sums->total, (NodeAmounts{16, 0, 32768, 500}));               // C-20, T-303
  EXPECT_EQ(sums->used_now, (NodeAmounts{8, 0, 8704, 92}));               // C-20, T-303
  EXPECT_EQ(sums->used_max, (NodeAmounts{8, 0, 8192, 90}));               // C-20, T-303: no swap
  ASSERT_EQ(sums->projects.size(), 2u);                                   // C-20
  EXPECT_EQ(sums->projects.at("A"), (NodeAmounts{4, 0, 4096, 50}));       // C-20, T-303
  EXPECT_EQ(sums->projects.at("B"), (NodeAmounts{4, 0, 4096, 40}));       // C-20, T-303
  EXPECT_EQ(sums->used_now.memory_mib - sums->used_max.memory_mib, 512);  // T-304: the reserve
  EXPECT_EQ(sums->used_now.disk_gib - sums->used_max.disk_gib, 2);        // T-304: swap
}

TEST(FleetSums, InstancesThatUseNothingAreLeftOut) {
  SummedFleet fleet = TwoProjects();
  fleet.AddInstance("h", FleetNode(1), "A", {1, 1, 1, 1, 1}, "deleted");
  fleet.AddInstance("h", FleetNode(1), "A", {1, 1, 1, 1, 1}, "shelved_offloaded");
  fleet.AddInstance("other", std::nullopt, "A", {1, 1, 1, 1, 1});
  const auto sums = SumUpHost(fleet.state, "h", std::nullopt);
  ASSERT_TRUE(sums.ok()) << sums.status();
  EXPECT_EQ(sums->used_max, (NodeAmounts{8, 0, 8192, 90}));  // T-303, T-304
}

TEST(FleetSums, AHostWithSeveralNodesIsTheirSum) {
  SummedFleet fleet = TwoProjects();
  fleet.AddNode(2, "h", Sums({8, 4, 1000, 10}, {1, 2, 3, 4}));
  fleet.AddInstance("h", FleetNode(2), "A", {1, 2, 3, 4, 0});
  fleet.AddInstance("h", std::nullopt, "C", {1, 1, 1, 0, 0});
  const auto both = SumUpHost(fleet.state, "h", std::nullopt);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->nodes.size(), 2u);                          // T-7, T-303: says how many
  EXPECT_EQ(both->total, (NodeAmounts{24, 4, 33768, 510}));   // T-7, T-303
  EXPECT_EQ(both->used_now, (NodeAmounts{9, 2, 8707, 96}));   // T-303
  EXPECT_EQ(both->used_max, (NodeAmounts{10, 0, 8195, 98}));  // T-303: C too
  const auto second = SumUpHost(fleet.state, "h", FleetNode(2));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->nodes.size(), 1u);                      // T-7
  EXPECT_EQ(second->total, (NodeAmounts{8, 4, 1000, 10}));  // T-7, T-303
  EXPECT_EQ(second->used_max, (NodeAmounts{1, 0, 2, 7}));   // T-303
  EXPECT_EQ(second->projects.size(), 1u);
}

TEST(FleetSums, UnknownHostsAndNodesAreRefused) {
  SummedFleet fleet = TwoProjects();
  fleet.AddTracker("empty");
  fleet.AddNode(2, "other", {});
  const auto refused = [&](const char* host, std::optional<ProviderId> node) {
    return ReasonOf(SumUpHost(fleet.state, host, node).status());
  };
  EXPECT_EQ(refused("gone", std::nullopt), "HOST_NOT_FOUND host");   // T-303
  EXPECT_EQ(refused("empty", std::nullopt), "HOST_NOT_FOUND host");  // T-303: it has no node
  EXPECT_EQ(refused("gone", FleetNode(1)), "HOST_NOT_FOUND host");   // before the node
  EXPECT_EQ(refused("h", FleetNode(3)), "NODE_NOT_FOUND node_uuid");
  EXPECT_EQ(refused("h", FleetNode(2)), "NODE_NOT_FOUND node_uuid");  // is on another host
}

TEST(FleetSums, TheFleetIsTheSumOfTheEnabledHosts) {
  SummedFleet fleet;
  fleet.AddTracker("up");
  fleet.AddTracker("down", false, false);
  fleet.AddTracker("disabled", true);
  NodeSums sums = Sums({16, 4, 1024, 100}, {20, 1, 512, 10});
  sums.disk_available_least_gib = -5;
  sums.instance_count = 3;
  sums.task_count = 1;
  fleet.AddNode(1, "up", sums);
  fleet.AddNode(2, "down", Sums({2, 2, 2, 2}, {1, 1, 1, 1}));
  fleet.AddNode(3, "disabled", sums);
  fleet.AddNode(4, "without a tracker", sums);
  const FleetSums found = SumUpFleet(fleet.state);
  EXPECT_EQ(found.node_count, 2);                           // T-311: up or down, enabled
  EXPECT_EQ(found.total, (NodeAmounts{18, 6, 1026, 102}));  // T-311
  EXPECT_EQ(found.used, (NodeAmounts{21, 2, 513, 11}));     // T-311
  EXPECT_EQ(found.free, (NodeAmounts{-1, 4, 513, 91}));     // T-311, T-353: 18 - (21 - 2) CPUs
  EXPECT_EQ(found.disk_available_least_gib, -5);            // T-311: where it is known
  EXPECT_EQ(found.instance_count, 3);                       // T-311
  EXPECT_EQ(found.task_count, 1);                           // T-311
}

TEST(FleetSums, HostsWithTheSameStorageAreNamed) {
  SummedFleet fleet;
  for (const char* host : {"a", "b", "c", "d", "e"}) fleet.AddTracker(host, host[0] == 'e');
  const auto on = [](const std::string& storage) {
    NodeSums sums;
    sums.storage_id = storage;
    return sums;
  };
  fleet.AddNode(1, "b", on("nfs"));
  fleet.AddNode(2, "a", on("nfs"));
  fleet.AddNode(3, "c", on("pool"));
  fleet.AddNode(4, "c", on("pool"));  // the same host twice
  fleet.AddNode(5, "d", on(""));
  fleet.AddNode(6, "e", on("pool"));  // is not counted
  EXPECT_THAT(SumUpFleet(fleet.state).shared_storage_hosts, ElementsAre("a", "b"));  // T-312
}

// Statistics over 10,000 nodes take 10 ms at most. The machines of tests are slower and busy: three
// times that, for the best of several attempts. With a sanitizer it may take a second.
TEST(FleetSums, TenThousandNodesAreSummedUpInMilliseconds) {
  SummedFleet fleet;
  for (uint64_t i = 0; i < 10'000; ++i) {
    const std::string host = absl::StrCat("host-", i);
    fleet.AddTracker(host);
    NodeSums sums = Sums({1, 1, 1, 1}, {1, 1, 1, 1});
    sums.storage_id = absl::StrCat("storage-", i);
    fleet.AddNode(i, host, sums);
  }
  absl::Duration best = absl::InfiniteDuration();
  for (int attempt = 0; attempt < 10; ++attempt) {
    const absl::Time begun = absl::Now();
    EXPECT_EQ(SumUpFleet(fleet.state).node_count, 10'000);
    best = std::min(best, absl::Now() - begun);
  }
  EXPECT_LT(best, absl::Milliseconds(kSanitized ? 1000 : 30));  // T-311
}

}  // namespace
}  // namespace berth::placement
