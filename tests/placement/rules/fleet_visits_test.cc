// What a command about one host reads of a fleet of 10,000 hosts with 200,000 instances.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "placement/commands/fleet_node.h"
#include "placement/log/concerned.h"
#include "placement/rules/rules.h"
#include "tests/placement/rules/cpus.h"
#include "tests/worlds/counted_fleet.h"
#include "tests/worlds/seed.h"

namespace berth::placement {
namespace {

constexpr int kFleetHosts = kSanitized ? 1'000 : 10'000;
constexpr int kFleetInstances = 20;  // on each host
constexpr int kReadMax = 4;          // records of the host that the command is about

class FleetVisits : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fleet_ = std::make_unique<CountedFleet>(kFleetHosts, kFleetInstances);
  }
  static void TearDownTestSuite() { fleet_.reset(); }

  static const State& state() { return fleet_->state(); }

  // How many records it takes to decide `body`, to apply it, and to find whom it concerns.
  static int64_t RecordsReadBy(const CommandBody& body) { return RecordsReadBy(body, state()); }
  static int64_t RecordsReadBy(const CommandBody& body, const State& before) {
    Command command;
    command.body = body;
    return fleet_->Count([&] {
      const absl::StatusOr<Outcome> outcome = Decide(before, command, RuleContext{});
      EXPECT_TRUE(outcome.ok()) << outcome.status();
      if (!outcome.ok()) return;
      State next = before;
      ScopeMaker maker(next, outcome->changes);
      next.Apply(outcome->changes);
      EXPECT_LE(ConcernedBy(outcome->changes, std::move(maker).Finish(next)).hosts.size(), 1u);
    });
  }
  // A write of the record of the first instance of host 77.
  static WriteRecords WriteOf77() {
    WriteRecords write;
    write.tracker = {CountedFleet::HostOf(77), CountedFleet::ProcessOf(77)};
    write.node = CountedFleet::NodeOf(77);
    write.instance = CountedFleet::InstanceOf(77, 0);
    write.expected_generation = state().records().FindInstance(write.instance)->generation;
    write.written = CpuWrite(write.tracker.host, write.node, "4");
    return write;
  }
  // A report of the node by the tracker of host 77.
  static ApplyReport ReportOf(ProviderId node, const std::string& name) {
    ApplyReport report;
    report.host = CountedFleet::HostOf(77);
    report.incarnation = CountedFleet::ProcessOf(77);
    report.sequence = 1;
    report.complete = true;
    report.node = node;
    report.node_name = name;
    ReportedProvider& root = report.providers.emplace_back();
    root.id = report.node;
    root.name = report.node_name;
    return report;
  }

  static inline std::unique_ptr<CountedFleet> fleet_;
};

TEST_F(FleetVisits, DisablingAServiceReadsItsHostAlone) {
  UpdateService command{"h77", "berth-tracker", true, "maintenance", std::nullopt};
  EXPECT_LE(RecordsReadBy(command), kReadMax);
  command.disabled = false;
  command.disabled_reason = "";
  EXPECT_LE(RecordsReadBy(command), kReadMax);
}

TEST_F(FleetVisits, TheFirstReportOfANodeReadsItsHostAlone) {
  EXPECT_LE(RecordsReadBy(ReportOf(CountedFleet::NodeOf(kFleetHosts + 1), "second")), kReadMax);
}

TEST_F(FleetVisits, ALaterReportOfANodeReadsItsHostAlone) {
  const ProviderId node = CountedFleet::NodeOf(77);
  ApplyReport report = ReportOf(node, CountedFleet::NodeNameOf(77));
  ReportedProvider& root = report.providers.front();
  root.base_generation = state().FindProvider(node)->config().generation;
  root.inventories.push_back({"VCPU", {.total = 2000}});
  EXPECT_LE(RecordsReadBy(report), kReadMax);
}

TEST_F(FleetVisits, AWriteOfARecordReadsItsHostAlone) {
  WriteRecords write = WriteOf77();
  EXPECT_LE(RecordsReadBy(write), kReadMax);
  write.written = nullptr;  // withdraws an earlier one
  EXPECT_LE(RecordsReadBy(write), kReadMax);
}

// Below the node is a pool of which an instance on each host holds a share.
TEST_F(FleetVisits, AWriteOfARecordReadsNoGuestsOfASharedPool) {
  const ClassId disk = *state().catalog().classes.Find("DISK_GB");
  ProviderConfig pool;
  pool.id = ProviderId{Uuid{71, 1}};
  pool.name = "pool";
  pool.parent = CountedFleet::NodeOf(77);
  pool.generation = Generation{2};
  pool.traits = {*state().catalog().traits.Find("MISC_SHARES_VIA_AGGREGATE")};
  pool.inventories.push_back({disk, {.total = kFleetHosts}, kFleetHosts});
  Changes changes = {ProviderPut{std::make_shared<const ProviderConfig>(pool)}};
  for (int host = 1; host <= kFleetHosts; ++host) {
    const ConsumerId id{CountedFleet::InstanceOf(host, 0).uuid};
    Consumer consumer = *state().FindConsumer(id);
    consumer.generation = consumer.generation.Next();
    consumer.allocations.push_back({pool.id, disk, 1});  // comes after the VCPU of its node
    changes.push_back(ConsumerPut{std::make_shared<const Consumer>(std::move(consumer))});
  }
  changes.push_back(ProviderUsed{pool.id, Generation{3}, {{disk, kFleetHosts}}});
  State shared = state();
  shared.Apply(changes);
  EXPECT_LE(RecordsReadBy(WriteOf77(), shared), kReadMax);
}

TEST_F(FleetVisits, AnImportReadsTheHostsThatItNames) {
  ImportLedger import;
  ImportedService service;
  service.service.host = "new";
  service.service.binary = "berth-tracker";
  service.service.id = Uuid{10, 1};
  import.services.push_back(service);
  ImportedInstance instance;
  instance.instance.id = InstanceId{Uuid{10, 2}};
  instance.instance.project = instance.instance.user = instance.instance.vm_state = "any";
  instance.instance.host = "new";
  import.instances.push_back(instance);
  EXPECT_LE(RecordsReadBy(import), kReadMax);
}

TEST_F(FleetVisits, IndexesReadWhatTheyFindAlone) {
  EXPECT_LE(fleet_->Count([&] {
    EXPECT_EQ(state().FindServiceById(CountedFleet::ServiceOf(77))->host, "h77");
    EXPECT_EQ(state().FindServiceById(Uuid{8, 0}), nullptr);
  }),
            1);
  EXPECT_LE(fleet_->Count([&] {
    ASSERT_EQ(state().NodesOf("h77").size(), 1u);
    EXPECT_EQ(state().NodesOf("h77").front()->id, CountedFleet::NodeOf(77));
    EXPECT_TRUE(state().NodesOf("h").empty());
  }),
            1);
  EXPECT_LE(fleet_->Count([&] { EXPECT_EQ(state().records().InstancesOf("h77").size(), 20u); }), 1);
}

}  // namespace
}  // namespace berth::placement
