// How a scheduler sees hosts, which it takes, and what it takes from them.
#include <cstdint>

#include "gtest/gtest.h"
#include "placement/hosts/filters.h"
#include "placement/hosts/host_state.h"
#include "placement/hosts/requirement.h"
#include "placement/hosts/weighers.h"

namespace berth::placement {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000);

NodeStock OrdinaryNode() {
  NodeStock node;
  node.uuid = "uuid-1";
  node.host = "h1";
  node.node_name = "n1";
  node.hypervisor_type = "QEMU";
  node.memory_mib = 8192;
  node.free_memory_mib = 4096;
  node.disk_gib = 100;
  node.used_disk_gib = 40;
  node.free_disk_gib = 60;
  node.vcpus = 8;
  node.used_vcpus = 2;
  node.cpu_allocation_ratio = 4;
  node.memory_allocation_ratio = 1.5;
  node.counters = {{"num_instances", "3"}, {"io_workload", "1"}, {"license", "gold"}};
  node.updated_at = kNow;
  return node;
}

HostState OrdinaryHost() {
  HostState state;
  UpdateHostState(OrdinaryNode(), {false, true}, {{"agg", {{"zone", "a , b"}, {"cpus", "10"}}}},
                  {"i1", "i2"}, &state);
  return state;
}

// The names of the filters that the host does not pass.
std::vector<std::string> Refusing(const HostState& host, const HostRequest& request) {
  std::vector<std::string> names;
  for (const HostFilter& filter : HostFilters()) {
    if (!filter.passes(host, request, HostLimits())) names.emplace_back(filter.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(HostState, HasPhysicalTotals) {
  const HostState host = OrdinaryHost();
  EXPECT_EQ(host.node.host, "h1");
  EXPECT_EQ(host.node.node_name, "n1");      // T-332
  EXPECT_EQ(host.node.vcpus, 8);             // T-334: without the ratio of 4
  EXPECT_EQ(host.free_memory_mib, 4096);     // T-334
  EXPECT_EQ(host.used_disk_mib, 40 * 1024);  // T-332
  EXPECT_EQ(host.instance_count, 3);
  EXPECT_EQ(host.io_operation_count, 1);  // T-332
  EXPECT_EQ(host.failed_build_count, 0);
}

TEST(HostState, FreeDiskIsTheSmallerOne) {
  NodeStock node = OrdinaryNode();
  HostState state;
  ASSERT_TRUE(UpdateFromNode(node, &state));
  EXPECT_EQ(state.free_disk_mib, 60 * 1024);  // T-333: disk_available_least is not known
  node.disk_available_least_gib = 70;
  ASSERT_TRUE(UpdateFromNode(node, &state));
  EXPECT_EQ(state.free_disk_mib, 60 * 1024);  // T-333
  node.disk_available_least_gib = -5;
  ASSERT_TRUE(UpdateFromNode(node, &state));
  EXPECT_EQ(state.free_disk_mib, -5 * 1024);  // T-333
}

TEST(HostState, SkipsOldRecordsAndNodesThatWereNeverAudited) {
  HostState state;
  NodeStock node = OrdinaryNode();
  node.free_disk_gib.reset();
  EXPECT_FALSE(UpdateFromNode(node, &state));
  EXPECT_EQ(state.updated_at, std::nullopt);  // T-334
  EXPECT_EQ(state.node.host, "h1");
  state = OrdinaryHost();
  node = OrdinaryNode();
  node.free_memory_mib = 1;
  node.updated_at = kNow - absl::Seconds(1);
  EXPECT_FALSE(UpdateFromNode(node, &state));
  EXPECT_EQ(state.free_memory_mib, 4096);  // T-334
  node.updated_at = kNow;
  EXPECT_TRUE(UpdateFromNode(node, &state));
  EXPECT_EQ(state.free_memory_mib, 1);  // T-334: a record of the same time is taken
}

// The service, the aggregates and the instances come even if the record is older.
TEST(HostState, CombinesRecordServiceAggregatesAndInstances) {
  HostState state = OrdinaryHost();
  NodeStock old = OrdinaryNode();
  old.updated_at = kNow - absl::Seconds(1);
  EXPECT_FALSE(UpdateHostState(old, {true, false}, {}, {"i3"}, &state));
  EXPECT_TRUE(state.service.disabled);  // T-335
  EXPECT_TRUE(state.aggregates.empty());
  EXPECT_EQ(state.instances, std::set<std::string>{"i3"});  // T-335
}

TEST(HostState, TakesEverythingOrNothing) {
  const HostDemand demand = {1024, 15, 2};
  HostState host = OrdinaryHost();
  const auto fits = [] { return absl::OkStatus(); };
  ASSERT_TRUE(ConsumeFromHost(demand, kNow + absl::Seconds(5), fits, &host).ok());
  EXPECT_EQ(host.free_memory_mib, 3072);  // T-336
  EXPECT_EQ(host.free_disk_mib, 45 * 1024);
  EXPECT_EQ(host.used_vcpus, 4);
  EXPECT_EQ(host.instance_count, 4);
  EXPECT_EQ(host.io_operation_count, 2);
  EXPECT_EQ(host.updated_at, kNow + absl::Seconds(5));  // T-336
  EXPECT_FALSE(UpdateFromNode(OrdinaryNode(), &host)) << "the record does not have it yet";

  HostState full = OrdinaryHost();
  const auto fails = [] { return absl::ResourceExhaustedError("no cells"); };
  EXPECT_FALSE(ConsumeFromHost(demand, kNow + absl::Seconds(5), fails, &full).ok());
  EXPECT_EQ(full.free_memory_mib, 4096);  // T-336
  EXPECT_EQ(full.instance_count, 3);
  EXPECT_EQ(full.updated_at, kNow);  // T-336
}

TEST(Requirement, Compares) {
  EXPECT_TRUE(Meets("a", "a"));
  EXPECT_FALSE(Meets("8", "> 0")) << "no operator: the whole text is the value";
  EXPECT_TRUE(Meets("8", "= 4"));
  EXPECT_FALSE(Meets("3", "= 4"));
  EXPECT_TRUE(Meets("10", "== 10.0"));
  EXPECT_TRUE(Meets("10", "!= 9"));
  EXPECT_TRUE(Meets("10", ">= 9"));
  EXPECT_TRUE(Meets("9", "<= 9"));
  EXPECT_FALSE(Meets("a", "!= 9")) << "what is no number is not compared";
  EXPECT_FALSE(Meets("9", "!= a"));
  EXPECT_TRUE(Meets("a", "s== a"));
  EXPECT_TRUE(Meets("a", "s!= b"));
  EXPECT_TRUE(Meets("a", "s< b"));
  EXPECT_TRUE(Meets("abc", "<in> b"));
  EXPECT_TRUE(Meets("['vmx', 'sse']", "<all-in> vmx sse"));
  EXPECT_FALSE(Meets("['vmx']", "<all-in> vmx sse"));
  EXPECT_TRUE(Meets("b", "<or> a <or> b"));
  EXPECT_FALSE(Meets("c", "<or> a <or> b"));
  for (const char* const operation : {"=", "<in>", "<all-in>", "<or>", "s=="}) {
    EXPECT_FALSE(Meets("a", operation));
  }
  EXPECT_TRUE(Meets("", ""));
}

TEST(Filters, JudgeServiceAndLoad) {
  HostState host = OrdinaryHost();
  EXPECT_EQ(Refusing(host, {}), Names());
  host.service.up = false;
  EXPECT_EQ(Refusing(host, {}), Names{"ComputeFilter"});  // T-340
  host.service = {true, true};
  EXPECT_EQ(Refusing(host, {}), Names{"ComputeFilter"});  // T-340
  host = OrdinaryHost();
  host.io_operation_count = 8;
  host.instance_count = 50;
  EXPECT_EQ(Refusing(host, {}), (Names{"IoOpsFilter", "NumInstancesFilter"}));
}

TEST(Filters, JudgeInstances) {
  HostRequest request;
  request.different_host = {"i2"};
  request.same_host = {"i7"};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), (Names{"SameHostFilter", "DifferentHostFilter"}));
  request = {};
  request.group = HostGroup{"anti-affinity", {"i1", "i9"}, {}, std::nullopt};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names{"ServerGroupAntiAffinityFilter"});
  request.instance_uuid = "i1";
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names()) << "it is there itself";
  request.instance_uuid = "i9";
  request.group->max_server_per_host = 2;
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names());
  request.group = HostGroup{"affinity", {}, {"h2"}, std::nullopt};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names{"ServerGroupAffinityFilter"});
  request.group->hosts = {"h1"};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names());
}

