// How a scheduler sees hosts, which it takes, and what it takes from them.
#include "services/client/cpp/host_view.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "services/client/cpp/filters.h"
#include "services/client/cpp/requirement.h"
#include "services/client/cpp/weighers.h"

namespace berth::client {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000);

void SetTime(absl::Time time, pb::HostState* state) {
  state->mutable_node()->mutable_updated_at()->set_seconds(absl::ToUnixSeconds(time));
}

void AddAggregate(const std::string& name, const std::map<std::string, std::string>& metadata,
                  pb::HostState* state) {
  pb::HostAggregate& aggregate = *state->add_aggregates();
  aggregate.set_name(name);
  for (const auto& [key, value] : metadata) (*aggregate.mutable_metadata())[key] = value;
}

pb::HostState OrdinaryState() {
  pb::HostState state;
  pb::Node& node = *state.mutable_node();
  node.set_uuid("uuid-1");
  node.set_host("h1");
  node.set_name("n1");
  pb::NodeFacts& facts = *node.mutable_facts();
  facts.set_hypervisor_type("QEMU");
  facts.set_memory_mib(8192);
  facts.set_disk_gib(100);
  facts.set_vcpus(8);
  facts.set_cpu_allocation_ratio(4);
  facts.set_memory_allocation_ratio(1.5);
  facts.set_cpu_info_json(R"({"model": "Skylake", "topology": {"cores": 4}, "features": ["vmx"]})");
  pb::Amounts& used = *node.mutable_account()->mutable_used();
  used.set_memory_mib(4096);
  used.set_disk_gib(40);
  used.set_vcpus(2);
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"num_instances", "3"}, {"io_workload", "1"}, {"license", "gold"}}) {
    (*state.mutable_stats())[name] = value;
  }
  SetTime(kNow, &state);
  state.mutable_service()->set_state(pb::SERVICE_STATE_UP);
  AddAggregate("agg", {{"zone", "a , b"}, {"cpus", "10"}}, &state);
  state.add_instance_uuids("i1");
  state.add_instance_uuids("i2");
  return state;
}

bool Update(const pb::HostState& state, HostView* view) {
  return UpdateHostView(PartsOf(state), view);
}

HostView HostOf(const pb::HostState& state) {
  HostView view;
  Update(state, &view);
  return view;
}
HostView OrdinaryHost() { return HostOf(OrdinaryState()); }

