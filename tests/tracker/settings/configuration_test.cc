// What a configuration may not say, and what it means.
#include "tracker/settings/configuration.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::tracker {
namespace {

using ::testing::HasSubstr;

Configuration OneNode() {
  Configuration configuration;
  configuration.nodes.emplace_back();
  configuration.nodes[0].uri = "test:///default";
  return configuration;
}

TEST(Configuration, RefusesContradictions) {
  struct Case {
    const char* want;  // part of the message; empty: accepted
    std::function<void(Configuration*, NodeConfiguration*)> change;
  };
  const Case kCases[] = {
      {"", [](Configuration*, NodeConfiguration*) {}},
      {"no hypervisor", [](Configuration* all, NodeConfiguration*) { all->nodes.clear(); }},
      {"two hypervisors have this URI",
       [](Configuration* all, NodeConfiguration* node) { all->nodes.push_back(*node); }},
      {"two hypervisors have this name",  // T-5
       [](Configuration* all, NodeConfiguration* node) {
         node->name = "a";
         NodeConfiguration other = *node;
         other.uri = "test:///other";
         all->nodes.push_back(other);
       }},
      {"in cpu_shared_set: 3",  // T-73
       [](Configuration*, NodeConfiguration* node) {
         node->cpu_dedicated_set = CpuSet::Range(3, 7);
         node->cpu_shared_set = CpuSet::Range(0, 3);
       }},
      {"reserved_host_cpus",  // T-73
       [](Configuration*, NodeConfiguration* node) {
         node->cpu_shared_set = CpuSet::Range(0, 3);
         node->reserved_host_cpus = 1;
       }},
      {"vcpu_pin_set",  // T-73
       [](Configuration*, NodeConfiguration* node) {
         node->cpu_dedicated_set = CpuSet::Range(0, 3);
         node->vcpu_pin_set = CpuSet::Range(4, 5);
       }},
      {"negative",
       [](Configuration*, NodeConfiguration* node) { node->reserved_host_memory_mib = -1; }},
      {"negative",
       [](Configuration*, NodeConfiguration* node) { node->cpu_allocation_ratio = -0.5; }},
      {"initial allocation ratio must be above 0",
       [](Configuration*, NodeConfiguration* node) { node->initial_ram_allocation_ratio = 0; }},
      {"virt_type",  // T-79
       [](Configuration*, NodeConfiguration* node) {
         node->file_backed_memory_mib = 4096;
         node->virt_type = "lxc";
       }},
      {"ram_allocation_ratio",  // T-79
       [](Configuration*, NodeConfiguration* node) {
         node->file_backed_memory_mib = 4096;
         node->ram_allocation_ratio = 1.5;
       }},
      {"must be less than",  // T-79
       [](Configuration*, NodeConfiguration* node) { node->file_backed_memory_mib = 512; }},
      {"", [](Configuration*, NodeConfiguration* node) { node->file_backed_memory_mib = 513; }},
      {"images_volume_group",
       [](Configuration*, NodeConfiguration* node) { node->disk_backend = DiskBackend::kLvm; }},
      {"the URI is missing", [](Configuration*, NodeConfiguration* node) { node->uri = ""; }},
  };
  for (const Case& test : kCases) {
    Configuration configuration = OneNode();
    test.change(&configuration, &configuration.nodes[0]);
    const absl::Status status = Validate(configuration, nullptr);
    if (*test.want == '\0') {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << test.want;
      EXPECT_NE(status.message().find(test.want), std::string::npos) << status;
    }
  }
}

TEST(Configuration, RefusesMonitorsThatDoNotExist) {
  const auto error = [](const std::vector<std::string>& monitors) {
    Configuration configuration = OneNode();
    configuration.nodes[0].monitors = monitors;
    return std::string(Validate(configuration, nullptr).message());
  };
  EXPECT_EQ(error({"virt_driver"}), "");
  EXPECT_EQ(error({"cpu.virt_driver"}), "");
  EXPECT_THAT(error({"thermometer"}), HasSubstr("no monitor cpu.thermometer"));         // T-102
  EXPECT_THAT(error({"disk.virt_driver"}), HasSubstr("no monitor disk.virt_driver"));   // T-102
  EXPECT_THAT(error({"virt_driver", "cpu.virt_driver"}), HasSubstr("is named twice"));  // T-102
}

TEST(Configuration, WarnsOfAPinSetBesideASharedSet) {  // T-73
  Configuration configuration = OneNode();
  configuration.nodes[0].vcpu_pin_set = CpuSet::Range(2, 5);
  configuration.nodes[0].cpu_shared_set = CpuSet::Range(0, 1);
  ConfigurationWarnings warnings;
  EXPECT_TRUE(Validate(configuration, &warnings).ok());
  EXPECT_EQ(warnings.texts.size(), 1u);
}

TEST(Configuration, HasAnInterval) {  // T-44
  Configuration configuration = OneNode();
  EXPECT_EQ(PassInterval(configuration), absl::Seconds(60));
  configuration.update_resources_interval_seconds = 7;
  EXPECT_EQ(PassInterval(configuration), absl::Seconds(7));
  configuration.update_resources_interval_seconds = -1;
  EXPECT_EQ(PassInterval(configuration), std::nullopt);
}

TEST(Configuration, ReadsTheCellsOfNetworks) {  // T-266
  const std::map<std::string, CpuSet> cells = *ParseNetworkCells("public:0  storage:0-1,3");
  EXPECT_EQ(cells, (std::map<std::string, CpuSet>{{"public", {0}}, {"storage", {0, 1, 3}}}));
  EXPECT_TRUE(ParseNetworkCells("")->empty());
  for (const char* const text : {"public", "public:", ":0", "public:x", "a:0 a:1"}) {
    EXPECT_EQ(ParseNetworkCells(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Configuration, ReadsReservedPages) {  // T-266
  const ReservedPages pages = *ParseReservedPages("node:1,size:1GB,count:2");
  EXPECT_EQ(pages.cell, 1);
  EXPECT_EQ(pages.size_kib, 1048576);
  EXPECT_EQ(pages.count, 2);
  EXPECT_EQ(ParseReservedPages("node:0, size:2048, count:64")->size_kib, 2048);
  EXPECT_EQ(ParseReservedPages("count:64,node:0,size:2M")->size_kib, 2048);
  for (const char* const text : {"", "node:0", "node:0,size:x,count:1", "node:-1,size:4,count:1",
                                 "node:0,size:4,count:1,a:1", "node:0,size:0,count:1"}) {
    EXPECT_FALSE(ParseReservedPages(text).ok()) << text;
  }
}

}  // namespace
}  // namespace berth::tracker
