// Claims of instances and moves: tests, refusals, and what is taken (T-150 to T-172).
#include "tracker/claims/claim.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/account/sample_records.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

const absl::Time kLeaseEnd = absl::UnixEpoch() + absl::Seconds(300);

PciDevice MakeNic(std::string address) {
  PciDevice device;
  device.address = std::move(address);
  device.vendor_id = "8086";
  device.product_id = "1533";
  device.dev_type = "type-PCI";
  device.numa_node = 0;
  return device;
}

// A host with 8 dedicated CPUs, two network cards and two units of persistent memory.
NodeResources RichHost() {
  NodeResources resources;
  resources.total = {8, 4096, 100 * kMibPerGib};
  resources.topology = MakeTopology();
  resources.devices = {MakeNic("0000:81:00.0"), MakeNic("0000:81:01.0")};
  resources.device_specs = *DeviceSpecs::Parse({R"({"vendor_id": "8086"})"}, DeviceSpecLimits());
  resources.units = {{"node-1", "PMEM", "ns0"}, {"node-1", "PMEM", "ns1"}};
  return resources;
}

ClaimSettings Settings() {
  ClaimSettings settings;
  settings.device_aliases =
      *ParseDeviceAliases({R"({"name": "nic", "vendor_id": "8086", "product_id": "1533"})"});
  return settings;
}

// An instance that is on no node yet and wants two CPUs of its own, one card and one unit.
InstanceClaim RichRequest(std::string uuid) {
  InstanceClaim request;
  request.id = "claim-" + uuid;
  request.node_uuid = kHere.node_uuid;
  request.instance = MakeInstance(std::move(uuid), {}, MakeFlavor("f", 2, 512, 10));
  request.instance.vm_state = "building";
  GuestTopology wanted = MakePinned({0, 1});
  wanted.cells[0].host_cell.reset();
  wanted.cells[0].pinning.clear();
  request.instance.assigned.topology = wanted;
  request.instance.device_requests =
      *RequestsOfFlavor("nic:1", Settings().device_aliases, std::nullopt);
  request.units = {{"node-1", "PMEM", 1}};
  request.lease_end = kLeaseEnd;
  return request;
}

std::vector<std::string> Reasons(const absl::Status& status) {
  const auto refusal = RefusalOf(status);
  return refusal.has_value() ? refusal->reasons : std::vector<std::string>{"no refusal"};
}

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
  EXPECT_THAT(claim->instance.assigned.units, ElementsAre(NamedUnit{"node-1", "PMEM", "ns0"}));
  EXPECT_EQ(account.used(), (Amounts{2, 512, 10 * kMibPerGib}));             // T-155
  EXPECT_EQ(account.owners().by_unit().at({"node-1", "PMEM", "ns0"}), "a");  // T-158
  EXPECT_EQ(account.next_lease_end(), kLeaseEnd);
  const auto second = ClaimInstance(Settings(), RichRequest("b"), &account);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(second->instance.assigned.devices, claim->instance.assigned.devices);  // T-395
  EXPECT_NE(second->instance.assigned.units, claim->instance.assigned.units);      // T-395
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.Count(), 4);             // T-395
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
  request.units = {{"node-1", "VCPU", 2}, {"another node", "PMEM", 9}};
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
  EXPECT_TRUE(refused([](InstanceClaim* claim) { claim->instance.uuid.clear(); }));
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
  request.id = "another";
  EXPECT_EQ(kind(disabled), ClaimRefusalKind::kNodeUnavailable);   // T-52, T-153
  EXPECT_EQ(kind(Settings()), ClaimRefusalKind::kAlreadyClaimed);  // T-181
  account.PutInstance(claim->instance);
  EXPECT_EQ(kind(Settings()), ClaimRefusalKind::kAlreadyClaimed);  // T-181
  request.node_uuid = "unknown";
  EXPECT_EQ(ClaimInstance(Settings(), request, &account).status().message(),
            "Attempt to claim resources for instance a on unknown node unknown failed");  // T-153
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

MoveClaim RichMove(MigrationType type, HostAndNode on) {
  MoveClaim request;
  request.id = "move";
  request.node_uuid = kHere.node_uuid;
  request.instance = MakeInstance("a", std::move(on), MakeFlavor("small", 1, 256, 1));
  request.instance.assigned.topology = MakePinned({0});
  request.migration = MakeMigration(request.instance, type, "accepted", request.instance.on, {});
  request.new_flavor = MakeFlavor("large", 2, 512, 10);
  request.new_flavor.extra_specs = {{"hw:cpu_policy", "dedicated"},
                                    {"pci_passthrough:alias", "nic:1"}};
  request.units = {{"node-1", "PMEM", 1}};
  request.lease_end = kLeaseEnd;
  return request;
}

