// What a report has on the wire.
#include "tracker/uplink/messages.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/resources.h"
#include "tracker/uplink/facts_messages.h"

namespace berth::tracker {
namespace {

std::shared_ptr<const Audit> AuditOf(const Facts& facts) {
  return std::make_shared<const Audit>(
      *RunAudit({.facts = std::make_shared<const Facts>(facts),
                 .configuration = {},
                 .node_uuid = "11111111-1111-4111-8111-111111111111"_uuid,
                 .node_name = "node-1",
                 .wall_now = absl::UnixEpoch(),
                 .orphan_confirmation = std::chrono::seconds(5)}));
}

Outbox::Outgoing Delta(std::shared_ptr<const Audit> base, std::shared_ptr<const Audit> audit) {
  Outbox::Outgoing report;
  report.sequence = 2;
  report.digest = audit->digest.whole;
  report.audit = std::move(audit);
  report.base = std::move(base);
  return report;
}

// What placement holds once it has applied the report of `audit`.
Records RecordsAfter(const Audit& audit) {
  Records records;
  for (const WantedProvider& wanted : audit.report.providers) {
    records.tree.push_back({wanted.uuid, wanted.name, wanted.parent_uuid, 1, wanted.inventories,
                            EffectiveTraits({}, wanted.traits)});
  }
  return records;
}

TEST(Messages, ADeltaAboutAGuestHasNoFacts) {
  Facts facts = OrdinaryFacts();
  const std::shared_ptr<const Audit> before = AuditOf(facts);
  // What a guest with a sparse image of 40 GiB changes.
  facts.guests.push_back(RunningGuest("99999999-9999-4999-8999-999999999999", 2, 4096, 40));
  facts.vcpus_used = 2;
  facts.local_disk_used_gib = 13;
  facts.disk_available_least_gib = 2560;
  const std::shared_ptr<const Audit> after = AuditOf(facts);
  ASSERT_NE(before->digest.whole, after->digest.whole);
  const placement::v1::Report delta = WireReport(Delta(before, after), RecordsAfter(*before), {});
  EXPECT_FALSE(delta.has_facts());
  ASSERT_TRUE(delta.has_account());
  EXPECT_EQ(delta.account().disk_available_least_gib(), 2560);
  EXPECT_EQ(delta.observation().vcpus_used(), 2);
  EXPECT_LT(delta.ByteSizeLong(), 512u);
}

TEST(Messages, ADeltaAboutTheHostHasItsFacts) {
  Facts facts = OrdinaryFacts();
  const std::shared_ptr<const Audit> before = AuditOf(facts);
  facts.memory_mib = *facts.memory_mib + 1024;
  const placement::v1::Report delta = WireReport(Delta(before, AuditOf(facts)), std::nullopt, {});
  ASSERT_TRUE(delta.has_facts());
  EXPECT_EQ(delta.facts().memory_mib(), *facts.memory_mib);
}

TEST(Messages, ADeltaNamesProvidersThatAreGone) {  // T-208
  Facts facts = OrdinaryFacts();
  const std::shared_ptr<const Audit> without = AuditOf(facts);
  facts.emulators.sev_guests_max = 15;
  const std::shared_ptr<const Audit> with = AuditOf(facts);
  ASSERT_EQ(with->report.providers.size(), 2u);
  const placement::v1::Report gone = WireReport(Delta(with, without), RecordsAfter(*with), {});
  ASSERT_EQ(gone.removed_provider_uuids_size(), 1);
  EXPECT_EQ(gone.removed_provider_uuids(0), with->report.providers[1].uuid.ToString());
  const placement::v1::Report added = WireReport(Delta(without, with), RecordsAfter(*without), {});
  EXPECT_EQ(added.removed_provider_uuids_size(), 0);
  ASSERT_EQ(added.providers_size(), 1);
  EXPECT_EQ(added.providers(0).parent_uuid(), with->report.providers[0].uuid.ToString());
}

// A host with this many virtual functions, each with a network interface.
Facts WithDevices(int count) {
  Facts facts = OrdinaryFacts();
  for (int i = 0; i < count; ++i) {
    PciDevice& device = facts.pci_devices.emplace_back();
    device.address = absl::StrFormat("%04x:%02x:%02x.%x", i >> 13, i >> 8 & 31, i >> 3 & 31, i & 7);
    device.dev_id = absl::StrCat("pci_", device.address);
    device.vendor_id = "8086";
    device.product_id = "154c";
    device.dev_type = "type-VF";
    device.numa_node = 1;
    device.parent_address = "0000:3b:00.0";
    device.parent_interface = "ens1f0np0";
    device.pf_mac_address = "3c:fd:fe:00:00:10";
    device.card_serial_number = "VC1234567890AB";
    device.vf_number = i;
    for (int feature = 0; feature < 20; ++feature) {
      device.network_features.push_back(absl::StrCat("feat", 10 + feature));
    }
  }
  return facts;
}

TEST(Messages, LoseNoDeviceOfAHostWithThreeThousand) {
  const std::shared_ptr<const Audit> audit = AuditOf(WithDevices(3000));
  const placement::v1::Report report = WireReport(Delta(nullptr, audit), std::nullopt, {});
  EXPECT_EQ(report.facts().pci_devices_size(), 3000);
  EXPECT_EQ(report.findings().findings_size(), 0);
  EXPECT_LE(report.facts().ByteSizeLong(), size_t{1} << 20);
}

TEST(Messages, LeaveOutWhatACellOfTheHostDoesNotHave) {
  Facts facts = OrdinaryFacts();
  NumaTopology topology;
  topology.cells.emplace_back();
  facts.numa_topology = std::make_optional(topology);
  const auto tell = [&] { return WireFacts(AuditOf(facts)->report); };
  ASSERT_EQ(tell().numa_cells_size(), 1);
  const placement::v1::NumaCell bare = tell().numa_cells(0);
  EXPECT_FALSE(bare.has_socket());              // T-268
  EXPECT_EQ(bare.dedicated_cpus_size(), 0);     // T-268
  EXPECT_EQ(bare.physical_networks_size(), 0);  // T-268
  (*facts.numa_topology)->cells[0].socket = 0;
  EXPECT_TRUE(tell().numa_cells(0).has_socket());  // T-268: socket 0 is not absent
}

TEST(Messages, HaveTheFactsIfADeviceHasChanged) {
  Facts facts = WithDevices(3);
  const std::shared_ptr<const Audit> before = AuditOf(facts);
  EXPECT_FALSE(WireReport(Delta(before, AuditOf(facts)), std::nullopt, {}).has_facts());
  facts.pci_devices[1].numa_node = 0;
  EXPECT_TRUE(WireReport(Delta(before, AuditOf(facts)), std::nullopt, {}).has_facts());
}

TEST(Messages, SayWhatTheyLeaveOut) {
  Facts facts = WithDevices(6000);
  facts.warnings.assign(2000, std::string(100, 'w'));
  const std::shared_ptr<const Audit> audit = AuditOf(facts);
  const placement::v1::Report report = WireReport(Delta(nullptr, audit), std::nullopt, {});
  EXPECT_EQ(WireFacts(audit->report).pci_devices_size(), report.facts().pci_devices_size());
  const int left_out = 6000 - report.facts().pci_devices_size();
  EXPECT_GT(left_out, 0);
  EXPECT_LE(report.facts().ByteSizeLong(), size_t{1} << 20);
  EXPECT_LE(report.findings().ByteSizeLong(), size_t{64} << 10);
  const auto& findings = report.findings().findings();
  ASSERT_GT(findings.size(), 2);
  EXPECT_EQ(findings.Get(findings.size() - 2).message(),
            absl::StrCat(left_out, " PCI devices are left out of the report"));
  EXPECT_EQ(findings.Get(findings.size() - 1).message(),
            absl::StrCat(2000 - (findings.size() - 2), " findings are left out of the report"));
}

// The account of a host with one cell and two virtual functions, and a guest with two CPUs.
NodeAccount AccountWithCell() {
  NodeResources resources;
  resources.topology = MakeTopology();
  resources.devices = WithDevices(2).pci_devices;
  resources.device_specs =
      *DeviceSpecs::Parse({R"({"product_id": "154c", "physical_network": "net1"})"}, {});
  NodeAccount account(kHere, resources);
  Instance guest = MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 10));
  guest.assigned.topology = MakePinned({2, 3});
  account.PutInstance(guest);
  return account;
}

