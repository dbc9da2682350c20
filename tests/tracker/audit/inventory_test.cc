// The root's inventory.
#include "tracker/audit/inventory.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/reserve.h"

namespace berth::tracker {
namespace {

Inventories Describe(const Facts& facts, const NodeConfiguration& node, Withheld withheld = {},
                     const Inventories& placed = {}) {
  return DescribeRootInventory(facts, node, placed, withheld).inventories;
}

TEST(Inventory, HasARowForEachClass) {  // T-200
  Facts facts = OrdinaryFacts();
  facts.pcpus = 4;
  NodeConfiguration node;
  node.reserved_host_disk_mib = 1025;
  node.reserved_host_cpus = 3;
  const Inventories all = Describe(facts, node);
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(all.at("VCPU"), (Inventory{48, 3, 1, 48, 1, 4.0}));
  EXPECT_EQ(all.at("PCPU"), (Inventory{4, 0, 1, 4, 1, 1.0}));
  EXPECT_EQ(all.at("MEMORY_MB"), (Inventory{392944, 512, 1, 392944, 1, 1.0}));
  EXPECT_EQ(all.at("DISK_GB"), (Inventory{2637, 2, 1, 2637, 1, 1.0}));  // ceil of 1025 MiB
}

TEST(Inventory, HasPersistentMemory) {  // T-200
  NodeConfiguration node;
  node.pmem_namespaces = {{"CUSTOM_PMEM_NAMESPACE_128G", {"ns0", "ns1"}},
                          {"CUSTOM_PMEM_NAMESPACE_B", {"ns2"}}};
  Facts facts = OrdinaryFacts();
  EXPECT_EQ(Describe(facts, node).at("CUSTOM_PMEM_NAMESPACE_128G"),
            (Inventory{2, 0, 1, 2, 1, 1.0}));  // T-200
  facts.pmem_namespaces = {"ns1", "ns9"};
  const Inventories all = Describe(facts, node);
  EXPECT_EQ(all.at("CUSTOM_PMEM_NAMESPACE_128G").total, 1);
  EXPECT_EQ(all.count("CUSTOM_PMEM_NAMESPACE_B"), 0u);
}

TEST(Inventory, LeavesOutEmptyClasses) {  // T-200
  Facts facts = OrdinaryFacts();
  facts.vcpus = 0;
  facts.pcpus = 2;
  facts.local_disk_gib = 0;
  const Inventories all = Describe(facts, NodeConfiguration());
  EXPECT_EQ(all.count("VCPU") + all.count("DISK_GB"), 0u);
  EXPECT_EQ(all.count("PCPU"), 1u);
}

TEST(Inventory, HugePagesStayInTheMemory) {
  NodeConfiguration node;
  const Inventories without = Describe(OrdinaryFacts(), node);
  node.reserved_huge_pages = {{0, 2048, 1000}};
  EXPECT_EQ(Describe(OrdinaryFacts(), node), without);  // T-81
}

// What placement takes at all, whatever the host and its settings say.
TEST(Inventory, IsAlwaysLawful) {
  for (const int64_t count : {0, 1, 48}) {
    for (const int64_t reserved : {0, 1, 512, 400000}) {
      Facts facts = OrdinaryFacts();
      facts.vcpus = count;
      facts.local_disk_gib = count;
      NodeConfiguration node;
      node.reserved_host_cpus = reserved;
      node.reserved_host_memory_mib = reserved;
      node.reserved_host_disk_mib = reserved;
      for (const auto& [name, row] : Describe(facts, node, {reserved, reserved, reserved})) {
        EXPECT_GE(row.total, 1) << name;                              // T-185
        EXPECT_GE(row.reserved, 0) << name;                           // T-185
        EXPECT_LE(row.reserved, row.total) << name;                   // T-185
        EXPECT_GE(std::min(row.min_unit, row.step_size), 1) << name;  // T-185
        EXPECT_GE(row.max_unit, 1) << name;                           // T-185
        EXPECT_GT(row.allocation_ratio, 0) << name;                   // T-185
      }
    }
  }
}

TEST(Inventory, LeavesDiskToASharingProvider) {  // T-203
  NodeConfiguration node;
  node.shared_disk_provider = true;
  EXPECT_EQ(Describe(OrdinaryFacts(), node).count("DISK_GB"), 0u);
}

TEST(Inventory, ClampsAReserveAndNamesTheOption) {  // T-204
  NodeConfiguration node;
  node.reserved_host_memory_mib = 400000;
  const RootInventory root = DescribeRootInventory(OrdinaryFacts(), node, {}, {});
  EXPECT_EQ(root.inventories.at("MEMORY_MB").reserved, 392944);
  ASSERT_EQ(root.problems.size(), 1u);
  EXPECT_NE(root.problems[0].find("reserved_host_memory_mb"), std::string::npos);
  node.reserved_host_memory_mib = 392944;  // reserved = total is lawful
  EXPECT_TRUE(DescribeRootInventory(OrdinaryFacts(), node, {}, {}).problems.empty());
}

TEST(Inventory, ChoosesRatios) {  // C-12, T-205
  NodeConfiguration node;
  EXPECT_EQ(Describe(OrdinaryFacts(), node).at("VCPU").allocation_ratio, 4.0);
  node.cpu_allocation_ratio = 8.0;
  Inventories placed = Describe(OrdinaryFacts(), node);
  EXPECT_EQ(placed.at("VCPU").allocation_ratio, 8.0);
  node.cpu_allocation_ratio.reset();
  EXPECT_EQ(Describe(OrdinaryFacts(), node, {}, placed).at("VCPU").allocation_ratio, 8.0);
  node.cpu_allocation_ratio = 0.0;
  EXPECT_EQ(Describe(OrdinaryFacts(), node, {}, placed).at("VCPU").allocation_ratio, 8.0);
  EXPECT_EQ(Describe(OrdinaryFacts(), node).at("VCPU").allocation_ratio, 4.0);
}

TEST(Inventory, SaysWhereARatioComesFrom) {  // T-354
  using enum RatioMode;
  using enum RatioSource;
  struct Case {
    RatioMode mode;
    std::optional<double> configured;
    std::optional<double> placed;
    RatioChoice want;  // the initial ratio is 4
  };
  const Case kCases[] = {
      {kApiWithInitial, 2.0, 3.0, {2.0, kSetting}},  // T-205
      {kApiWithInitial, 0.0, 3.0, {3.0, kPlacement}},
      {kApiWithInitial, {}, 0.0, {4.0, kInitial}},  // T-206: a recorded zero is none
      {kConfig, 2.0, 3.0, {2.0, kSetting}},
      {kConfig, {}, 3.0, {4.0, kInitial}},  // a ratio that is no longer set is forgotten
      {kApi, 2.0, 3.0, {3.0, kPlacement}},  // what somebody sets in placement stays
      {kApi, 2.0, {}, {2.0, kSetting}},
      {kApi, {}, 0.0, {4.0, kInitial}},
  };
  for (const Case& test : kCases) {
    EXPECT_EQ(ChooseRatio(test.mode, test.configured, test.placed, 4.0), test.want)
        << static_cast<int>(test.mode) << ' ' << test.want.ratio;
  }
}

// A host whose two cells have `pages` pages of 2 MiB each.
Facts HostWithHugePages(int64_t pages) {
  Facts facts = OrdinaryFacts();
  NumaTopology topology;
  for (const int id : {0, 1}) {
    NumaCell& cell = topology.cells.emplace_back();
    cell.id = id;
    cell.pages = {{4, 1000000, 0, 0}, {2048, pages, 0, 0}};
  }
  facts.numa_topology = topology;
  return facts;
}

TEST(Reserve, MayHaveTheHugePages) {  // T-355
  NodeConfiguration node;
  EXPECT_TRUE(ReserveOf(HostWithHugePages(128), node).warnings.empty());
  const Reserve small = ReserveOf(HostWithHugePages(129), node);
  ASSERT_EQ(small.warnings.size(), 1u);  // 2 * 129 * 2 MiB are more than 512 MiB
  EXPECT_NE(small.warnings[0].find("516 MiB in huge pages"), std::string::npos);
  EXPECT_EQ(small.amounts.memory_mib, 512);
  node.reserve_hugepages_in_memory_mib = true;
  const Reserve all = ReserveOf(HostWithHugePages(129), node);
  EXPECT_EQ(all.amounts.memory_mib, 512 + 516);
  EXPECT_TRUE(all.warnings.empty());
  EXPECT_EQ(Describe(HostWithHugePages(129), node).at("MEMORY_MB").reserved, 512 + 516);  // T-355
  node.file_backed_memory_mib = 100000;
  EXPECT_EQ(ReserveOf(HostWithHugePages(129), node).amounts.memory_mib, 512);
}

TEST(Inventory, WithholdsWhatOrphansUse) {
  struct Case {
    Withheld withheld;
    double cpu_ratio;
    int64_t vcpu_reserved;
    int64_t memory_reserved;
    int64_t disk_reserved;
  };
  const Case kCases[] = {
      {{0, 0, 0}, 4.0, 0, 512, 0},
      {{5, 2048, 10}, 4.0, 2, 2560, 10},  // ceil(5 / 4)
      {{8, 1, 1}, 4.0, 2, 513, 1},
      {{8, 0, 0}, 0.5, 16, 512, 0},
      {{1000, 1000000, 100000}, 4.0, 48, 392944, 2637},  // clamped to total
  };
  for (const Case& test : kCases) {
    NodeConfiguration node;
    node.cpu_allocation_ratio = test.cpu_ratio;
    const RootInventory root = DescribeRootInventory(OrdinaryFacts(), node, {}, test.withheld);
    EXPECT_EQ(root.inventories.at("VCPU").reserved, test.vcpu_reserved);
    EXPECT_EQ(root.inventories.at("MEMORY_MB").reserved, test.memory_reserved);
    EXPECT_EQ(root.inventories.at("DISK_GB").reserved, test.disk_reserved);
    EXPECT_TRUE(root.problems.empty());
  }
  Facts dedicated = OrdinaryFacts();
  dedicated.vcpus = 0;
  dedicated.pcpus = 8;
  EXPECT_EQ(Describe(dedicated, NodeConfiguration(), {3, 0, 0}).at("PCPU").reserved, 3);
}

}  // namespace
}  // namespace berth::tracker
