// Reports that also say what consumers shall hold, against a placement that does as the test wishes.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/account/sample_records.h"
#include "tests/tracker/uplink/fixture.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using Fate = FakePlacement::Fate;

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
    KnownProvider root{uuid_, "n1", "", 5, {{"VCPU", {3, 0, 1, 3, 1, 4.0}}}, {"OWNER_NOVA"}};
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

// A node with one PCI device that placement knows, and a guest that has it.
class HealUplinkTest : public UplinkTest {
 protected:
  HealUplinkTest() {
    NodeConfiguration configuration = node_->options().configuration;
    configuration.pci_report_in_placement = true;
    node_->Configure(configuration);
    EXPECT_EQ(Pass().result, PassOutcome::Result::kComplete);
  }

  // Lets the node have the device, and placement the consumer in this generation.
  void Tell(int64_t generation) {
    node_->ChangeRecords(
        [&](Records* records, NodeAccount* account) {
          NodeResources resources = account->resources();
          PciDevice device;
          device.address = "0000:05:00.0";
          device.vendor_id = "8086";
          device.product_id = "0443";
          device.dev_type = "type-PCI";
          resources.devices = {device};
          resources.device_specs = *DeviceSpecs::Parse({R"({"vendor_id": "8086"})"}, {});
          account->SetResources(resources);
          Instance owner = MakeInstance(kPinnedGuest, {"h", uuid_}, MakeFlavor("f", 1, 512, 1));
          owner.assigned.devices = {device.address};
          account->PutInstance(owner);
          records->allocations = {{uuid_, kPinnedGuest, "", {{"VCPU", 1}}, "INSTANCE", generation}};
          return true;
        },
        std::chrono::steady_clock::now());
    uplink_->Notify();
  }

  FakePlacement placement_;
  std::unique_ptr<Uplink> uplink_;
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
  EXPECT_TRUE(node_->view().audit->report.holdings.empty()) << "it was refused";
  Tell(8);
  EXPECT_EQ(node_->view().audit->report.holdings.size(), 1u);
}

}  // namespace
}  // namespace berth::tracker
