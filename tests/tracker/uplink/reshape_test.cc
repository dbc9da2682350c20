// Reports that also say what consumers shall hold, against a placement that does as the test wishes.
#include <algorithm>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/uplink/fixture.h"
#include "tracker/ground/boot_clock.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using Fate = FakePlacement::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kPinnedGuest[] = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";

// A node that placement knows from the time when it had no dedicated CPUs. A guest whose CPU is
// pinned holds VCPU.
class ReshapeUplinkTest : public UplinkTest {
 protected:
  ReshapeUplinkTest() {
    NodeConfiguration configuration = node_->options().configuration;
    configuration.cpu_shared_set = CpuSet{0, 4};
    configuration.cpu_dedicated_set = CpuSet{2};
    node_->Configure(configuration);
    EXPECT_EQ(Pass().result, PassOutcome::Result::kComplete);
    placement_.recorded.emplace_back();
    placement_.recorded[0].set_node_uuid(uuid_);
    placement_.recorded[0].set_node_name("n1");
    placement_.recorded[0].set_host("h");
  }

  FakePlacement::Response Known() {
    KnownProvider root{ShortUuid(uuid_), "n1", Uuid(), 5, {{"VCPU", {3, 0, 1, 3, 1, 4.0}}},
                       {"OWNER_NOVA"}};
    FakePlacement::Response push = PushWithProvider(root);
    v1::Consumer* const consumer = push.mutable_push()->add_consumers();
    consumer->set_uuid(kPinnedGuest);
    consumer->set_generation(7);
    v1::ProviderAllocation* const held = consumer->add_allocations();
    held->set_provider_uuid(uuid_);
    (*held->mutable_resources())["VCPU"] = 1;
    v1::Instance* const instance = push.mutable_push()->add_instances();
    instance->set_uuid(kPinnedGuest);
    instance->set_generation(3);
    instance->set_host("h");
    instance->set_node_uuid(uuid_);
    instance->set_vm_state("active");
    v1::GuestCell* const cell = instance->add_numa_cells();
    cell->set_host_cell(0);
    cell->add_pinned_cpus(0);
    (*cell->mutable_pinning())[0] = 2;
    return push;
  }

  FakePlacement placement_;
};

TEST_F(ReshapeUplinkTest, TheFirstReportMovesResources) {  // T-209
  const auto uplink = Connect(placement_);
  ASSERT_TRUE(Eventually([this] { return node_->view().standing != Standing::kNone; }));
  placement_.Say(Known());
  ASSERT_TRUE(placement_.WaitForReports(1));
  const v1::Report report = placement_.reports()[0];
  ASSERT_EQ(report.allocations_size(), 1);
  EXPECT_EQ(report.allocations(0).generation(), 7);
  const auto& held = report.allocations(0).allocations(0).resources();
  EXPECT_EQ(held.size(), 1u);
  EXPECT_EQ(held.at("PCPU"), 1);  // T-209
  ASSERT_TRUE(Settles());
  // The allocations come by a push that has not arrived yet.
  Pass();
  EXPECT_TRUE(node_->view().audit->report.holdings.empty());
}

TEST_F(ReshapeUplinkTest, ARefusalIsFatal) {
  placement_.fate = [](const v1::Report&) { return Fate::kInvalid; };
  placement_.words = "there is no room";
  const auto uplink = Connect(placement_);
  ASSERT_TRUE(Eventually([this] { return node_->view().standing != Standing::kNone; }));
  placement_.Say(Known());
  EXPECT_TRUE(Eventually([this] { return refusal() == "reshape: there is no room"; }));  // T-197
}

TEST_F(ReshapeUplinkTest, AConflictIsNotFatal) {
  placement_.fate = [count = 0](const v1::Report&) mutable {
    return count++ == 0 ? Fate::kConflict : Fate::kAck;
  };
  placement_.conflict = [this](FakePlacement::Response* response) {
    *response->mutable_reject()->mutable_providers() = Known().push().providers();
  };
  const auto uplink = Connect(placement_);
  ASSERT_TRUE(Eventually([this] { return node_->view().standing != Standing::kNone; }));
  placement_.Say(Known());
  ASSERT_TRUE(placement_.WaitForReports(2));
  EXPECT_EQ(placement_.reports()[1].allocations_size(), 1);  // T-197
  EXPECT_EQ(refusal(), "");                                  // T-197
}