TEST(ClaimMove, TakesWhatTheNewFlavorNeeds) {
  NodeAccount account(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kResize, kThere);
  request.instance.task_state = "resize_prep";
  DeviceRequest port = *RequestsOfFlavor("nic:1", Settings().device_aliases, std::nullopt)->begin();
  port.source = DeviceRequestSource::kNeutronPort;
  request.instance.device_requests = {port};
  const auto claim = ClaimMove(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(claim->instance.on, kThere);                 // T-169
  EXPECT_EQ(claim->migration->status, "pre-migrating");  // T-168
  EXPECT_EQ(claim->migration->destination, kHere);       // T-168
  const MigrationContext& context = *claim->instance.context;
  EXPECT_EQ(context.migration_uuid, "m");                                 // T-168
  EXPECT_EQ(context.old_assigned, request.instance.assigned);             // T-168
  EXPECT_EQ(context.new_assigned.topology->cells[0].pinning.size(), 2u);  // T-168
  EXPECT_THAT(context.new_assigned.devices, SizeIs(2));                   // T-168: with the port
  EXPECT_THAT(context.new_assigned.units, SizeIs(1));
  EXPECT_EQ(account.used(), (Amounts{2, 512, 10 * kMibPerGib}));  // T-168
  EXPECT_THAT(account.tracked_migrations(), ElementsAre(Pair("a", "m")));
}

TEST(ClaimMove, AResizeInPlaceCountsBoth) {
  NodeAccount account(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kResize, kHere);
  request.instance.task_state = "resize_prep";
  account.PutInstance(request.instance);
  const auto claim = ClaimMove(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(account.used().vcpus, 3);                                   // T-172
  EXPECT_EQ(account.owners().cells()[0].usage.pinned_cpus.Count(), 3);  // T-395
}

TEST(ClaimMove, ALiveMigrationKeepsStatusPagesAndDevices) {
  NodeAccount account(kHere, RichHost());
  MoveClaim request = RichMove(MigrationType::kLive, kThere);
  request.instance.task_state = "migrating";
  const auto claim = ClaimMove(Settings(), request, &account);
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(claim->migration->status, "accepted");                        // T-168
  EXPECT_THAT(claim->instance.context->new_assigned.devices, IsEmpty());  // T-168
  EXPECT_TRUE(account.Close(request.instance.uuid, "move"));
  const NodeAccount before = account;
  request.new_flavor.extra_specs["hw:mem_page_size"] = "small";
  const auto refused = ClaimMove(Settings(), request, &account);
  EXPECT_EQ(RefusalOf(refused.status())->kind, ClaimRefusalKind::kPageSizeMismatch);  // T-168
  EXPECT_EQ(account, before);
  request.migration.type = MigrationType::kCold;
  EXPECT_TRUE(ClaimMove(Settings(), request, &account).ok());
}

TEST(ClaimMove, ARefusedMoveChangesNothing) {
  NodeAccount account(kHere, RichHost());
  const NodeAccount before = account;
  MoveClaim request = RichMove(MigrationType::kCold, kThere);
  request.instance.task_state = "resize_prep";
  request.limits.memory_mib = 1;
  EXPECT_FALSE(ClaimMove(Settings(), request, &account).ok());
  EXPECT_EQ(account, before);  // T-156
  request.limits = {};
  request.new_flavor.extra_specs["pci_passthrough:alias"] = "unknown:1";
  EXPECT_EQ(ClaimMove(Settings(), request, &account).status().code(), absl::StatusCode::kNotFound);
  request.new_flavor.extra_specs = {{"hw:numa_nodes", "0"}};
  EXPECT_EQ(ClaimMove(Settings(), request, &account).status().code(),
            absl::StatusCode::kInvalidArgument);
  request.node_uuid = "unknown";
  EXPECT_EQ(RefusalOf(ClaimMove(Settings(), request, &account).status())->kind,
            ClaimRefusalKind::kNodeUnavailable);  // T-168
  EXPECT_EQ(account, before);
}

TEST(NewMigration, TheFlavorsSayWhichKind) {
  const Instance instance = MakeInstance("a", kThere, MakeFlavor("small", 1, 256, 1));
  const Migration cold = NewMigration("m", instance, instance.flavor, kHere, absl::UnixEpoch());
  EXPECT_EQ(cold.type, MigrationType::kCold);  // T-168
  EXPECT_EQ(cold.source, kThere);              // T-168
  EXPECT_EQ(cold.destination, kHere);          // T-168
  EXPECT_EQ(cold.status, "pre-migrating");     // T-168
  EXPECT_EQ(
      NewMigration("m", instance, MakeFlavor("large", 2, 512, 1), kHere, absl::UnixEpoch()).type,
      MigrationType::kResize);  // T-168
}

}  // namespace
}  // namespace berth::tracker