TEST(Filters, JudgeGroups) {
  HostRequest request;
  request.instance_uuid = "i9";
  request.group = HostGroup{"anti-affinity", {"i1", "i2", "i9"}, {}, 2};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names{"ServerGroupAntiAffinityFilter"});  // C-16
  request.group->members = {"i1", "i9"};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names());  // C-16
  request.group = HostGroup{"affinity", {"i7", "i9"}, {"h2"}, std::nullopt};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names{"ServerGroupAffinityFilter"});  // C-16
  request.group->hosts.clear();
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names());  // C-16
}

TEST(Filters, JudgeExtraSpecs) {
  HostRequest request;
  request.extra_specs = {{"quota:cpu", "1"}, {"capabilities:hypervisor_type", "QEMU"}};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names());
  request.extra_specs = {{"capabilities:license", "gold"}, {"capabilities:vcpus_total", ">= 8"}};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names());
  request.extra_specs = {{"capabilities:nothing", "1"}};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names{"ComputeCapabilitiesFilter"});
  request.extra_specs = {{"aggregate_instance_extra_specs:zone", "b"},
                         {"aggregate_instance_extra_specs:cpus", ">= 5"}};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names());
  request.extra_specs = {{"aggregate_instance_extra_specs:zone", ">= 5"}};
  EXPECT_EQ(Refusing(OrdinaryHost(), request), Names{"AggregateInstanceExtraSpecsFilter"});
}

TEST(Weighers, NormaliseAndMultiply) {
  HostState little = OrdinaryHost(), much = OrdinaryHost(), negative = OrdinaryHost();
  little.free_memory_mib = 1024;
  negative.free_memory_mib = -512;
  const std::vector<const HostState*> hosts = {&little, &much, &negative};
  const HostWeigher& memory = HostWeighers()[0];
  EXPECT_EQ(WeighBy(memory, {{"ram_weight_multiplier", 2.0}}, hosts),
            (std::vector<double>{0.5, 2.0, 0.0}));
  much.aggregates = {{"x", {{"ram_weight_multiplier", "4"}}},
                     {"y", {{"ram_weight_multiplier", "3"}}}};
  EXPECT_EQ(WeighBy(memory, {}, hosts), (std::vector<double>{0.25, 3.0, 0.0}));
  much.aggregates[0].metadata["ram_weight_multiplier"] = "junk";
  EXPECT_EQ(WeighBy(memory, {}, hosts), (std::vector<double>{0.25, 1.0, 0.0}));
  EXPECT_EQ(WeighBy(memory, {}, {&much}), std::vector<double>{0.0});
  const auto best = WeighHosts({}, hosts);
  EXPECT_EQ(best[0].first, &much);
  EXPECT_EQ(best[2].first, &negative);
}

}  // namespace
}  // namespace berth::placement
