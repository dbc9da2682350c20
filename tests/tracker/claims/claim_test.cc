// Claims of instances: tests, refusals, and what is taken (T-150 to T-164).
#include "tracker/claims/claim.h"

#include <ctime>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/claims/rich_claims.h"
#include "tests/worlds/seed.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(ClaimInstance, TakesEverything) {
  NodeAccount account(kHere, RichHost());
  const auto claim = ClaimInstance(Settings(), RichRequest("a"), &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(claim->instance.on, kHere);          // T-155
  EXPECT_EQ(claim->instance.launched_on, "h1");  // T-155
  const GuestCell& cell = claim->instance.assigned.topology->cells[0];
  EXPECT_EQ(cell.host_cell, 0);                                    // T-155
  EXPECT_THAT(cell.pinning, ElementsAre(Pair(0, 0), Pair(1, 1)));  // T-155
  EXPECT_THAT(claim->instance.assigned.devices, SizeIs(1));        // T-155
  EXPECT_THAT(claim->instance.assigned.units, ElementsAre(NamedUnit{"node-1"_uuid, "PMEM", "ns0"}));
  EXPECT_EQ(account.used(), (Amounts{2, 512, 10 * kMibPerGib}));                       // T-155
  EXPECT_EQ(account.owners().by_unit().at({"node-1"_uuid, "PMEM", "ns0"}), "a"_uuid);  // T-158
  const auto second = ClaimInstance(Settings(), RichRequest("b"), &account);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(second->instance.assigned.devices,
            claim->instance.assigned.devices);  // T-150, T-395: both use the same node
  EXPECT_NE(second->instance.assigned.units, claim->instance.assigned.units);  // T-395
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.Count(), 4);         // T-395
}

TEST(ClaimInstance, ReadsTheFlavorIfTheRecordDoesNotSayWhatIsWanted) {
  NodeAccount account(kHere, RichHost());
  const NodeAccount before = account;
  InstanceClaim request = RichRequest("a");
  request.instance.assigned.topology.reset();
  request.instance.device_requests.clear();
  auto& specs = request.instance.flavor.extra_specs;
  specs = {{"hw:cpu_policy", "exclusive"}};
  const absl::Status malformed = ClaimInstance(Settings(), request, &account).status();
  EXPECT_EQ(malformed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(malformed.message()), StartsWith("hw:cpu_policy"));
  specs = {{"hw:cpu_policy", "dedicated"}, {"pci_passthrough:alias", "gpu:1"}};
  const absl::Status unknown = ClaimInstance(Settings(), request, &account).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()),
              StartsWith("instance.flavor.extra_specs[pci_passthrough:alias] "));  // T-244
  EXPECT_EQ(account, before);                                                      // T-156
  specs["pci_passthrough:alias"] = "nic:1";
  const auto claim = ClaimInstance(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  ASSERT_TRUE(claim->instance.assigned.topology.has_value());                 // T-269
  EXPECT_EQ(claim->instance.assigned.topology->cells[0].pinning.size(), 2u);  // T-269
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.Count(), 2);        // T-269
  EXPECT_THAT(claim->instance.assigned.devices, SizeIs(1));                   // T-244
}

