// The child providers of PCI devices.
#include "tracker/audit/device_children.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/devices/device_fixture.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/audit.h"
#include "tracker/audit/resources.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const Uuid kDevicesRoot = "6695eb01-f6a4-8304-79aa-97f2502e193f"_uuid;
const HostAndNode kDevicesHost = {"h1", kDevicesRoot};

// A host with a card that has four virtual functions, and its account.
class DeviceChildrenTest : public testing::Test {
 protected:
  DeviceChildrenTest() : account_(kDevicesHost, NodeResources()) {
    facts_ = OrdinaryFacts();
    facts_.pci_devices = CardOf("3b", 4);
    configuration_.pci_report_in_placement = true;
    configuration_.pci_device_specs = {R"({"product_id": "154c", "traits": "no_standard_trait"})"};
    Observe();
  }

  void Observe() {
    NodeResources resources = ResourcesOf(facts_, configuration_);
    ASSERT_TRUE(AddDevices(facts_, configuration_, &resources).ok());
    account_.SetResources(std::move(resources));
  }
  void Own(const std::string& instance, std::vector<std::string> addresses) {
    Instance owner = MakeInstance(instance, kDevicesHost, MakeFlavor("f", 1, 512, 1));
    owner.assigned.devices = std::move(addresses);
    account_.PutInstance(owner);
  }
  Audit Run(bool starting = false) {
    AuditInput input{.facts = std::make_shared<const Facts>(facts_),
                     .records = &records_,
                     .configuration = configuration_,
                     .node_uuid = kDevicesRoot,
                     .node_name = "n1"};
    input.account = &account_;
    input.starting = starting;
    return *RunAudit(input);
  }
  // Applies the report as placement does.
  void Apply(const Audit& audit) {
    records_.tree.clear();
    for (const WantedProvider& wanted : audit.report.providers) {
      records_.tree.push_back({wanted.uuid, wanted.name, wanted.parent_uuid, 1, wanted.inventories,
                               EffectiveTraits({}, wanted.traits)});
    }
    account_.SetDeviceProviders(DeviceProvidersOf("n1", records_));
  }
  static std::vector<std::string> Settings(const Audit& audit) {
    std::vector<std::string> texts;
    for (const Finding& finding : audit.findings) {
      if (finding.kind == Finding::Kind::kSetting) texts.push_back(finding.text);
    }
    return texts;
  }

  Facts facts_;
  NodeConfiguration configuration_;
  NodeAccount account_;
  Records records_;
};

TEST_F(DeviceChildrenTest, AreReported) {
  const Audit audit = Run();
  ASSERT_EQ(audit.report.providers.size(), 2u);  // T-258
  const WantedProvider& child = audit.report.providers[1];
  EXPECT_EQ(child.name, "n1_0000:3B:00.0");  // T-258
  EXPECT_EQ(child.parent_uuid, kDevicesRoot);
  EXPECT_EQ(child.uuid, NamedUuid(kDevicesRoot, child.name));
  EXPECT_EQ(child.inventories, (Inventories{{"CUSTOM_PCI_8086_154C", {4, 0, 1, 4, 1, 1.0}}}));
  EXPECT_EQ(child.traits, (OwnedTraits{{"COMPUTE_MANAGED_PCI_DEVICE", true},
                                       {"CUSTOM_NO_STANDARD_TRAIT", true},
                                       {"OWNER_NOVA", true}}));  // T-258
  configuration_.pci_report_in_placement = false;
  EXPECT_EQ(Run().report.providers.size(), 1u);  // T-258: only if the settings ask for it
}

TEST_F(DeviceChildrenTest, PoolsKnowThem) {
  ASSERT_EQ(Run().report.accounting.pools.size(), 1u);
  EXPECT_EQ(Run().report.accounting.pools[0].provider_uuid, ""_uuid);
  const std::string digest = DigestOf(Run().report).whole;
  Apply(Run());
  EXPECT_EQ(Run().report.accounting.pools[0].provider_uuid,
            Run().report.providers[1].uuid);  // T-263
  EXPECT_NE(DigestOf(Run().report).whole, digest) << "placement is told";
  EXPECT_EQ(account_.Rebuilt().Devices().Pools()[0].provider_uuid, Run().report.providers[1].uuid);
}

