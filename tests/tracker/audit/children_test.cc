// The child providers of a node.
#include "tracker/audit/children.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/node/node_fixture.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Uuid kChildrensRoot = "6695eb01-f6a4-8304-79aa-97f2502e193f"_uuid;

ChildProviders ChildrenOf(const Facts& facts, const NodeConfiguration& configuration,
                          const Records* records = nullptr) {
  return DescribeChildren(facts, configuration, kChildrensRoot, "node-1", records);
}

Facts HostWithGpus() {
  Facts facts = OrdinaryFacts();
  facts.mediated_parents = {
      {"0000:05:00.0", {}, {{"nvidia-64", 4}}},
      {"0000:84:00.0", {{"nvidia-63", 2}}, {{"nvidia-63", 6}, {"nvidia-64", 0}}}};
  return facts;
}

// Names and totals of the children, with their classes.
std::vector<std::string> Totals(const ChildProviders& children) {
  std::vector<std::string> totals;
  for (const WantedProvider& child : children.providers) {
    for (const auto& [name, inventory] : child.inventories) {
      totals.push_back(child.name + " " + name + " " + std::to_string(inventory.total));
    }
  }
  return totals;
}

TEST(Gpus, AreChildrenOfTheRoot) {  // T-184, T-207
  NodeConfiguration node;
  EXPECT_THAT(ChildrenOf(HostWithGpus(), node).providers, IsEmpty());  // no type is configured
  node.mediated_types = {{"nvidia-63", {"0000:84:00.0"}, "VGPU", std::nullopt}};
  const ChildProviders children = ChildrenOf(HostWithGpus(), node);
  ASSERT_EQ(children.providers.size(), 1u);
  const WantedProvider& gpu = children.providers[0];
  EXPECT_EQ(gpu.name, "node-1_pci_0000_84_00_0");                          // T-184, T-207
  EXPECT_EQ(gpu.parent_uuid, kChildrensRoot);                              // T-184
  EXPECT_EQ(gpu.traits, (OwnedTraits{{"OWNER_NOVA", true}}));              // T-184
  EXPECT_EQ(gpu.inventories.at("VGPU"), (Inventory{8, 0, 1, 8, 1, 1.0}));  // T-207
  EXPECT_THAT(children.problems, IsEmpty());
}

TEST(Gpus, OfferTheirType) {  // T-207
  struct Case {
    std::vector<MediatedType> types;
    std::vector<std::string> want;
  };
  const Case kCases[] = {
      {{{"nvidia-64", {}, "VGPU", {}}}, {"node-1_pci_0000_05_00_0 VGPU 4"}},  // 84 has none left
      {{{"nvidia-64", {}, "VGPU", {}}, {"nvidia-63", {"0000:84:00.0"}, "CUSTOM_G", 5}},
       {"node-1_pci_0000_05_00_0 VGPU 4", "node-1_pci_0000_84_00_0 CUSTOM_G 5"}},
      {{{"nvidia-63", {"0000:84:00.0"}, "VGPU", 9}}, {"node-1_pci_0000_84_00_0 VGPU 8"}},
  };
  for (const Case& test : kCases) {
    NodeConfiguration node;
    node.mediated_types = test.types;
    EXPECT_EQ(Totals(ChildrenOf(HostWithGpus(), node)), test.want);
  }
}

TEST(Gpus, ThatAreMissingAreNamed) {
  NodeConfiguration node;
  node.mediated_types = {{"nvidia-63", {"0000:05:00.0", "0000:99:00.0"}, "VGPU", {}}};
  const ChildProviders children = ChildrenOf(HostWithGpus(), node);
  EXPECT_THAT(children.providers, IsEmpty());
  EXPECT_THAT(children.problems, ElementsAre(HasSubstr("0000:05:00.0"), HasSubstr("0000:99:00.0")));
}

Facts HostWithEncryption() {
  Facts facts = OrdinaryFacts();
  facts.emulators.sev_guests_max = 15;
  facts.emulators.sev_es_guests_max = 100;
  facts.emulators.sev_snp = true;
  return facts;
}

TEST(MemoryEncryption, IsAChildPerKind) {  // T-208
  const ChildProviders children = ChildrenOf(HostWithEncryption(), NodeConfiguration());
  EXPECT_THAT(Totals(children), ElementsAre("node-1_amd_sev MEM_ENCRYPTION_CONTEXT 15",
                                            "node-1_amd_sev_es MEM_ENCRYPTION_CONTEXT 100"));
  EXPECT_EQ(children.providers[0].inventories.at("MEM_ENCRYPTION_CONTEXT"),
            (Inventory{15, 0, 1, 1, 1, 1.0}));  // T-208
  EXPECT_EQ(children.providers[0].traits,
            (OwnedTraits{{"HW_CPU_X86_AMD_SEV", true}, {"OWNER_NOVA", true}}));  // T-208
  EXPECT_THAT(children.problems, IsEmpty());
  EXPECT_THAT(ChildrenOf(OrdinaryFacts(), NodeConfiguration()).providers, IsEmpty());
}