TEST(ClaimInstance, KnowsForWhichRequestADeviceIs) {
  NodeAccount account(kHere, RichHost());
  InstanceClaim request = RichRequest("a");
  request.instance.device_requests[0].request_id = "r1";
  const auto claim = ClaimInstance(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  const std::string& address = claim->instance.assigned.devices.at(0);
  EXPECT_THAT(claim->instance.assigned.request_ids, ElementsAre(Pair(address, "r1")));
  EXPECT_EQ(account.Devices().Find(address)->request_id, "r1");
  account.PutInstance(claim->instance);
  EXPECT_EQ(account.Devices().Find(address)->request_id, "r1");
}

TEST(ClaimInstance, LimitsOfAmounts) {  // C-8
  NodeResources resources = RichHost();
  resources.reserve = {1, 1536, 5 * kMibPerGib};
  struct Case {
    int64_t memory_mib;
    ClaimLimits limits;
    std::vector<std::string> reasons;
  };
  const Case cases[] = {
      {512, {2048, {}, {}, {}}, {}},  // C-8, T-161: equal is allowed
      {513, {2048, {}, {}, {}}, {"Free memory 512.00 MB < requested 513 MB"}},  // C-8, T-159, T-160
      {513, {}, {}},                                                            // C-8, T-161
      {512, {{}, 15, {}, {}}, {}},
      {512, {{}, 14, {}, {}}, {"Free disk 9.00 GB < requested 10 GB"}},  // T-159
      {512, {{}, {}, 3, {}}, {}},
      {512, {{}, {}, 2, {}}, {"Free vcpu 1.00 VCPU < requested 2 VCPU"}},  // T-159
      {513,
       {2048, 14, 2, {}},
       {"Free memory 512.00 MB < requested 513 MB", "Free disk 9.00 GB < requested 10 GB",
        "Free vcpu 1.00 VCPU < requested 2 VCPU"}},  // T-159: all of them
  };
  for (const Case& c : cases) {
    NodeAccount account(kHere, resources);
    const NodeAccount before = account;
    InstanceClaim request = RichRequest("a");
    request.instance.flavor.memory_mib = c.memory_mib;
    request.limits = c.limits;
    const auto claim = ClaimInstance(Settings(), request, &account);
    ASSERT_EQ(claim.ok(), c.reasons.empty()) << claim.status();
    if (claim.ok()) continue;
    EXPECT_EQ(Reasons(claim.status()), c.reasons);
    EXPECT_TRUE(RefusalOf(claim.status())->drift);  // T-162
    EXPECT_EQ(account, before);                     // T-156
  }
}

TEST(ClaimInstance, FailuresAreJoined) {
  NodeAccount account(kHere, RichHost());
  InstanceClaim request = RichRequest("a");
  request.limits.memory_mib = 100;
  request.limits.vcpus = 1;
  EXPECT_EQ(ClaimInstance(Settings(), request, &account).status().message(),
            "Insufficient compute resources: Free memory 100.00 MB < requested 512 MB; "
            "Free vcpu 1.00 VCPU < requested 2 VCPU.");  // C-8, T-159
}

TEST(ClaimInstance, DiskHasSwapAndNoRootOfAVolume) {
  NodeAccount account(kHere, RichHost());
  InstanceClaim request = RichRequest("a");
  request.instance.flavor.swap_mib = 1;
  request.limits.disk_gib = 10;
  EXPECT_THAT(Reasons(ClaimInstance(Settings(), request, &account).status()),
              ElementsAre("Free disk 10.00 GB < requested 11 GB"));  // T-159
  request.instance.boot_from_volume = true;
  EXPECT_TRUE(ClaimInstance(Settings(), request, &account).ok());  // T-159
}

TEST(ClaimInstance, CellsAndDevicesAreTested) {
  const char kNoFit[] = "Requested instance NUMA topology cannot fit the given host NUMA topology";
  const char kNoFitWithDevices[] =
      "Requested instance NUMA topology together with requested PCI devices cannot fit the given "
      "host NUMA topology";
  NodeAccount account(kHere, RichHost());
  const NodeAccount before = account;
  InstanceClaim request = RichRequest("a");
  request.instance.assigned.topology->cells[0].pinned_cpus = CpuSet::Range(0, 8);
  EXPECT_THAT(Reasons(ClaimInstance(Settings(), request, &account).status()),
              ElementsAre(kNoFitWithDevices));  // T-163
  request.instance.device_requests[0].count = 3;
  EXPECT_THAT(Reasons(ClaimInstance(Settings(), request, &account).status()),
              ElementsAre(kNoFitWithDevices, "Claim pci failed"));  // T-159, T-163
  request.instance.device_requests.clear();
  EXPECT_THAT(Reasons(ClaimInstance(Settings(), request, &account).status()),
              ElementsAre(kNoFit));  // T-163
  EXPECT_FALSE(RefusalOf(ClaimInstance(Settings(), request, &account).status())->drift);
  EXPECT_EQ(account, before);  // T-156
  NodeResources flat = RichHost();
  flat.topology.reset();
  NodeAccount without_cells(kHere, flat);
  EXPECT_THAT(Reasons(ClaimInstance(Settings(), RichRequest("a"), &without_cells).status()),
              ElementsAre("Host has no NUMA topology"));  // T-163
}

// 16 cells, of which a guest wants 8: 12,870 sets of cells are tried, and on none of them are all
// devices near. The devices alone would suffice.
TEST(ClaimInstance, ManyDevicesDoNotMakeARefusalSlow) {
  NodeResources resources = RichHost();
  resources.devices.clear();
  const NumaCell cell = resources.topology->cells[0];
  resources.topology->cells.clear();
  for (int i = 0; i < 16; ++i) {
    resources.topology->cells.push_back(cell);
    resources.topology->cells.back().id = i;
    for (int j = 0; j < 8; ++j) {
      resources.devices.push_back(MakeNic(absl::StrFormat("0000:%02x:%02x.0", i, j)));
      resources.devices.back().numa_node = i;
    }
  }
  NodeAccount account(kHere, resources);
  InstanceClaim request = RichRequest("a");
  GuestTopology& wanted = *request.instance.assigned.topology;
  wanted.cells.assign(8, wanted.cells[0]);
  request.instance.device_requests[0].numa_policy = DeviceNumaPolicy::kRequired;
  request.instance.device_requests[0].count = 65;  // 8 cells have 64
  const std::clock_t begin = std::clock();
  EXPECT_THAT(Reasons(ClaimInstance(Settings(), request, &account).status()), SizeIs(1));
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, kSanitized ? 20 : 0.5);  // T-275, T-363
}