TEST_F(DeviceChildrenTest, GoWithTheirDevices) {
  Apply(Run());
  const Uuid uuid = records_.tree[1].uuid;
  records_.allocations = {{uuid, "a"_uuid, Uuid(), {{"CUSTOM_PCI_8086_154C", 3}}, "INSTANCE", 1}};
  facts_.pci_devices = CardOf("3b", 2);
  Observe();
  EXPECT_EQ(Run().report.providers[1].inventories.at("CUSTOM_PCI_8086_154C").total, 3);  // T-260
  facts_.pci_devices.clear();
  facts_.devices_known = false;
  Observe();
  EXPECT_EQ(Run().report.providers[1].inventories, records_.tree[1].inventories)
      << "the devices are still there";
  facts_.devices_known = true;
  Observe();
  const Audit gone = Run();
  ASSERT_EQ(gone.report.providers.size(), 2u);
  EXPECT_EQ(gone.report.providers[1].inventories,
            (Inventories{{"CUSTOM_PCI_8086_154C", {3, 0, 1, 3, 1, 1.0}}}));          // T-260
  EXPECT_THAT(Settings(gone), ElementsAre(HasSubstr("placement has 3 allocated")));  // T-260
  records_.tree[1].inventories.begin()->second.reserved = 4;
  EXPECT_EQ(Run().report.providers[1].inventories.begin()->second.reserved, 3);  // T-261
  records_.allocations.clear();
  EXPECT_EQ(Run().report.providers.size(), 1u);  // T-260
}

TEST_F(DeviceChildrenTest, StayIfTheSettingsContradictThem) {
  Apply(Run());
  const std::vector<WantedProvider> before = Run().report.providers;
  configuration_.pci_report_in_placement = false;
  Audit off = Run();
  ASSERT_EQ(off.report.providers.size(), 2u);
  EXPECT_EQ(off.report.providers[1].inventories, before[1].inventories);         // T-259
  EXPECT_THAT(Settings(off), ElementsAre(HasSubstr("cannot be switched off")));  // T-259
  EXPECT_FALSE(Differs(off.report.providers, records_.tree));
  configuration_.pci_report_in_placement = true;
  configuration_.pci_device_specs = {R"({"vendor_id": "8086"})"};  // the PF and its VFs
  Observe();
  const Audit both = Run();
  EXPECT_EQ(both.report.providers.size(), 2u);
  EXPECT_THAT(Settings(both), ElementsAre(HasSubstr("only one of the two")));  // T-259
}

TEST_F(DeviceChildrenTest, MissingAllocationsAreHealed) {  // T-262
  Own("a", {"0000:3b:02.0", "0000:3b:02.1"});
  Own("stranger", {"0000:3b:02.2"});
  records_.allocations = {{kDevicesRoot, "a"_uuid, Uuid(), {{"VCPU", 1}}, "INSTANCE", 7}};
  const Audit first = Run();
  EXPECT_THAT(first.report.holdings, IsEmpty()) << "the provider does not exist yet";
  Apply(first);
  const Uuid device = records_.tree[1].uuid;
  const Audit heals = Run();
  EXPECT_THAT(
      heals.report.holdings,
      ElementsAre(WantedHolding{
          "a"_uuid, 7, {{kDevicesRoot, {{"VCPU", 1}}}, {device, {{"CUSTOM_PCI_8086_154C", 2}}}}}))
      << "T-262";  // T-262: and not of a consumer that placement does not have
  EXPECT_FALSE(heals.report.moves_resources);
  EXPECT_EQ(DigestOf(heals.report).whole, DigestOf(Run().report).whole);
  records_.allocations.push_back(
      {device, "a"_uuid, Uuid(), {{"CUSTOM_PCI_8086_154C", 2}}, "INSTANCE", 8});
  EXPECT_THAT(Run().report.holdings, IsEmpty());  // T-262
}