Audit AuditOf(const NodeAccount& account, const Facts& facts = OrdinaryFacts()) {
  return *RunAudit({.facts = std::make_shared<const Facts>(facts),
                    .configuration = {},
                    .node_uuid = "node-1"_uuid,
                    .node_name = "n",
                    .account = &account});
}

placement::v1::NodeAccount TellAccount(const NodeAccount& account, std::string* digest = nullptr) {
  const Audit audit = AuditOf(account);
  if (digest != nullptr) *digest = DigestOf(audit.report).whole;
  return WireAccount(audit.report);
}

TEST(Messages, AnAccountHasTheUseOfEachCell) {
  NodeAccount account = AccountWithCell();
  std::string before;
  const placement::v1::NodeAccount wire = TellAccount(account, &before);
  ASSERT_EQ(wire.numa_usage_size(), 1);
  EXPECT_EQ(wire.numa_usage(0).cpu_usage(), 2);           // T-267
  EXPECT_EQ(wire.numa_usage(0).memory_usage_mib(), 512);  // T-267
  EXPECT_EQ(wire.numa_usage(0).pinned_cpus_size(), 2);
  EXPECT_EQ(wire.numa_usage(0).pinned_cpus(0), 2);
  ASSERT_EQ(wire.numa_usage(0).pages_size(), 1);
  EXPECT_EQ(wire.numa_usage(0).pages(0).total(), 1048576);
  Instance guest = *account.FindInstance("a"_uuid);
  guest.assigned.topology = MakePinned({2, 4});
  account.PutInstance(guest);
  std::string after;
  TellAccount(account, &after);
  EXPECT_NE(before, after) << "placement is told of another CPU";
}

