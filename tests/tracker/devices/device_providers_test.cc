// What placement is told about PCI devices.
#include "tracker/devices/device_providers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/devices/device_fixture.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StandardNames Names() {
  return {[](absl::string_view name) { return name == "VGPU"; },
          [](absl::string_view name) { return name == "HW_GPU_API_VULKAN"; }};
}

DeviceTable Tracking(const std::vector<std::string>& options,
                     const std::vector<PciDevice>& devices) {
  DeviceTable table(SpecsOf(options));
  table.Sync(devices);
  return table;
}

absl::StatusOr<DeviceProviderTree> Describe(const DeviceTable& table,
                                            const PlacedDeviceProviders& placed = {}) {
  return DescribeDeviceProviders("n1", table, placed, Names());
}

TEST(DeviceProviders, OnePerDeviceOrPerPhysicalFunctionOfFunctions) {  // T-258
  std::vector<PciDevice> devices = CardOf("3b", 3);
  devices.push_back(OneDevice("0000:05:00.0", "type-PCI", "0a54"));
  devices.push_back(OneDevice("0000:06:00.0", "type-PCI", "0443"));
  const auto tree = Describe(Tracking(
      {R"([{"product_id": "154c", "resource_class": "my nic", "traits": "hw_gpu_api_vulkan, Fast-1"},
           {"product_id": "0443", "resource_class": "vgpu", "live_migratable": "yes"},
           {"product_id": "0a54"}])"},
      devices));
  ASSERT_TRUE(tree.ok()) << tree.status();
  ASSERT_EQ(tree->providers.size(), 3u);
  EXPECT_EQ(tree->providers[0].name, "n1_0000:05:00.0");
  EXPECT_EQ(tree->providers[0].resource_class, "CUSTOM_PCI_8086_0A54");  // T-258
  EXPECT_EQ(tree->providers[1].resource_class, "VGPU");
  EXPECT_EQ(tree->providers[1].traits.count("HW_PCI_LIVE_MIGRATABLE"), 1u);
  EXPECT_EQ(tree->providers[2].name, "n1_0000:3B:00.0");  // T-258: upper case, of the PF
  EXPECT_EQ(tree->providers[2].resource_class, "CUSTOM_MY_NIC");
  EXPECT_EQ(tree->providers[2].total, 3);
  EXPECT_EQ(tree->providers[2].reserved, 0);
  EXPECT_THAT(tree->providers[2].traits, ElementsAre("COMPUTE_MANAGED_PCI_DEVICE", "CUSTOM_FAST_1",
                                                     "HW_GPU_API_VULKAN", "OWNER_NOVA"));  // T-258
}

TEST(DeviceProviders, NotOfNetworks) {  // T-258
  const auto tree =
      Describe(Tracking({R"({"product_id": "154c", "physical_network": null})"}, CardOf("3b", 3)));
  EXPECT_THAT(tree->providers, IsEmpty());
}

TEST(DeviceProviders, WrongConfigurations) {  // T-259
  const std::vector<std::vector<std::string>> cases = {
      {R"({"devname": "ens1"})"},
      {R"({"vendor_id": "8086"})"},  // the PF and its VFs
      {R"({"address": "*:*:*.0", "product_id": "154c", "resource_class": "a"})",
       R"({"product_id": "154c", "resource_class": "b"})"},
      {R"({"address": "*:*:*.0", "product_id": "154c", "traits": "a"})",
       R"({"product_id": "154c"})"}};
  for (const std::vector<std::string>& options : cases) {
    const absl::Status refused = Describe(Tracking(options, CardOf("3b", 2))).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << options[0];
    EXPECT_THAT(std::string(refused.message()), HasSubstr("device_spec["));
  }
  EXPECT_FALSE(CheckDeviceReporting(false, true).ok());
  EXPECT_TRUE(CheckDeviceReporting(false, false).ok());
  EXPECT_TRUE(CheckDeviceReporting(true, true).ok());
}

TEST(DeviceProviders, DevicesThatAreGone) {  // T-260
  const DeviceTable table = Tracking({R"({"product_id": "154c"})"}, CardOf("3b", 2));
  const auto tree = Describe(table, {{"0000:3b:00.0", {.used = 3}},
                                     {"0000:04:00.0", {.used = 0}},
                                     {"0000:05:00.0", {.used = 1}}});
  EXPECT_EQ(tree->providers[0].total, 3);  // T-260: kept at what is used
  EXPECT_THAT(tree->removed, ElementsAre("0000:04:00.0", "0000:05:00.0"));
  EXPECT_THAT(tree->problems, ElementsAre(HasSubstr("0000:05:00.0")));  // T-260
}

TEST(DeviceProviders, DevicesForOneUse) {  // T-261
  const std::vector<PciDevice> listed = {OneDevice("0000:05:00.0", "type-PCI", "0443")};
  DeviceTable table = Tracking({R"({"product_id": "0443", "one_time_use": "true"})"}, listed);
  ASSERT_TRUE(table.Claim("i"_uuid, {Asking(1, {})}, {}).ok());
  EXPECT_EQ(Describe(table)->providers[0].reserved, 0);
  EXPECT_EQ(Describe(table)->providers[0].traits.count("HW_PCI_ONE_TIME_USE"), 1u);
  table = Allocated(table, listed, "i"_uuid);
  EXPECT_EQ(Describe(table)->providers[0].reserved, 1);  // T-261
  table = Freed(table, listed, "i"_uuid);
  const PlacedDeviceProviders placed = {{"0000:05:00.0", {.used = 0, .reserved = 1}}};
  EXPECT_EQ(Describe(table, placed)->providers[0].reserved, 1);  // T-261: never lowered
}

TEST(DeviceProviders, NothingCanBeAllocatedOfAUsedDeviceForOneUse) {
  const std::vector<PciDevice> listed = {OneDevice("0000:05:00.0", "type-PCI", "0443")};
  DeviceTable table = Tracking({R"({"product_id": "0443", "one_time_use": "true"})"}, listed);
  ASSERT_TRUE(table.Claim("i"_uuid, {Asking(1, {})}, {}).ok());
  EXPECT_EQ(MissingDeviceAllocations(*Describe(table), table, {{"i"_uuid, {}}}, {}).size(), 1u);
  table = Allocated(table, listed, "i"_uuid);
  EXPECT_THAT(MissingDeviceAllocations(*Describe(table), table, {{"i"_uuid, {}}}, {}),
              IsEmpty());  // T-262: all of it is reserved
}

TEST(DeviceProviders, AllocationsThatAreMissing) {  // T-262
  DeviceTable table = Tracking({R"({"product_id": "154c"})"}, CardOf("3b", 4));
  for (const char* const instance : {"has", "less", "absent", "resizing"}) {
    ASSERT_TRUE(table.Claim(ShortUuid(instance), {Asking(1, {})}, {}).ok());
  }
  const auto tree = Describe(table);
  EXPECT_EQ(MissingDeviceAllocations(
                *tree, table,
                {{"has"_uuid, {{"0000:3b:00.0", 1}}}, {"less"_uuid, {}}, {"resizing"_uuid, {}}},
                {"resizing"_uuid}),
            (std::vector<DeviceAllocation>{{"less"_uuid, "0000:3b:00.0", 1}}));
}

}  // namespace
}  // namespace berth::tracker
