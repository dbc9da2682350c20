// Where the account of a node differs from what placement has allocated to its instances.
#include "tracker/audit/drift.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/facts/test_data.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/audit.h"
#include "tracker/audit/resources.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// An active instance of the node, with one dedicated CPU of two.
Instance CountedInstance(const std::string& uuid) {
  Instance instance = MakeInstance(uuid, kHere, MakeFlavor("f", 2, 1024, 10));
  instance.flavor.swap_mib = 512;
  instance.assigned.topology = MakePinned({0});
  return instance;
}

KnownAllocation Allocated(const std::string& consumer, int64_t memory_mib) {
  return {"root"_uuid,
          ShortUuid(consumer),
          Uuid(),
          {{"VCPU", 1}, {"PCPU", 1}, {"MEMORY_MB", memory_mib}, {"DISK_GB", 11}}};
}

class DriftTest : public testing::Test {
 protected:
  std::vector<Drift> Find() { return FindDrifts(account_, records_, configuration_); }

  static NodeResources HostWithCell() {
    NodeResources resources;
    resources.topology = MakeTopology();
    return resources;
  }

  NodeAccount account_{kHere, HostWithCell()};
  Records records_;
  NodeConfiguration configuration_;
};

TEST_F(DriftTest, EqualAmountsAreNone) {
  account_.PutInstance(CountedInstance("a"));
  records_.allocations = {Allocated("a", 1024), Allocated("nobody knows", 4096)};
  EXPECT_THAT(Find(), IsEmpty());  // T-351
}

TEST_F(DriftTest, EachClassIsCompared) {
  for (const char* const uuid : {"a", "b", "c"}) account_.PutInstance(CountedInstance(uuid));
  records_.allocations = {Allocated("a", 1024), Allocated("b", 512)};
  const std::vector<Drift> drifts = Find();
  ASSERT_THAT(drifts, SizeIs(4));
  EXPECT_EQ(drifts[0], (Drift{"DISK_GB", 33, 22, {"c"_uuid}}));                  // T-351
  EXPECT_EQ(drifts[1], (Drift{"MEMORY_MB", 3072, 1536, {"b"_uuid, "c"_uuid}}));  // T-351
  EXPECT_EQ(drifts[2], (Drift{"PCPU", 3, 2, {"c"_uuid}}));
  EXPECT_EQ(drifts[3], (Drift{"VCPU", 3, 2, {"c"_uuid}}));
  EXPECT_EQ(WithShortNames(DriftText(drifts[1])),
            "MEMORY_MB: instances count 3072, but their allocations 1536; instances b, c");
  configuration_.shared_disk_provider = true;
  EXPECT_THAT(Find(), SizeIs(3)) << "another provider counts the disk";
}

TEST_F(DriftTest, WhatIsClaimedOrMovedIsLeftOut) {
  Instance moving = CountedInstance("a");
  moving.task_state = "migrating";
  moving.context.emplace().migration_uuid = "m"_uuid;
  account_.PutInstance(moving);
  account_.PutMigration(MakeMigration(moving, MigrationType::kLive, "running", kHere, kThere));
  OpenClaim claim;
  claim.instance = CountedInstance("b");
  claim.instance.assigned.topology = MakePinned({1});
  account_.Open(claim);
  EXPECT_EQ(account_.promised().claims.amounts.vcpus, 2);
  EXPECT_THAT(Find(), IsEmpty());
}