TEST_F(DeviceChildrenTest, ADeviceThatIsUnpluggedStaysWithItsOwner) {
  Own("a", {"0000:3b:02.0", "0000:3b:02.1"});
  EXPECT_THAT(Settings(Run()), IsEmpty());
  facts_.pci_devices = CardOf("3b", 1);
  Observe();
  EXPECT_THAT(Settings(Run()),
              ElementsAre(AllOf(HasSubstr("PCI device 0000:3b:02.1 is allocated by instance " +
                                          "a"_uuid.ToString()),
                                HasSubstr("no longer in the host"))));    // T-239
  EXPECT_EQ(account_.owners().by_device().at("0000:3b:02.1"), "a"_uuid);  // T-239
  EXPECT_THAT(account_.Devices().Pools(), IsEmpty());
  facts_.devices_known = false;
  EXPECT_THAT(Settings(Run()), ElementsAre(HasSubstr("could not be listed")))
      << "the device may still be there";
  facts_.devices_known = true;
  account_.DropInstance("a"_uuid);
  EXPECT_THAT(Settings(Run()), IsEmpty());
  EXPECT_EQ(account_.Devices().Find("0000:3b:02.1"), nullptr);  // T-239, T-252
  ASSERT_EQ(account_.Devices().Pools().size(), 1u);
  EXPECT_THAT(account_.Devices().Pools()[0].addresses, ElementsAre("0000:3b:02.0"));  // T-254
}

// A specification by address matches the device even when nothing else of the device is known.
TEST_F(DeviceChildrenTest, AnUnpluggedDeviceIsOfferedAsItsOwnerHoldsIt) {
  configuration_.pci_device_specs = {R"({"address": "0000:05:00.0"})"};
  facts_.pci_devices = {OneDevice("0000:05:00.0", "type-PCI", "0a54")};
  Observe();
  Own("a", {"0000:05:00.0"});
  Apply(Run());
  ASSERT_EQ(records_.tree.size(), 2u);
  records_.allocations = {
      {records_.tree[1].uuid, "a"_uuid, Uuid(), {{"CUSTOM_PCI_8086_0A54", 1}}, "INSTANCE", 1}};
  facts_.pci_devices.clear();
  Observe();
  const Audit gone = Run();
  ASSERT_EQ(gone.report.providers.size(), 2u);
  EXPECT_EQ(gone.report.providers[1].inventories,
            (Inventories{{"CUSTOM_PCI_8086_0A54", {1, 0, 1, 1, 1, 1.0}}}));  // T-260
  EXPECT_THAT(Settings(gone), UnorderedElementsAre(HasSubstr("placement has 1 allocated"),
                                                   HasSubstr("no longer in the host")));  // T-260
  account_.DropInstance("a"_uuid);
  records_.allocations.clear();
  EXPECT_EQ(Run().report.providers.size(), 1u);  // T-260
}

TEST_F(DeviceChildrenTest, ADeviceKeepsItsClassWhileSomebodyHasIt) {
  configuration_.pci_device_specs = {R"({"address": "0000:05:00.0"})"};
  facts_.pci_devices = {OneDevice("0000:05:00.0", "type-PCI", "0a54")};
  Observe();
  Own("a", {"0000:05:00.0"});
  Apply(Run());
  records_.allocations = {
      {records_.tree[1].uuid, "a"_uuid, Uuid(), {{"CUSTOM_PCI_8086_0A54", 1}}, "INSTANCE", 1}};
  configuration_.pci_device_specs = {R"({"address": "0000:05:00.0", "resource_class": "new"})"};
  Observe();
  const Audit changed = Run();
  ASSERT_EQ(changed.report.providers.size(), 2u);
  EXPECT_EQ(changed.report.providers[1].inventories,
            (Inventories{{"CUSTOM_PCI_8086_0A54", {1, 0, 1, 1, 1, 1.0}}}));               // T-239
  EXPECT_THAT(Settings(changed), ElementsAre(HasSubstr("become CUSTOM_NEW when they")));  // T-239
  account_.DropInstance("a"_uuid);
  records_.allocations.clear();
  const Audit freed = Run();
  EXPECT_EQ(freed.report.providers[1].inventories,
            (Inventories{{"CUSTOM_NEW", {1, 0, 1, 1, 1, 1.0}}}));  // T-239
  EXPECT_THAT(Settings(freed), IsEmpty());
}