// Other settings of the host would not help: the day ends by itself.
TEST_F(ReshapeUplinkTest, ADailyLimitIsNotFatal) {
  placement_.fate = [](const v1::Report&) { return Fate::kDaily; };
  const auto uplink = Connect(placement_);
  ASSERT_TRUE(Eventually([this] { return node_->view().standing != Standing::kNone; }));
  placement_.Say(Known());
  ASSERT_TRUE(Eventually([this] { return node_->view().reports_rejected == 1; }));
  EXPECT_EQ(placement_.reports()[0].allocations_size(), 1);
  const int64_t beats = uplink->status().heartbeats;
  ASSERT_TRUE(Eventually([&] { return uplink->status().heartbeats > beats + 2; }));
  EXPECT_EQ(refusal(), "");  // T-197
}

// Other settings of the host would not help, and an operator may have limited it on purpose.
TEST_F(ReshapeUplinkTest, WhatPlacementLimitsDoesNotMove) {
  placement_.fate = [](const v1::Report& report) {
    return report.allocations_size() > 0 ? Fate::kLimited : Fate::kAck;
  };
  const auto uplink = Connect(placement_);
  ASSERT_TRUE(Eventually([this] { return node_->view().standing != Standing::kNone; }));
  placement_.Say(Known());
  ASSERT_TRUE(placement_.WaitForReports(2)) << "no pass is needed";
  EXPECT_EQ(placement_.reports()[0].allocations_size(), 1);
  EXPECT_EQ(placement_.reports()[1].allocations_size(), 0);
  EXPECT_FALSE(placement_.reports()[1].providers(0).inventories().contains("PCPU"));
  ASSERT_TRUE(Settles());
  Pass();
  EXPECT_TRUE(node_->view().audit->report.holdings.empty());
  EXPECT_EQ(refusal(), "");  // T-197
  EXPECT_EQ(Logged("placement refused the report of node n1"), 1);
}

TEST_F(ReshapeUplinkTest, WhatMayPassByItselfIsTriedAgain) {
  placement_.fate = [count = 0](const v1::Report&) mutable {
    return count++ < 2 ? Fate::kInUse : Fate::kAck;
  };
  placement_.words = "consumers hold some of it";
  const auto uplink = Connect(placement_);
  ASSERT_TRUE(Eventually([this] { return node_->view().standing != Standing::kNone; }));
  placement_.Say(Known());
  for (const int64_t refused : {1, 2}) {
    ASSERT_TRUE(Eventually([&] { return node_->view().reports_rejected == refused; }));
    EXPECT_EQ(placement_.reports().size(), static_cast<size_t>(refused)) << "it waits for a pass";
    Pass();
    uplink->Notify();
  }
  ASSERT_TRUE(Settles());
  EXPECT_EQ(placement_.reports()[2].allocations_size(), 1);
  EXPECT_EQ(refusal(), "");                                         // T-197
  EXPECT_EQ(Logged("placement refused the report of node n1"), 1);  // T-197: said once
}

// A node with PCI devices that placement knows, and guests that have one each.
class HealUplinkTest : public UplinkTest {
 protected:
  HealUplinkTest() {
    NodeConfiguration configuration = node_->options().configuration;
    configuration.pci_report_in_placement = true;
    node_->Configure(configuration);
    EXPECT_EQ(Pass().result, PassOutcome::Result::kComplete);
  }

