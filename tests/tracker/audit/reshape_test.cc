// Resources that move to other providers and classes, and the units of a node.
#include "tracker/audit/reshape.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/audit.h"
#include "tracker/audit/resources.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Uuid kMoved = "6695eb01-f6a4-8304-79aa-97f2502e193f"_uuid;
const HostAndNode kMovedHost = {"h1", kMoved};

class ReshapeTest : public testing::Test {
 protected:
  ReshapeTest() : account_(kMovedHost, NodeResources()) {
    facts_ = OrdinaryFacts();
    records_.tree = {{kMoved, "n1", Uuid(), 1, {{"VCPU", {48, 0, 1, 48, 1, 4.0}}}, {"OWNER_NOVA"}}};
  }

  Audit Run(bool starting) {
    AuditInput input{.facts = std::make_shared<const Facts>(facts_),
                     .records = &records_,
                     .configuration = configuration_,
                     .node_uuid = kMoved,
                     .node_name = "n1"};
    input.account = &account_;
    input.starting = starting;
    return *RunAudit(input);
  }
  void PutPinned(const std::string& uuid, std::vector<int> cpus) {
    Instance instance = MakeInstance(uuid, kMovedHost, MakeFlavor("f", 2, 512, 1));
    instance.assigned.topology = MakePinned(cpus);
    account_.PutInstance(instance);
  }

  Facts facts_;
  NodeConfiguration configuration_;
  NodeAccount account_;
  Records records_;
};

TEST_F(ReshapeTest, VirtualGpusMoveToTheChildren) {
  facts_.mediated_parents = {{"0000:05:00.0", {}, {{"nvidia-64", 2}}},
                             {"0000:84:00.0", {}, {{"nvidia-64", 2}}}};
  configuration_.mediated_types = {{"nvidia-64", {}, "VGPU", std::nullopt}};
  records_.tree[0].inventories["VGPU"] = {4, 0, 1, 4, 1, 1.0};
  records_.allocations = {{kMoved, "a"_uuid, Uuid(), {{"VCPU", 1}, {"VGPU", 1}}, "INSTANCE", 5},
                          {kMoved, "b"_uuid, Uuid(), {{"VGPU", 2}}, "INSTANCE", 6},
                          {kMoved, "c"_uuid, Uuid(), {{"VCPU", 1}}, "INSTANCE", 7},
                          {"elsewhere"_uuid, "a"_uuid, Uuid(), {{"DISK_GB", 3}}, "INSTANCE", 5}};
  const Audit audit = Run(true);
  ASSERT_EQ(audit.report.providers.size(), 3u);
  EXPECT_EQ(audit.report.providers[0].inventories.count("VGPU"), 0u);
  const Uuid left = audit.report.providers[1].uuid;  // in the order in which a ceiling cuts
  const Uuid right = audit.report.providers[2].uuid;
  EXPECT_THAT(audit.report.holdings,
              ElementsAre(WantedHolding{"a"_uuid,
                                        5,
                                        {{kMoved, {{"VCPU", 1}}},
                                         {left, {{"VGPU", 1}}},
                                         {"elsewhere"_uuid, {{"DISK_GB", 3}}}}},
                          WantedHolding{"b"_uuid, 6, {{right, {{"VGPU", 2}}}}}))
      << "T-209";  // T-209: and not of `c`, which has none
  EXPECT_TRUE(audit.report.moves_resources);
}

TEST_F(ReshapeTest, AClassThatAFileGivesToTheRootStaysThere) {
  facts_.mediated_parents = {{"0000:05:00.0", {}, {{"nvidia-64", 2}}}};
  configuration_.mediated_types = {{"nvidia-64", {}, "CUSTOM_GPU", std::nullopt}};
  ProviderEntry entry;
  entry.inventories["CUSTOM_GPU"].total = 4;
  configuration_.provider_entries = {entry};
  records_.tree[0].inventories["CUSTOM_GPU"] = {4, 0, 1, 2147483647, 1, 1.0};
  records_.allocations = {{kMoved, "a"_uuid, Uuid(), {{"CUSTOM_GPU", 1}}, "INSTANCE", 5}};
  for (const bool starting : {true, false}) {
    const Audit audit = Run(starting);
    EXPECT_THAT(audit.report.holdings, IsEmpty());  // T-209
    ASSERT_EQ(audit.report.providers.size(), 2u);
    EXPECT_EQ(audit.report.providers[0].inventories.at("CUSTOM_GPU"),
              records_.tree[0].inventories.at("CUSTOM_GPU"));  // T-219
    EXPECT_THAT(audit.findings, IsEmpty());                    // T-219
  }
}