TEST_F(DeviceChildrenTest, FreeFunctionsOfACardGetANewClassBeforeTheOthers) {
  Own("a", {"0000:3b:02.0", "0000:3b:02.1", "0000:3b:02.2"});
  Apply(Run());
  records_.allocations = {
      {records_.tree[1].uuid, "a"_uuid, Uuid(), {{"CUSTOM_PCI_8086_154C", 3}}, "INSTANCE", 1}};
  configuration_.pci_device_specs = {R"({"product_id": "154c", "resource_class": "new"})"};
  Observe();
  const Audit changed = Run();
  EXPECT_EQ(changed.report.providers[1].inventories,
            (Inventories{{"CUSTOM_NEW", {1, 0, 1, 1, 1, 1.0}},
                         {"CUSTOM_PCI_8086_154C", {3, 0, 1, 3, 1, 1.0}}}));  // T-239
  Apply(changed);
  EXPECT_THAT(Run().report.holdings, IsEmpty()) << "a has what it owns";  // T-262
  EXPECT_FALSE(Differs(Run().report.providers, records_.tree));
}

TEST_F(DeviceChildrenTest, WhatIsReservedIsReservedOnceAcrossTwoClasses) {
  Own("a", {"0000:3b:02.0", "0000:3b:02.1", "0000:3b:02.2"});
  Apply(Run());
  records_.tree[1].inventories["CUSTOM_PCI_8086_154C"].reserved = 1;
  records_.allocations = {
      {records_.tree[1].uuid, "a"_uuid, Uuid(), {{"CUSTOM_PCI_8086_154C", 3}}, "INSTANCE", 1}};
  configuration_.pci_device_specs = {R"({"product_id": "154c", "resource_class": "new"})"};
  Observe();
  for (int pass = 0; pass < 3; ++pass) {
    const Audit audit = Run();
    EXPECT_EQ(audit.report.providers[1].inventories,
              (Inventories{{"CUSTOM_NEW", {1, 1, 1, 1, 1, 1.0}},
                           {"CUSTOM_PCI_8086_154C", {3, 0, 1, 3, 1, 1.0}}}));  // T-261
    Apply(audit);
  }
}

TEST_F(DeviceChildrenTest, AreNotHealedDuringAResizeOnTheHost) {  // T-262
  Own("a", {"0000:3b:02.0"});
  Instance moving = *account_.FindInstance("a"_uuid);
  moving.task_state = "resize_finish";
  moving.context.emplace();
  moving.context->migration_uuid = "m"_uuid;
  moving.context->old_flavor = moving.flavor;
  moving.context->new_flavor = moving.flavor;
  moving.context->old_assigned = moving.assigned;
  account_.PutInstance(moving);
  records_.allocations = {{kDevicesRoot, "a"_uuid, Uuid(), {{"VCPU", 1}}, "INSTANCE", 7}};
  Apply(Run());
  EXPECT_EQ(Run().report.holdings.size(), 1u);
  account_.PutMigration(
      MakeMigration(moving, MigrationType::kResize, "post-migrating", kDevicesHost, kDevicesHost));
  ASSERT_EQ(account_.tracked_migrations().size(), 1u);
  EXPECT_THAT(Run().report.holdings, IsEmpty());  // T-262
}

}  // namespace
}  // namespace berth::tracker