TEST_F(DriftTest, ADriftThatStaysIsAFinding) {
  account_.PutInstance(CountedInstance("a"));
  records_.allocations = {Allocated("a", 512)};
  const auto facts = std::make_shared<const Facts>(OrdinaryFacts());
  std::optional<Audit> before;
  MonotonicTime now{};
  const auto audit = [&](std::chrono::seconds later) {
    now += later;
    auto done = RunAudit({.facts = facts,
                          .records = &records_,
                          .configuration = configuration_,
                          .node_uuid = "root"_uuid,
                          .node_name = "n",
                          .before = before ? &*before : nullptr,
                          .now = now,
                          .wall_now = absl::UnixEpoch(),
                          .orphan_confirmation = std::chrono::seconds(5),
                          .account = &account_});
    EXPECT_TRUE(done.ok()) << done.status();
    before = *done;
    return *std::move(done);
  };
  const Audit first = audit(std::chrono::seconds(0));
  EXPECT_THAT(first.drifts, SizeIs(1));
  EXPECT_THAT(first.findings, IsEmpty()) << "the records may come in any order";
  const std::string digest = first.digest.whole;
  const Audit second = audit(std::chrono::seconds(5));
  ASSERT_THAT(second.findings, SizeIs(1));
  EXPECT_EQ(second.findings[0].kind, Finding::Kind::kDrift);  // T-351
  EXPECT_EQ(second.findings[0].subject, "MEMORY_MB");
  EXPECT_THAT(second.warnings, SizeIs(1));  // T-351
  EXPECT_NE(second.digest.whole, digest) << "placement is told";
  EXPECT_THAT(audit(std::chrono::seconds(60)).warnings, IsEmpty()) << "it is logged once";
  records_.allocations = {Allocated("a", 256)};
  EXPECT_THAT(audit(std::chrono::seconds(60)).findings, IsEmpty()) << "it is another drift";
}

TEST(StrayDevices, AreFindings) {
  Facts facts = OrdinaryFacts();
  Guest& guest = facts.guests.emplace_back();
  guest.uuid = "g"_uuid;
  guest.name = "guest-1";
  guest.devices = {"0000:81:00.0"};
  PciDevice device;
  device.address = "0000:81:00.0";
  device.vendor_id = "8086";
  device.product_id = "1533";
  device.dev_type = "type-PCI";
  facts.pci_devices = {device};
  NodeConfiguration configuration;
  configuration.pci_device_specs = {R"({"vendor_id": "8086"})"};
  NodeResources resources = ResourcesOf(facts, configuration);
  ASSERT_TRUE(AddDevices(facts, configuration, &resources).ok());
  NodeAccount account(kHere, resources);
  const auto audit = [&] {
    return *RunAudit({.facts = std::make_shared<const Facts>(facts),
                      .configuration = configuration,
                      .node_uuid = "root"_uuid,
                      .node_name = "n",
                      .wall_now = absl::UnixEpoch(),
                      .orphan_confirmation = std::chrono::seconds(5),
                      .account = &account});
  };
  const Audit first = audit();
  const auto found =
      std::find_if(first.findings.begin(), first.findings.end(),
                   [](const Finding& f) { return f.kind == Finding::Kind::kDevice; });
  ASSERT_NE(found, first.findings.end());
  EXPECT_EQ(found->subject, "0000:81:00.0");  // T-256
  EXPECT_THAT(found->text,
              testing::HasSubstr("guest guest-1 (" + "g"_uuid.ToString() + ")"));  // T-256
  configuration.pci_device_specs = {R"({"vendor_id": "8086", "live_migratable": "yes"})"};
  EXPECT_FALSE(AddDevices(facts, configuration, &resources).ok())
      << "the host is too old";  // T-236
}

TEST(Audit, ACpuThatTwoInstancesHaveEndsNoPass) {
  NodeResources resources;
  resources.topology = MakeTopology();
  NodeAccount account(kHere, resources);
  account.PutInstance(CountedInstance("a"));
  account.PutInstance(CountedInstance("b"));  // has the same CPU
  const NodeConfiguration configuration;
  AuditInput input{.facts = std::make_shared<const Facts>(OrdinaryFacts()),
                   .configuration = configuration,
                   .node_uuid = kHere.node_uuid,
                   .node_name = "n"};
  input.account = &account;
  const absl::StatusOr<Audit> audit = RunAudit(input);
  ASSERT_TRUE(audit.ok()) << audit.status();                                // T-362
  EXPECT_EQ(audit->report.accounting.promised.instances.amounts.vcpus, 4);  // T-362
  EXPECT_EQ(std::count_if(audit->findings.begin(), audit->findings.end(),
                          [](const Finding& it) { return it.kind == Finding::Kind::kRecord; }),
            1);
}

}  // namespace
}  // namespace berth::tracker