TEST(MemoryEncryption, HasTheSmallerLimit) {  // T-208
  NodeConfiguration node;
  node.sev_guests_max = 20;
  node.sev_es_guests_max = 7;
  node.sev_snp_guests_max = 40;
  const ChildProviders children = ChildrenOf(HostWithEncryption(), node);
  EXPECT_THAT(Totals(children), ElementsAre("node-1_amd_sev MEM_ENCRYPTION_CONTEXT 15",
                                            "node-1_amd_sev_es MEM_ENCRYPTION_CONTEXT 7",
                                            "node-1_amd_sev_snp MEM_ENCRYPTION_CONTEXT 40"));
  EXPECT_THAT(children.problems, ElementsAre("sev_guests_max is 20, but the hypervisor allows 15"));
  node.sev_es_guests_max.reset();
  EXPECT_EQ(Totals(ChildrenOf(HostWithEncryption(), node))[1],
            "node-1_amd_sev_es MEM_ENCRYPTION_CONTEXT 60");  // 40 of the 100 keys are for SNP
  node.sev_guests_max = 0;
  EXPECT_EQ(Totals(ChildrenOf(HostWithEncryption(), node))[0],
            "node-1_amd_sev_es MEM_ENCRYPTION_CONTEXT 60");  // T-208: none is offered
}

TEST(Children, KeepTheirUuids) {  // T-184
  const Uuid drawn = ChildrenOf(HostWithEncryption(), NodeConfiguration()).providers[0].uuid;
  EXPECT_EQ(ChildrenOf(HostWithEncryption(), NodeConfiguration()).providers[0].uuid, drawn);
  EXPECT_NE(ChildrenOf(HostWithEncryption(), NodeConfiguration()).providers[1].uuid, drawn);
  Records records;
  records.tree = {{"u1"_uuid, "node-1_amd_sev", kChildrensRoot, 1, {}, {"OWNER_NOVA"}}};
  EXPECT_EQ(ChildrenOf(HostWithEncryption(), NodeConfiguration(), &records).providers[0].uuid,
            "u1"_uuid);
}

// Records in which consumers hold `used` of the class on a child of the node.
Records Holding(const std::string& suffix, const std::string& resource_class, int64_t used) {
  Records records;
  records.tree = {{"u1"_uuid,
                   "node-1_" + suffix,
                   kChildrensRoot,
                   1,
                   {{resource_class, {8, 0, 1, 8, 1, 1.0}}},
                   {"OWNER_NOVA"}}};
  if (used > 0) records.allocations = {{"u1"_uuid, "guest"_uuid, Uuid(), {{resource_class, used}}}};
  return records;
}

TEST(Children, ThatHaveGoneOfferWhatConsumersHold) {
  const NodeConfiguration none;
  Records records = Holding("pci_0000_05_00_0", "VGPU", 3);
  ChildProviders children = ChildrenOf(OrdinaryFacts(), none, &records);
  ASSERT_THAT(Totals(children), ElementsAre("node-1_pci_0000_05_00_0 VGPU 3"));
  EXPECT_EQ(children.providers[0].uuid, "u1"_uuid);
  EXPECT_THAT(children.problems, ElementsAre(HasSubstr("offers nothing any more")));
  records = Holding("amd_sev", "MEM_ENCRYPTION_CONTEXT", 1);
  children = ChildrenOf(OrdinaryFacts(), none, &records);
  EXPECT_THAT(Totals(children), ElementsAre("node-1_amd_sev MEM_ENCRYPTION_CONTEXT 1"));
  records = Holding("pci_0000_05_00_0", "VGPU", 0);
  EXPECT_THAT(ChildrenOf(OrdinaryFacts(), none, &records).providers, IsEmpty());
  records = Holding("0000:05:00.0", "CUSTOM_PCI_1_2", 1);  // of another kind of child
  EXPECT_THAT(ChildrenOf(OrdinaryFacts(), none, &records).providers, IsEmpty());
}

TEST(Children, NeverOfferLessThanConsumersHold) {
  NodeConfiguration node;
  node.mediated_types = {{"nvidia-64", {}, "VGPU", 2}};
  Records records = Holding("pci_0000_05_00_0", "VGPU", 3);
  ChildProviders children = ChildrenOf(HostWithGpus(), node, &records);
  EXPECT_THAT(Totals(children), ElementsAre("node-1_pci_0000_05_00_0 VGPU 3"));
  EXPECT_THAT(children.problems, ElementsAre(HasSubstr("consumers hold 3 of VGPU")));
  records = Holding("pci_0000_05_00_0", "VGPU", 2);
  EXPECT_THAT(ChildrenOf(HostWithGpus(), node, &records).problems, IsEmpty());
  node.mediated_types[0].resource_class = "CUSTOM_G";
  EXPECT_THAT(Totals(ChildrenOf(HostWithGpus(), node, &records)),
              ElementsAre("node-1_pci_0000_05_00_0 CUSTOM_G 2", "node-1_pci_0000_05_00_0 VGPU 2"));
}

TEST(Gpus, StayIfTheDevicesCouldNotBeListed) {
  Facts facts = OrdinaryFacts();
  facts.devices_known = false;
  const Records records = Holding("pci_0000_05_00_0", "VGPU", 0);
  const ChildProviders children = ChildrenOf(facts, NodeConfiguration(), &records);
  EXPECT_THAT(Totals(children), ElementsAre("node-1_pci_0000_05_00_0 VGPU 8"));
}

TEST(Children, AreNotTakenFromOthers) {  // T-202
  Records records;
  records.tree = {{"u1"_uuid, "node-1_amd_sev", kChildrensRoot, 1, {}, {"CUSTOM_MINE"}}};
  const ChildProviders children = ChildrenOf(HostWithEncryption(), NodeConfiguration(), &records);
  EXPECT_THAT(Totals(children), ElementsAre("node-1_amd_sev_es MEM_ENCRYPTION_CONTEXT 100"));
  EXPECT_THAT(children.problems, ElementsAre(HasSubstr("provider node-1_amd_sev exists")));
}

}  // namespace
}  // namespace berth::tracker