// The names of the filters that the host does not pass.
std::vector<std::string> Refusing(const HostView& host, const HostRequest& request) {
  std::vector<std::string> names;
  for (const HostFilter& filter : HostFilters()) {
    if (!filter.passes(host, request, HostLimits())) names.emplace_back(filter.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(HostView, HasPhysicalTotals) {
  const HostView host = OrdinaryHost();
  EXPECT_EQ(AttributeOf(host, "host"), "h1");
  EXPECT_EQ(AttributeOf(host, "nodename"), "n1");    // T-332
  EXPECT_EQ(AttributeOf(host, "vcpus_total"), "8");  // T-334: without the ratio of 4
  EXPECT_EQ(host.free_memory_mib, 4096);             // T-334
  EXPECT_EQ(host.used_disk_mib, 40 * 1024);          // T-332
  EXPECT_EQ(host.instance_count, 3);
  EXPECT_EQ(host.io_operation_count, 1);  // T-332
  EXPECT_EQ(host.failed_build_count, 0);
  EXPECT_EQ(AttributeOf(host, "cpu_allocation_ratio"), "4.0");
  EXPECT_EQ(AttributeOf(host, "what nobody knows"), std::nullopt);
}

TEST(HostView, FreeDiskIsTheSmallerOne) {
  pb::HostState state = OrdinaryState();
  HostView view;
  ASSERT_TRUE(Update(state, &view));
  EXPECT_EQ(view.free_disk_mib, 60 * 1024);  // T-333: disk_available_least is not known
  state.mutable_node()->mutable_account()->set_disk_available_least_gib(70);
  ASSERT_TRUE(Update(state, &view));
  EXPECT_EQ(view.free_disk_mib, 60 * 1024);  // T-333
  state.mutable_node()->mutable_account()->set_disk_available_least_gib(-5);
  ASSERT_TRUE(Update(state, &view));
  EXPECT_EQ(view.free_disk_mib, -5 * 1024);  // T-333
}

TEST(HostView, SkipsOldRecordsAndNodesThatWereNeverAudited) {
  HostView view;
  pb::HostState state = OrdinaryState();
  state.mutable_node()->clear_account();
  EXPECT_FALSE(Update(state, &view));
  EXPECT_EQ(view.updated_at, std::nullopt);  // T-334
  EXPECT_EQ(view.node->uuid(), "uuid-1") << "a candidate has it as its root";
  EXPECT_EQ(AttributeOf(view, "host"), "h1");
  EXPECT_EQ(AttributeOf(view, "uuid"), std::nullopt);
  EXPECT_EQ(AttributeOf(view, "hypervisor_type"), std::nullopt);
  view = OrdinaryHost();
  state = OrdinaryState();
  state.mutable_node()->mutable_account()->mutable_used()->set_memory_mib(8191);
  SetTime(kNow - absl::Seconds(1), &state);
  EXPECT_FALSE(Update(state, &view));
  EXPECT_EQ(view.free_memory_mib, 4096);  // T-334
  SetTime(kNow, &state);
  EXPECT_TRUE(Update(state, &view));
  EXPECT_EQ(view.free_memory_mib, 1);  // T-334: a record of the same time is taken
}

// The service, the aggregates and the instances come even if the record is older.
TEST(HostView, CombinesRecordServiceAggregatesAndInstances) {
  HostView view = OrdinaryHost();
  pb::HostState old = OrdinaryState();
  SetTime(kNow - absl::Seconds(1), &old);
  old.mutable_service()->set_disabled(true);
  old.clear_aggregates();
  old.clear_instance_uuids();
  old.add_instance_uuids("i3");
  EXPECT_FALSE(Update(old, &view));
  EXPECT_TRUE(view.service->disabled());  // T-335
  EXPECT_TRUE(view.aggregates.empty());
  EXPECT_EQ(view.instances, std::set<std::string>{"i3"});  // T-335
  EXPECT_EQ(view.free_memory_mib, 4096);
}

TEST(HostView, TakesEverythingOrNothing) {
  const HostDemand demand = {1024, 15, 2};
  HostView host = OrdinaryHost();
  const auto fits = [](const HostView& /*host*/) { return absl::OkStatus(); };
  ASSERT_TRUE(ConsumeFromHost(demand, kNow + absl::Seconds(5), fits, &host).ok());
  EXPECT_EQ(host.free_memory_mib, 3072);  // T-336
  EXPECT_EQ(host.free_disk_mib, 45 * 1024);
  EXPECT_EQ(host.used_vcpus, 4);
  EXPECT_EQ(host.instance_count, 4);
  EXPECT_EQ(host.io_operation_count, 2);
  EXPECT_EQ(host.updated_at, kNow + absl::Seconds(5));  // T-336
  EXPECT_FALSE(Update(OrdinaryState(), &host)) << "the record does not have it yet";

  HostView full = OrdinaryHost();
  const auto fails = [](const HostView& /*host*/) {
    return absl::ResourceExhaustedError("no cells");
  };
  EXPECT_FALSE(ConsumeFromHost(demand, kNow + absl::Seconds(5), fails, &full).ok());
  EXPECT_EQ(full.free_memory_mib, 4096);  // T-336
  EXPECT_EQ(full.instance_count, 3);
  EXPECT_EQ(full.updated_at, kNow);  // T-336
}

TEST(HostView, LimitsAreTotalsByTheirRatios) {
  pb::HostState state = OrdinaryState();
  tracker::v1::Limits limits = LimitsOf(HostOf(state));
  EXPECT_EQ(limits.memory_mib(), 12'288);  // T-337, T-161
  EXPECT_EQ(limits.vcpus(), 32);           // T-337
  EXPECT_EQ(limits.numa_cpu_ratio(), 4);   // T-337
  EXPECT_EQ(limits.numa_memory_ratio(), 1.5);
  EXPECT_FALSE(limits.has_disk_gib()) << "its ratio is not known";
  for (const double ratio : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    state.mutable_node()->mutable_facts()->set_cpu_allocation_ratio(ratio);
    EXPECT_FALSE(LimitsOf(HostOf(state)).has_vcpus()) << ratio;
    EXPECT_FALSE(LimitsOf(HostOf(state)).has_numa_cpu_ratio()) << ratio;
  }
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
  HostView host = OrdinaryHost();
  EXPECT_EQ(Refusing(host, {}), Names());
  pb::HostState state = OrdinaryState();
  state.mutable_service()->set_state(pb::SERVICE_STATE_DOWN);
  EXPECT_EQ(Refusing(HostOf(state), {}), Names{"ComputeFilter"});  // T-340
  state = OrdinaryState();
  state.mutable_service()->set_disabled(true);
  EXPECT_EQ(Refusing(HostOf(state), {}), Names{"ComputeFilter"});  // T-340
  state.clear_service();
  EXPECT_EQ(Refusing(HostOf(state), {}), Names{"ComputeFilter"}) << "nobody reports the node";
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
  request.extra_specs = {{"quota:cpu", "1"},
                         {"capabilities:hypervisor_type", "QEMU"},
                         {"capabilities:cpu_info:topology:cores", ">= 4"},
                         {"capabilities:cpu_info:features", "<in> vmx"}};
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
  HostView little = OrdinaryHost(), much = OrdinaryHost(), negative = OrdinaryHost();
  little.free_memory_mib = 1024;
  negative.free_memory_mib = -512;
  const std::vector<const HostView*> hosts = {&little, &much, &negative};
  const HostWeigher& memory = HostWeighers()[0];
  EXPECT_EQ(WeighBy(memory, {{"ram_weight_multiplier", 2.0}}, {}, hosts),
            (std::vector<double>{0.5, 2.0, 0.0}));
  const auto multiply = [&much](const char* one, const char* other) {
    pb::HostState state;
    AddAggregate("x", {{"ram_weight_multiplier", one}}, &state);
    AddAggregate("y", {{"ram_weight_multiplier", other}}, &state);
    much.aggregates = PartsOf(state).aggregates;
  };
  multiply("4", "3");
  EXPECT_EQ(WeighBy(memory, {}, {}, hosts), (std::vector<double>{0.25, 3.0, 0.0}));
  for (const char* text : {"junk", "nan", "inf"}) {
    multiply(text, "3");
    EXPECT_EQ(WeighBy(memory, {}, {}, hosts), (std::vector<double>{0.25, 1.0, 0.0})) << text;
  }
  EXPECT_EQ(WeighBy(memory, {}, {}, {&much}), std::vector<double>{0.0});
  const auto best = WeighHosts({}, {}, hosts);
  EXPECT_EQ(best[0].first, &much);
  EXPECT_EQ(best[2].first, &negative);
}

TEST(Weighers, FollowTheWishesOfGroups) {
  HostView two = OrdinaryHost(), none = OrdinaryHost();
  none.instances = {"i7"};
  HostRequest request;
  const auto best = [&] { return WeighHosts({}, request, {&none, &two})[0].first; };
  EXPECT_EQ(best(), &none) << "hosts of equal weight stay in their order";
  request.group = HostGroup{"soft-affinity", {"i1", "i2", "i9"}, {}, std::nullopt};
  EXPECT_EQ(best(), &two);
  EXPECT_EQ(Refusing(none, request), Names());  // a wish refuses nothing
  request.group->policy = "soft-anti-affinity";
  EXPECT_EQ(best(), &none);
  EXPECT_EQ(WeighHosts({}, request, {&two, &none})[0].first, &none);
  request.group->policy = "affinity";
  EXPECT_EQ(best(), &none);
}

TEST(Weighers, OfNovaAvoidOperationsAndFailedBuilds) {
  HostView quiet, busy, failing;
  busy.io_operation_count = 3;
  failing.failed_build_count = 1;
  const auto best = WeighHosts(NovaMultipliers(), {}, {&failing, &busy, &quiet});
  EXPECT_EQ(best[0], (std::pair<const HostView*, double>(&quiet, 0)));
  EXPECT_EQ(best[1], (std::pair<const HostView*, double>(&busy, -1)));
  EXPECT_EQ(best[2], (std::pair<const HostView*, double>(&failing, -1e6)));
}

}  // namespace
}  // namespace berth::client