TEST_F(ReshapeTest, EncryptedMemoryMovesToItsChild) {
  facts_.emulators.sev_guests_max = 15;
  records_.tree[0].inventories["MEM_ENCRYPTION_CONTEXT"] = {15, 0, 1, 1, 1, 1.0};
  records_.allocations = {
      {kMoved, "a"_uuid, Uuid(), {{"MEM_ENCRYPTION_CONTEXT", 1}}, "INSTANCE", 5}};
  const Audit audit = Run(true);
  ASSERT_EQ(audit.report.providers.size(), 2u);
  EXPECT_THAT(
      audit.report.holdings,
      ElementsAre(WantedHolding{
          "a"_uuid, 5, {{audit.report.providers[1].uuid, {{"MEM_ENCRYPTION_CONTEXT", 1}}}}}))
      << "T-209";  // T-209
}

TEST_F(ReshapeTest, OnlyTheFirstReportMovesThem) {
  facts_.emulators.sev_guests_max = 15;
  records_.tree[0].inventories["MEM_ENCRYPTION_CONTEXT"] = {15, 0, 1, 1, 1, 1.0};
  records_.allocations = {
      {kMoved, "a"_uuid, Uuid(), {{"MEM_ENCRYPTION_CONTEXT", 1}}, "INSTANCE", 5}};
  const Audit later = Run(false);
  EXPECT_THAT(later.report.holdings, IsEmpty());  // T-209
  ASSERT_EQ(later.report.providers.size(), 1u);   // T-209: nothing is offered twice
  EXPECT_EQ(later.report.providers[0].inventories.at("MEM_ENCRYPTION_CONTEXT").total, 15);
  EXPECT_THAT(later.findings[0].text, HasSubstr("restart the tracker"));
  records_.allocations.clear();
  EXPECT_EQ(Run(false).report.providers.size(), 2u) << "nobody holds it";
}

TEST_F(ReshapeTest, PinnedCpusBecomePcpu) {
  facts_.vcpus = 40;
  facts_.pcpus = 8;
  PutPinned("pinned", {0, 1});
  account_.PutInstance(MakeInstance("shared", kMovedHost, MakeFlavor("f", 2, 512, 1)));
  records_.allocations = {
      {kMoved, "pinned"_uuid, Uuid(), {{"VCPU", 3}, {"MEMORY_MB", 512}}, "INSTANCE", 5},
      {kMoved, "shared"_uuid, Uuid(), {{"VCPU", 2}}, "INSTANCE", 6}};
  const Audit audit = Run(true);
  EXPECT_EQ(audit.report.providers[0].inventories.count("PCPU"), 1u);
  EXPECT_THAT(audit.report.holdings,
              ElementsAre(WantedHolding{
                  "pinned"_uuid, 5, {{kMoved, {{"VCPU", 1}, {"PCPU", 2}, {"MEMORY_MB", 512}}}}}))
      << "T-209";  // T-209
  const Audit later = Run(false);
  EXPECT_THAT(later.report.holdings, IsEmpty());                       // T-209
  EXPECT_EQ(later.report.providers[0].inventories.count("PCPU"), 0u);  // T-209
  records_.tree[0].inventories["PCPU"] = {8, 0, 1, 8, 1, 1.0};
  EXPECT_THAT(Run(true).report.holdings, IsEmpty()) << "PCPU was there before";
}

TEST_F(ReshapeTest, WhatAnOutgoingMigrationHoldsBecomesPcpu) {
  facts_.pcpus = 8;
  PutPinned("a", {0});
  Instance moving = *account_.FindInstance("a"_uuid);
  moving.context.emplace();
  moving.context->migration_uuid = "m"_uuid;
  moving.context->old_assigned.topology = MakePinned({0, 1});
  account_.PutInstance(moving);
  records_.allocations = {{kMoved, "m"_uuid, "a"_uuid, {{"VCPU", 2}}, "INSTANCE", 5}};
  EXPECT_THAT(Run(true).report.holdings,
              ElementsAre(WantedHolding{"m"_uuid, 5, {{kMoved, {{"PCPU", 2}}}}}))
      << "T-209";  // T-209
}

TEST(Units, AreTheNamespacesThatTheHostHas) {
  Facts facts = OrdinaryFacts();
  NodeConfiguration configuration;
  configuration.pmem_namespaces = {{"CUSTOM_PMEM_NAMESPACE_S", {"ns0", "ns1"}}};
  facts.pmem_namespaces = std::set<std::string>{"ns1", "other"};
  NodeResources resources = ResourcesOf(facts, configuration);
  AddUnits(facts, configuration, kMoved, &resources);
  EXPECT_THAT(resources.units,
              ElementsAre(NamedUnit{kMoved, "CUSTOM_PMEM_NAMESPACE_S", "ns1"}));  // T-149
}

}  // namespace
}  // namespace berth::tracker