TEST(ClaimInstance, ConfiguredRatiosLimitCellsIfTheClaimDoesNot) {
  InstanceClaim request = RichRequest("a");
  GuestCell& cell = request.instance.assigned.topology->cells[0];
  cell.cpu_policy = CpuPolicy::kShared;
  cell.shared_cpus = CpuSet::Range(0, 5);
  cell.pinned_cpus = CpuSet();
  ClaimSettings settings = Settings();
  settings.default_cell_limits = CellLimits{0.5, 1.0};
  NodeAccount account(kHere, RichHost());
  EXPECT_FALSE(ClaimInstance(settings, request, &account).ok());  // T-164: 6 of 8 * 0.5 CPUs
  request.limits.cells = CellLimits{1.0, 1.0};
  EXPECT_TRUE(ClaimInstance(settings, request, &account).ok());  // T-161
}

TEST(ClaimInstance, NamedUnits) {
  NodeAccount account(kHere, RichHost());
  const NodeAccount before = account;
  InstanceClaim request = RichRequest("a");
  request.units[0].amount = 3;
  EXPECT_THAT(Reasons(ClaimInstance(Settings(), request, &account).status()),
              ElementsAre("Needed 3 units of resource class PMEM, but 2 are available."));  // T-158
  EXPECT_EQ(account, before);                                                               // T-156
  request.units = {{"node-1"_uuid, "VCPU", 2}, {"another node"_uuid, "PMEM", 9}};
  const auto claim = ClaimInstance(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();  // T-158: without named units here
  EXPECT_THAT(claim->instance.assigned.units, IsEmpty());
}

TEST(ClaimInstance, ABrokenRequestIsRefused) {
  NodeAccount account(kHere, RichHost());
  const NodeAccount before = account;
  const auto refused = [&](const std::function<void(InstanceClaim*)>& change) {
    InstanceClaim request = RichRequest("a");
    change(&request);
    return absl::IsInvalidArgument(ClaimInstance(Settings(), request, &account).status());
  };
  EXPECT_TRUE(refused([](InstanceClaim* claim) { claim->instance.uuid = {}; }));
  EXPECT_TRUE(refused([](InstanceClaim* claim) { claim->instance.flavor.vcpus = -1; }));
  EXPECT_TRUE(refused([](InstanceClaim* claim) { claim->instance.flavor.memory_mib = INT64_MAX; }));
  EXPECT_TRUE(refused([](InstanceClaim* claim) { claim->units[0].amount = -1; }));
  EXPECT_TRUE(refused([](InstanceClaim* claim) { claim->instance.device_requests[0].count = 0; }));
  EXPECT_EQ(account, before);
}

TEST(ClaimInstance, OneUnitIsTakenOnce) {
  NodeAccount account(kHere, RichHost());
  InstanceClaim request = RichRequest("a");
  request.units.push_back(request.units[0]);
  const auto claim = ClaimInstance(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  ASSERT_THAT(claim->instance.assigned.units, SizeIs(2));
  EXPECT_NE(claim->instance.assigned.units[0], claim->instance.assigned.units[1]);  // T-395
  EXPECT_TRUE(account.faults().empty());
}

TEST(ClaimInstance, RefusalsInOrder) {
  NodeAccount account(kHere, RichHost());
  ClaimSettings disabled = Settings();
  disabled.enabled = false;
  InstanceClaim request = RichRequest("a");
  const auto kind = [&](const ClaimSettings& settings) {
    return RefusalOf(ClaimInstance(settings, request, &account).status())->kind;
  };
  const auto claim = ClaimInstance(Settings(), request, &account);
  ASSERT_TRUE(claim.ok());
  const NodeAccount once = account;
  EXPECT_TRUE(ClaimInstance(Settings(), request, &account).ok());  // the same id, the same answer
  EXPECT_EQ(account, once);
  request.body = "another";
  EXPECT_EQ(kind(Settings()), ClaimRefusalKind::kRequestIdReused);
  request.id = "";
  EXPECT_EQ(kind(Settings()), ClaimRefusalKind::kAlreadyClaimed);
  request.id = "another";
  EXPECT_EQ(kind(disabled), ClaimRefusalKind::kNodeUnavailable);   // T-52, T-153
  EXPECT_EQ(kind(Settings()), ClaimRefusalKind::kAlreadyClaimed);  // T-181
  account.PutInstance(claim->instance);
  EXPECT_EQ(kind(Settings()), ClaimRefusalKind::kAlreadyClaimed);  // T-181
  request.node_uuid = "unknown"_uuid;
  EXPECT_EQ(ClaimInstance(Settings(), request, &account).status().message(),
            "Attempt to claim resources for instance " + "a"_uuid.ToString() + " on unknown node " +
                "unknown"_uuid.ToString() + " failed");  // T-153
  EXPECT_EQ(account, once);
}

TEST(ClaimInstance, ALaterSmallerClaimStillFits) {
  NodeAccount account(kHere, RichHost());
  const int cpus[] = {5, 4, 2, 1};
  std::vector<bool> granted;
  for (int i = 0; i < 4; ++i) {
    InstanceClaim request = RichRequest(std::string(1, static_cast<char>('a' + i)));
    request.instance.device_requests.clear();
    request.units.clear();
    request.instance.assigned.topology->cells[0].pinned_cpus = CpuSet::Range(0, cpus[i] - 1);
    granted.push_back(ClaimInstance(Settings(), request, &account).ok());
  }
  EXPECT_THAT(granted, ElementsAre(true, false, true, true));  // T-180
}

TEST(ClaimInstance, AShelvedInstanceCountsBeforeItSpawns) {
  NodeAccount account(kHere, RichHost());
  InstanceClaim request = RichRequest("a");
  request.instance.vm_state = "shelved_offloaded";
  request.instance.task_state = "unshelving";
  account.PutInstance(request.instance);
  ASSERT_TRUE(ClaimInstance(Settings(), request, &account).ok());
  EXPECT_EQ(account.used(), (Amounts{2, 512, 10 * kMibPerGib}));        // T-155, T-182
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.Count(), 2);  // T-395
  request.id = "another";
  EXPECT_EQ(RefusalOf(ClaimInstance(Settings(), request, &account).status())->kind,
            ClaimRefusalKind::kAlreadyClaimed);  // T-181
}

TEST(ClaimSettings, FollowFromTheConfiguration) {
  NodeConfiguration configuration;
  EXPECT_FALSE(ClaimSettingsOf(configuration)->default_cell_limits.has_value());  // T-164
  configuration.cpu_allocation_ratio = 4.0;
  configuration.pack_numa_cells = true;
  configuration.pci_aliases = {R"({"name": "nic", "vendor_id": "8086"})"};
  const ClaimSettings settings = *ClaimSettingsOf(configuration);
  EXPECT_EQ(settings.default_cell_limits->cpu_allocation_ratio, 4.0);  // T-164
  EXPECT_EQ(settings.default_cell_limits->ram_allocation_ratio, 1.0);
  EXPECT_TRUE(settings.pack_cells);
  EXPECT_EQ(settings.device_aliases.count("nic"), 1u);  // T-244
  configuration.pci_aliases = {"{}"};
  EXPECT_FALSE(ClaimSettingsOf(configuration).ok());
}

}  // namespace
}  // namespace berth::tracker