  // Lets the node have a device for each guest, and placement the guests in these generations.
  void Tell(const std::map<std::string, int64_t>& generations) {
    node_->ChangeRecords(
        [&](Records* records, NodeAccount* account) {
          NodeResources resources = account->resources();
          resources.device_specs = *DeviceSpecs::Parse({R"({"vendor_id": "8086"})"}, {});
          resources.devices.clear();
          for (size_t i = 0; i < generations.size(); ++i) {
            PciDevice& device = resources.devices.emplace_back();
            device.address = absl::StrCat("0000:0", 5 + i, ":00.0");
            device.vendor_id = "8086";
            device.product_id = "0443";
            device.dev_type = "type-PCI";
          }
          account->SetResources(resources);
          records->allocations.clear();
          for (const auto& [guest, generation] : generations) {
            Instance owner =
                MakeInstance(guest, {"h", ShortUuid(uuid_)}, MakeFlavor("f", 1, 512, 1));
            owner.assigned.devices = {resources.devices[records->allocations.size()].address};
            account->PutInstance(owner);
            records->allocations.push_back({ShortUuid(uuid_),
                                            ShortUuid(guest),
                                            Uuid(),
                                            {{"VCPU", 1}},
                                            "INSTANCE",
                                            generation});
          }
          return true;
        },
        BootClock::now());
    if (uplink_ != nullptr) uplink_->Notify();
  }
  void Welcome(int64_t last_sequence) {
    node_->Reports(
        [&](NodeReports* reports) { reports->Welcome(Standing::kSendAll, last_sequence); });
  }
  void Tell(int64_t generation) { Tell({{kPinnedGuest, generation}}); }
  // Runs a pass and changes the records. Then answers the report that is due: refuses it if it has
  // allocations of kPinnedGuest. Returns the consumers in the report.
  std::vector<std::string> Reported(const std::map<std::string, int64_t>& generations) {
    Pass();
    Tell(generations);
    later_ += NodeAudits::kAuditPause;
    std::optional<Records> records;
    const std::optional<Outbox::Outgoing> report = node_->Audits([&](NodeAudits* audits) {
      audits->AuditChanges(later_);
      return audits->NextReport(later_, &records);
    });
    std::vector<std::string> consumers;
    if (!report) return consumers;
    for (const WantedHolding& holding : report->audit->report.holdings) {
      consumers.push_back(holding.consumer_uuid.ToString());
    }
    const MonotonicTime now = BootClock::now();
    if (std::count(consumers.begin(), consumers.end(), kPinnedGuest) == 0) {
      node_->Reports(
          [&](NodeReports* reports) { reports->Acknowledge(report->sequence, {}, {}, now); });
    } else {
      node_->Audits([&](NodeAudits* audits) {
        return audits->Reject(report->sequence, ReportRefusal::kForGood, std::nullopt, now);
      });
    }
    return consumers;
  }

  FakePlacement placement_;
  std::unique_ptr<Uplink> uplink_;
  MonotonicTime later_ = BootClock::now();
};

TEST_F(HealUplinkTest, MissingAllocationsAreReported) {  // T-262
  placement_.fate = [](const v1::Report& report) {
    const bool again = report.allocations_size() > 0 && report.allocations(0).generation() == 7;
    return again ? Fate::kInvalid : Fate::kAck;
  };
  uplink_ = Connect(placement_);
  ASSERT_TRUE(placement_.WaitForReports(1));
  ASSERT_TRUE(Settles());
  Tell(7);
  ASSERT_TRUE(placement_.WaitForReports(2));
  EXPECT_EQ(placement_.reports()[1].providers(0).name(), "n1_0000:05:00.0");  // T-258
  EXPECT_EQ(placement_.reports()[1].allocations_size(), 0) << "there is no such provider yet";
  ASSERT_TRUE(Settles());
  Tell(7);
  ASSERT_TRUE(placement_.WaitForReports(3));
  ASSERT_EQ(placement_.reports()[2].allocations_size(), 1);  // T-262
  EXPECT_EQ(placement_.reports()[2].allocations(0).allocations_size(), 2);
  ASSERT_TRUE(Eventually([this] { return node_->view().reports_rejected == 1; }));
  EXPECT_EQ(refusal(), "") << "the tracker goes on";
  Tell(7);
  const auto held = [this] { return node_->view().audit->report.holdings.size(); };
  EXPECT_TRUE(Eventually([&] { return held() == 0; })) << "it was refused";
  Tell(8);
  EXPECT_TRUE(Eventually([&] { return held() == 1; }));
}

TEST_F(HealUplinkTest, ARefusedAllocationDoesNotHinderOthers) {  // T-262
  constexpr char kThird[] = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";
  Welcome(0);
  EXPECT_THAT(Reported({{kPinnedGuest, 7}, {kThird, 3}}), IsEmpty())
      << "there are no providers yet";
  EXPECT_THAT(Reported({{kPinnedGuest, 7}, {kThird, 3}}), ElementsAre(kPinnedGuest, kThird));
  EXPECT_THAT(Reported({{kPinnedGuest, 7}, {kThird, 3}}), ElementsAre(kPinnedGuest));
  EXPECT_THAT(Reported({{kPinnedGuest, 7}, {kThird, 3}}), ElementsAre(kThird));  // T-262
  EXPECT_THAT(Reported({{kPinnedGuest, 7}, {kThird, 4}}), ElementsAre(kThird))
      << "what was refused is not sent again with each change";
  EXPECT_THAT(Reported({{kPinnedGuest, 8}, {kThird, 4}}), ElementsAre(kPinnedGuest));
  Welcome(node_->view().sequence);
  EXPECT_THAT(Reported({{kPinnedGuest, 8}, {kThird, 4}}), ElementsAre(kPinnedGuest, kThird))
      << "a new session tries everything again";
}

}  // namespace
}  // namespace berth::tracker