TEST(Messages, AnAccountCountsDedicatedCpusTogetherWithShared) {
  NodeAccount account = AccountWithCell();
  account.PutInstance(MakeInstance("b", kHere, MakeFlavor("f", 4, 512, 10)));
  const placement::v1::NodeAccount wire = TellAccount(account);
  EXPECT_EQ(wire.instances().vcpus(), 6);  // T-110
  EXPECT_EQ(wire.instances().pcpus(), 2);  // T-110
  EXPECT_EQ(wire.used().vcpus(), 6);       // T-110, T-304
  EXPECT_EQ(wire.used().pcpus(), 2);       // T-353
}

// The device of an instance is unplugged. It is its instance's until the instance gives it back.
TEST(Messages, AnAccountSaysWhoHasWhichDevice) {
  NodeAccount account = AccountWithCell();
  Facts facts = WithDevices(2);
  const std::string address = facts.pci_devices[1].address;
  const auto tell = [&] { return WireAccount(AuditOf(account, facts).report); };
  EXPECT_EQ(tell().pci_devices_size(), 0) << "all are free";
  Instance owner = *account.FindInstance("a"_uuid);
  owner.assigned.devices = {address};
  owner.assigned.request_ids = {{address, "r1"}};
  account.PutInstance(owner);
  ASSERT_EQ(tell().pci_devices_size(), 1);
  const placement::v1::PciDevice owned = tell().pci_devices(0);
  EXPECT_EQ(owned.address(), address);                                    // T-238
  EXPECT_EQ(owned.status(), placement::v1::PCI_DEVICE_STATUS_ALLOCATED);  // T-238
  EXPECT_EQ(owned.instance_uuid(), owner.uuid.ToString());                // T-238
  EXPECT_EQ(owned.request_id(), "r1");

  const std::string before = DigestOf(AuditOf(account, facts).report).whole;
  facts.pci_devices.erase(facts.pci_devices.begin() + 1);
  NodeResources less = account.resources();
  less.devices = facts.pci_devices;
  account.SetResources(less);
  ASSERT_EQ(tell().pci_devices_size(), 1);
  EXPECT_EQ(tell().pci_devices(0).status(), placement::v1::PCI_DEVICE_STATUS_REMOVED);  // T-239
  EXPECT_EQ(tell().pci_devices(0).instance_uuid(), owner.uuid.ToString());              // T-239
  EXPECT_NE(DigestOf(AuditOf(account, facts).report).whole, before);
  facts.devices_known = false;  // nobody knows whether it was unplugged
  EXPECT_EQ(tell().pci_devices(0).status(), placement::v1::PCI_DEVICE_STATUS_ALLOCATED);
  facts.devices_known = true;
  owner.assigned.devices.clear();
  account.PutInstance(owner);
  EXPECT_EQ(tell().pci_devices_size(), 0);  // T-239
}

