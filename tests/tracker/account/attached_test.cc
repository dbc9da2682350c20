// Devices that guests have, with and without records that say so.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/account/sample_records.h"
#include "tracker/account/account.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A node whose two network devices guests may get.
NodeResources TwoDevices() {
  NodeResources resources;
  resources.device_specs = *DeviceSpecs::Parse({R"({"vendor_id": "8086"})"}, DeviceSpecLimits());
  for (const char* const address : {"0000:81:00.0", "0000:82:00.0"}) {
    PciDevice device;
    device.address = address;
    device.vendor_id = "8086";
    device.product_id = "1533";
    device.dev_type = "type-PCI";
    resources.devices.push_back(device);
  }
  return resources;
}

TEST(NodeAccount, ADeviceThatAGuestHasWithoutARecordIsOfferedToNobody) {
  NodeResources resources = TwoDevices();
  resources.attached = {"0000:81:00.0", "0000:82:00.0", "0000:00:1f.0"};
  NodeAccount account(kHere, resources);
  Instance owner = MakeInstance("a", kHere, MakeFlavor("f", 1, 1, 1));
  owner.assigned.devices = {"0000:82:00.0"};
  account.PutInstance(owner);
  EXPECT_THAT(account.Devices().Pools(), IsEmpty());                  // T-256
  EXPECT_THAT(account.stray_devices(), ElementsAre("0000:81:00.0"));  // T-256
  account.DropInstance("a"_uuid);
  EXPECT_THAT(account.stray_devices(), ElementsAre("0000:81:00.0", "0000:82:00.0"));
  EXPECT_THAT(account.Devices().Pools(), IsEmpty()) << "the guest has it";  // T-140, T-256
  resources.attached.clear();
  account.SetResources(resources);
  EXPECT_THAT(account.Devices().Pools(), SizeIs(2)) << "each device is a pool";
  EXPECT_EQ(account.Rebuilt(), account);  // T-394
}

TEST(NodeAccount, DevicesOfInstancesThatAreGoneAreFreeOnceTheirGuestsAre) {
  NodeResources resources = TwoDevices();
  resources.attached = {"0000:81:00.0"};
  NodeAccount account(kHere, resources);
  Instance owner = MakeInstance("a", kHere, MakeFlavor("f", 1, 1, 1));
  owner.assigned.devices = {"0000:81:00.0", "0000:82:00.0"};
  account.PutInstance(owner);
  ASSERT_THAT(account.Devices().Pools(), IsEmpty());
  account.ReplaceRecords({}, {});  // the records of after a time without the tracker
  ASSERT_THAT(account.Devices().Pools(), SizeIs(1));                                 // T-350
  EXPECT_THAT(account.Devices().Pools()[0].addresses, ElementsAre("0000:82:00.0"));  // T-350
  EXPECT_THAT(account.stray_devices(), ElementsAre("0000:81:00.0"));                 // T-350
}

TEST(NodeAccount, ARecordThatDoesNotCountMayGo) {
  NodeAccount account(kHere, TwoDevices());
  account.PutInstance(MakeInstance("a", kHere, MakeFlavor("f", 2, 1, 1)));
  account.PutInstance(MakeInstance("b", kThere, MakeFlavor("f", 4, 1, 1)));
  const Amounts used = account.used();
  EXPECT_EQ(used.vcpus, 2);  // T-375: another node counts `b`
  account.DropInstance("b"_uuid);
  EXPECT_FALSE(account.DropInstance("nobody"_uuid));
  EXPECT_EQ(account.used(), used);  // T-375
}

}  // namespace
}  // namespace berth::tracker
