// The NUMA topology of a node.
#include "tracker/facts/numa.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"
#include "tests/tracker/facts/test_data.h"

namespace berth::tracker {
namespace {

struct Host {
  Capabilities capabilities = *ParseCapabilities(TestData("capabilities_kvm_numa.xml"));
  NodeConfiguration configuration;

  absl::StatusOr<std::optional<NumaTopology>> Describe(const char* virt_type = "kvm") const {
    const CpuSet online = CpuSet::Range(0, 15);
    return DescribeNuma(capabilities, *SelectGuestCpus(configuration, online, online),
                        configuration, virt_type);
  }
};

TEST(Numa, IsOfferedByKindAndArchitecture) {  // T-265
  struct Case {
    const char* virt_type;
    const char* arch;
    bool want;
  };
  const Case kCases[] = {
      {"kvm", "x86_64", true},   {"qemu", "x86_64", true}, {"qemu", "i686", true},
      {"qemu", "aarch64", true}, {"kvm", "ppc64le", true}, {"qemu", "ppc64le", false},
      {"kvm", "s390x", false},   {"lxc", "x86_64", false}, {"test", "x86_64", false}};
  for (const Case& test : kCases) {
    EXPECT_EQ(OffersNuma(test.virt_type, test.arch), test.want) << test.virt_type << test.arch;
  }
}

TEST(Numa, IsNullWithoutCellsOrSupport) {
  Host host;
  EXPECT_EQ(*host.Describe("lxc"), std::nullopt);
  host.capabilities.cells.clear();
  EXPECT_EQ(*host.Describe(), std::nullopt);  // T-99
  EXPECT_EQ(NumaJson(std::nullopt), "null");
}

TEST(Numa, SharesCpusInLegacyMode) {  // T-266
  const NumaTopology topology = *std::move(*Host().Describe());
  ASSERT_EQ(topology.cells.size(), 2u);
  EXPECT_EQ(topology.cells[1].cpus.ToString(), "4-7,12-15");
  EXPECT_EQ(topology.cells[1].dedicated_cpus, topology.cells[1].cpus);
  EXPECT_EQ(topology.cells[0].memory_mib, 98765432 / 1024);
  EXPECT_EQ(topology.cells[1].socket, 1);
}

TEST(Numa, SplitsCpusByConfiguredSets) {
  Host host;
  host.configuration.cpu_shared_set = CpuSet::Range(0, 2);
  host.configuration.cpu_dedicated_set = CpuSet{5, 6, 13};
  const NumaTopology topology = *std::move(*host.Describe());
  EXPECT_EQ(topology.cells[0].cpus.ToString(), "0-2");
  EXPECT_EQ(topology.cells[0].dedicated_cpus.ToString(), "");
  EXPECT_EQ(topology.cells[1].dedicated_cpus.ToString(), "5-6,13");
  // T-266: siblings within what guests may use, empties dropped, by smallest CPU.
  ASSERT_EQ(topology.cells[1].siblings.size(), 2u);
  EXPECT_EQ(topology.cells[1].siblings[0].ToString(), "5,13");
  EXPECT_EQ(topology.cells[1].siblings[1].ToString(), "6");
}

TEST(Numa, KeepsThreadsTogetherInOrder) {
  const NumaTopology topology = *std::move(*Host().Describe());
  std::string text;
  for (const CpuSet& set : topology.cells[0].siblings) text += set.ToString() + ' ';
  EXPECT_EQ(text, "0,8 1,9 2,10 3,11 ");
}

TEST(Numa, HasNoSocketWhenItsCpusDisagree) {
  Host host;
  host.capabilities.cells[0].cpus[3].socket = 1;
  const NumaTopology topology = *std::move(*host.Describe());
  EXPECT_EQ(topology.cells[0].socket, std::nullopt);  // T-266
  EXPECT_EQ(topology.warnings.size(), 1u);
}

TEST(Numa, ReservesPages) {
  Host host;
  host.configuration.reserved_huge_pages = {{1, 2048, 64}};
  const NumaTopology topology = *std::move(*host.Describe());
  EXPECT_EQ(topology.cells[1].pages[1].reserved, 64);  // T-266
  EXPECT_EQ(topology.cells[0].pages[1].reserved, 0);
  EXPECT_EQ(topology.cells[1].pages[1].total, 4096);
  host.configuration.reserved_huge_pages = {{2, 2048, 64}};
  EXPECT_FALSE(host.Describe().ok());
  host.configuration.reserved_huge_pages = {{1, 16384, 64}};
  EXPECT_FALSE(host.Describe().ok());
}

TEST(Numa, AttachesNetworksToCells) {
  Host host;
  host.configuration.physical_network_cells = {{"public", {0, 1}}, {"storage", {1}}};
  host.configuration.tunnel_cells = CpuSet{0};
  const std::optional<NumaTopology> topology = *host.Describe();
  const std::vector<NumaCell>& cells = topology->cells;
  EXPECT_EQ(cells[0].networks.physnets, std::set<std::string>{"public"});  // T-266
  EXPECT_EQ(cells[1].networks.physnets, (std::set<std::string>{"public", "storage"}));
  EXPECT_TRUE(cells[0].networks.tunneled);
  EXPECT_FALSE(cells[1].networks.tunneled);
  const nlohmann::json json = nlohmann::json::parse(NumaJson(topology));
  EXPECT_EQ(json["cells"][1]["network_metadata"],
            nlohmann::json({{"physnets", {"public", "storage"}}, {"tunneled", false}}));
  host.configuration.tunnel_cells = CpuSet{2};
  EXPECT_EQ(host.Describe().status().code(), absl::StatusCode::kInvalidArgument);  // T-266
  host.configuration.tunnel_cells.reset();
  host.configuration.physical_network_cells["storage"] = {7};
  EXPECT_EQ(host.Describe().status().message(),
            "physical_network_cells: the network storage is attached to cell 7, which this host "
            "does not have");
}

TEST(Numa, IsPrintedAsJson) {
  const nlohmann::json json = nlohmann::json::parse(NumaJson(*Host().Describe()));
  EXPECT_EQ(json["cells"][0]["cpuset"], nlohmann::json({0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(json["cells"][0]["mempages"][2]["size_kb"], 1048576);
  EXPECT_EQ(json["cells"][1]["cpu_usage"], 0);  // T-267
  EXPECT_FALSE(json["cells"][0].contains("network_metadata"));
}

}  // namespace
}  // namespace berth::tracker