// Some of the devices would make the others look free.
TEST(Messages, AnAccountTellsOfAllUsedDevicesOrSaysThatItDoesNot) {
  NodeResources resources;
  resources.devices = WithDevices(2000).pci_devices;
  resources.device_specs = *DeviceSpecs::Parse({R"({"product_id": "154c"})"}, {});
  NodeAccount account(kHere, resources);
  Instance owner = MakeInstance("a", kHere, MakeFlavor("f", 2, 512, 10));
  for (const PciDevice& device : resources.devices) {
    owner.assigned.devices.push_back(device.address);
  }
  account.PutInstance(owner);
  const auto audit = std::make_shared<const Audit>(AuditOf(account, WithDevices(2000)));
  const placement::v1::Report report = WireReport(Delta(nullptr, audit), std::nullopt, {});
  EXPECT_EQ(report.account().pci_devices_size(), 0);
  EXPECT_TRUE(report.account().pci_devices_cut());
  ASSERT_GT(report.findings().findings_size(), 0);
  EXPECT_EQ(report.findings().findings().rbegin()->message(),
            "2000 PCI devices in use are left out of the report");
  EXPECT_EQ(report.account().counters().count("num_vm_active"), 1u);  // T-119: there is room for it
}

TEST(Messages, AnAccountWithTooManyCountersKeepsThoseByWhichHostsAreWeighed) {
  NodeAccount account(kHere, NodeResources());
  account.CountFailedBuild();
  for (int i = 0; i < 2000; ++i) {
    Instance instance = MakeInstance(absl::StrCat(i), kHere, MakeFlavor("f", 1, 512, 1));
    instance.vm_state = "building";
    instance.project_id = absl::StrCat(i, std::string(200, 'p'));
    account.PutInstance(instance);
  }
  const auto audit = std::make_shared<const Audit>(AuditOf(account));
  const placement::v1::Report report = WireReport(Delta(nullptr, audit), std::nullopt, {});
  const auto& counters = report.account().counters();
  EXPECT_LT(counters.size(), 1000u);
  ASSERT_EQ(counters.count("failed_builds"), 1u);  // T-122
  EXPECT_EQ(counters.at("failed_builds"), 1);      // T-122
  EXPECT_EQ(counters.at("num_instances"), 2000);   // T-119
  EXPECT_EQ(counters.at("io_workload"), 2000);     // T-119
}

TEST(Messages, FactsSayWhichDevicesGuestsMayGet) {
  Facts facts = WithDevices(2);
  NodeConfiguration configuration;
  configuration.pci_device_specs = {absl::StrCat(R"({"address": ")", facts.pci_devices[1].address,
                                                 R"(", "physical_network": "net1"})")};
  ASSERT_TRUE(TagDevices(configuration, &facts).ok());
  const std::shared_ptr<const Audit> audit = AuditOf(facts);
  const placement::v1::NodeFacts wire = WireFacts(audit->report);
  EXPECT_FALSE(wire.pci_devices(0).assignable());
  EXPECT_TRUE(wire.pci_devices(1).assignable());
  EXPECT_EQ(wire.pci_devices(1).tags().at("physical_network"), "net1");  // T-233
  EXPECT_NE(FactsDigest(facts), FactsDigest(WithDevices(2)));
  EXPECT_FALSE(SameWireFacts(audit->report, AuditOf(WithDevices(2))->report));
  configuration.pci_device_specs = {"no JSON"};
  EXPECT_FALSE(TagDevices(configuration, &facts).ok());
}

