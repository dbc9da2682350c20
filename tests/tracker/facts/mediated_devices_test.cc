// Virtual GPUs in libvirt's documents. The documents are written after libvirt's description of
// them: no machine with such a device was at hand.
#include "tracker/facts/mediated_devices.h"

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/facts/test_data.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Parses the documents of a file, which lines of dashes separate, and leaves out those that are not
// XML.
std::vector<NodeDevice> ParseAll(const std::string& file) {
  std::vector<NodeDevice> devices;
  const std::string text = TestData(file);
  for (const absl::string_view document : absl::StrSplit(text, "---\n")) {
    absl::StatusOr<NodeDevice> device = ParseNodeDevice(document);
    if (device.ok()) devices.push_back(*std::move(device));
  }
  return devices;
}

std::vector<MediatedParent> FindIn(const std::vector<NodeDevice>& devices) {
  std::vector<const NodeDevice*> all;
  for (const NodeDevice& device : devices) all.push_back(&device);
  return FindMediatedParents(all);
}

TEST(MediatedDevices, BelongToTheirPhysicalDevice) {
  EXPECT_THAT(
      FindIn(ParseAll("node_devices_mediated.txt")),
      ElementsAre(MediatedParent{"0000:05:00.0", {}, {{"nvidia-64", 4}}},
                  MediatedParent{
                      "0000:84:00.0", {{"nvidia-63", 2}}, {{"nvidia-63", 6}, {"nvidia-64", 0}}}));
  EXPECT_THAT(FindIn(ParseAll("node_devices_sriov.txt")), IsEmpty());
}

TEST(MediatedDevices, WithoutTheirPhysicalDeviceDoNotCount) {
  std::vector<NodeDevice> devices = ParseAll("node_devices_mediated.txt");
  devices.erase(devices.begin());
  EXPECT_THAT(FindIn(devices), ElementsAre(MediatedParent{"0000:05:00.0", {}, {{"nvidia-64", 4}}}));
}

}  // namespace
}  // namespace berth::tracker