TEST(Messages, AnAccountHasThePoolsOfDevices) {  // T-243
  NodeAccount account = AccountWithCell();
  account.SetDeviceProviders({{"0000:3b:00.0", "some provider"_uuid}});
  const placement::v1::NodeAccount wire = TellAccount(account);
  ASSERT_EQ(wire.pci_pools_size(), 1);
  const placement::v1::PciPool& pool = wire.pci_pools(0);
  EXPECT_EQ(pool.vendor_id(), "8086");   // T-243
  EXPECT_EQ(pool.product_id(), "154c");  // T-243
  EXPECT_EQ(pool.numa_cell(), 1);        // T-243
  EXPECT_EQ(pool.count(), 2);            // T-243
  EXPECT_EQ(pool.type(), placement::v1::PCI_DEVICE_TYPE_VIRTUAL_FUNCTION);
  EXPECT_EQ(pool.tags().at("physical_network"), "net1");             // T-243
  EXPECT_EQ(pool.provider_uuid(), "some provider"_uuid.ToString());  // T-263
  std::string before;
  TellAccount(account, &before);
  Instance guest = *account.FindInstance("a"_uuid);
  guest.assigned.devices = {"0000:00:00.0"};
  account.PutInstance(guest);
  std::string after;
  EXPECT_EQ(TellAccount(account, &after).pci_pools(0).count(), 1);
  EXPECT_NE(before, after) << "placement is told of the device";
}

TEST(Messages, PoolsAreLeftOutIfThereAreTooMany) {
  NodeResources resources;
  resources.devices = WithDevices(2000).pci_devices;
  for (PciDevice& device : resources.devices) device.dev_type = "type-PCI";  // a pool for each
  resources.device_specs = *DeviceSpecs::Parse({R"({"product_id": "154c"})"}, {});
  const auto audit = std::make_shared<const Audit>(AuditOf(NodeAccount(kHere, resources)));
  const placement::v1::Report report = WireReport(Delta(nullptr, audit), std::nullopt, {});
  EXPECT_LT(report.account().pci_pools_size(), 2000);
  EXPECT_LE(report.account().ByteSizeLong(), size_t{64} << 10);
  ASSERT_EQ(report.findings().findings_size(), 1);
  EXPECT_EQ(report.findings().findings(0).message(),
            absl::StrCat(2000 - report.account().pci_pools_size(),
                         " pools of PCI devices are left out of the report"));
}

// Protobuf does not parse a message whose text is no UTF-8. Placement refuses U+0000.
TEST(Messages, HaveOnlyTextsThatPlacementTakes) {
  auto audit = std::make_shared<Audit>(*AuditOf(OrdinaryFacts()));
  const std::string odd("\xE2\x82\0\u20ac", 6);
  audit->findings = {{Finding::Kind::kRecord, odd, odd, {}}};
  audit->report.accounting.counters = {{odd, 1}, {"???\u20ac", 2}};
  PassOutcome outcome;
  outcome.result = PassOutcome::Result::kFailed;
  outcome.error = absl::InternalError(odd);
  const placement::v1::Report sent = WireReport(Delta(nullptr, audit), std::nullopt, outcome);
  placement::v1::Report report;
  ASSERT_TRUE(report.ParseFromString(sent.SerializeAsString()));
  ASSERT_EQ(report.findings().findings_size(), 1);
  EXPECT_EQ(report.findings().findings(0).subject(), "???\u20ac");
  EXPECT_EQ(report.findings().findings(0).message(), "???\u20ac");
  EXPECT_EQ(report.audit().message(), "???\u20ac");
  EXPECT_EQ(report.account().counters().at("???\u20ac"), 3);
}

TEST(Messages, AReportHasWhatConsumersShallHold) {  // T-209
  auto audit = std::make_shared<Audit>(*AuditOf(OrdinaryFacts()));
  audit->report.holdings = {{"a"_uuid, 7, {{"root"_uuid, {{"VCPU", 1}, {"PCPU", 2}}}}}};
  const placement::v1::Report report = WireReport(Delta(nullptr, audit), std::nullopt, {});
  ASSERT_EQ(report.allocations_size(), 1);
  EXPECT_EQ(report.allocations(0).consumer_uuid(), "a"_uuid.ToString());
  EXPECT_EQ(report.allocations(0).generation(), 7);
  ASSERT_EQ(report.allocations(0).allocations_size(), 1);
  EXPECT_EQ(report.allocations(0).allocations(0).provider_uuid(), "root"_uuid.ToString());
  EXPECT_EQ(report.allocations(0).allocations(0).resources().at("PCPU"), 2);
}

}  // namespace
}  // namespace berth::tracker
