// A PCI device that flavors ask for by an alias: in the claim, in the record, in placement, and
// when it is unplugged although an instance has it.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "placement/ground/uuid.h"
#include "tests/e2e/real_host.h"
#include "tests/e2e/stub_call.h"
#include "tests/processes/identity.h"
#include "tests/processes/own_mounts.h"
#include "tests/processes/unplugged_device.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAlias[] = "nic";
constexpr int64_t kMemoryMib = 32;

// What a consumer holds: amounts by class, by provider.
using Holdings = std::map<std::string, std::map<std::string, int64_t>>;

class AliasHostTest : public RealHost {
 protected:
  // Starts a tracker that offers the last PCI device of this machine, and waits until placement has
  // a provider for the device.
  void StartWithAlias() {
    for (const auto& link : std::filesystem::directory_iterator(kPciDevices)) {
      address_ = std::max(address_, link.path().filename().string());
    }
    vendor_ = IdOf("vendor");
    product_ = IdOf("device");
    class_ = absl::AsciiStrToUpper(absl::StrCat("CUSTOM_PCI_", vendor_, "_", product_));
    StartTracker(
        {absl::Substitute(R"(--pci-device-spec={"address": "$0"})", address_),
         absl::Substitute(R"(--pci-alias={"name": "$0", "vendor_id": "$1", "product_id": "$2"})",
                          kAlias, vendor_, product_),
         "--pci-report-in-placement=true"});
    ASSERT_TRUE(Eventually([this] { return FreeDevices() == 1 && !PoolProvider().empty(); }))
        << tracker_->Log();
  }
  // One of the device's ids, as the kernel shows it: four hexadecimal digits after 0x.
  std::string IdOf(const std::string& name) const {
    std::ifstream file(absl::StrCat(kPciDevices, "/", address_, "/", name));
    std::string line;
    EXPECT_TRUE(std::getline(file, line)) << address_ << " has no " << name;
    return absl::StartsWith(line, "0x") ? line.substr(2) : line;
  }

  // An instance whose flavor asks for a device. `provider`: where placement allocates the device;
  // empty: nobody has said so.
  pb::Instance CreateWithAlias(const std::string& provider) {
    pb::Instance instance = Create({1, kMemoryMib});
    (*instance.mutable_flavor()->mutable_extra_specs())["pci_passthrough:alias"] =
        absl::StrCat(kAlias, ":1");
    pb::PciRequest& request = *instance.add_pci_requests();
    request.set_request_id(placement::Uuid::Random().ToString());
    request.set_alias(kAlias);
    request.set_count(1);
    auto& properties = *request.add_alternatives()->mutable_properties();
    properties["vendor_id"] = vendor_;
    properties["product_id"] = product_;
    if (!provider.empty()) request.add_provider_uuids(provider);
    return Store(instance);
  }
  // Allocates what the instance needs of the node, and the device.
  void AllocateDevice(const pb::Instance& instance, const std::string& provider) {
    Allocate(instance);
    pb::AdjustAllocationsRequest request;
    request.set_consumer_uuid(instance.uuid());
    pb::AllocationAdjustment* const added = request.add_adjustments();
    added->set_provider_uuid(provider);
    (*added->mutable_amounts())[class_] = 1;
    MustCall<pb::AllocationService>(channel_, &pb::AllocationService::Stub::AdjustAllocations,
                                    request);
  }
  Holdings HeldBy(const pb::Instance& instance) {
    pb::GetAllocationsRequest request;
    request.set_consumer_uuid(instance.uuid());
    const pb::GetAllocationsResponse response = MustCall<pb::AllocationService>(
        channel_, &pb::AllocationService::Stub::GetAllocations, request);
    Holdings held;
    for (const pb::ProviderAllocation& row : response.consumer().allocations()) {
      held[row.provider_uuid()].insert(row.resources().begin(), row.resources().end());
    }
    return held;
  }
  Holdings WithDevice(const std::string& provider) const {
    return {{node_, {{"VCPU", 1}, {"MEMORY_MB", kMemoryMib}}}, {provider, {{class_, 1}}}};
  }

  // The only child of the node as placement has it. Without a uuid: the node has no child.
  pb::Provider DeviceProvider() {
    const tracker_pb::GetNodeViewResponse view = View();
    for (const pb::Provider& provider : view.providers()) {
      if (!provider.parent_uuid().empty()) return provider;
    }
    return pb::Provider();
  }
  // What the pools of the account say.
  int FreeDevices() {
    int free = 0;
    const tracker_pb::GetNodeViewResponse view = View();
    for (const pb::PciPool& pool : view.account().pci_pools()) free += pool.count();
    return free;
  }
  std::string PoolProvider() {
    const tracker_pb::GetNodeViewResponse view = View();
    return view.account().pci_pools_size() == 1 ? view.account().pci_pools(0).provider_uuid() : "";
  }
  // The addresses that the record gives to the instance.
  std::set<std::string> DevicesOf(const pb::Instance& instance) {
    std::set<std::string> addresses;
    const pb::Instance record = Get(instance.uuid());
    for (const pb::PciDevice& device : record.pci_devices()) addresses.insert(device.address());
    return addresses;
  }
  // The addresses of all devices of the node in placement's record.
  std::set<std::string> ListedDevices() {
    std::set<std::string> addresses;
    const pb::Node node = Node();
    for (const pb::PciDevice& device : node.facts().pci_devices()) {
      addresses.insert(device.address());
    }
    return addresses;
  }
  // Whether a finding says that the owner has the device, which is gone.
  template <typename Findings>
  bool IsMissedIn(const Findings& findings, const pb::Instance& owner) const {
    return std::any_of(findings.begin(), findings.end(), [&](const pb::Finding& finding) {
      return absl::StrContains(finding.message(), address_) &&
             absl::StrContains(finding.message(), owner.uuid()) &&
             absl::StrContains(finding.message(), "no longer in the host");
    });
  }
  // Whether the tracker and placement's record of the node say so.
  bool IsMissed(const pb::Instance& owner) {
    const tracker_pb::GetNodeViewResponse view = View();
    const pb::Node node = Node();
    return IsMissedIn(view.findings(), owner) && IsMissedIn(node.findings(), owner);
  }
  // Whether neither says so.
  bool IsForgotten(const pb::Instance& owner) {
    const tracker_pb::GetNodeViewResponse view = View();
    const pb::Node node = Node();
    return !IsMissedIn(view.findings(), owner) && !IsMissedIn(node.findings(), owner);
  }
  // Waits, with a pass before each look.
  bool AfterPasses(const std::function<bool()>& holds) {
    return Eventually([&] {
      Audit();
      return holds();
    });
  }

  std::string address_, vendor_, product_;
  std::string class_;  // of the device in placement
};

TEST_F(AliasHostTest, ADeviceIsInTheClaimTheRecordAndPlacement) {
  ASSERT_NO_FATAL_FAILURE(StartWithAlias());
  const pb::Provider provider = DeviceProvider();
  EXPECT_EQ(provider.name(), absl::StrCat("node_", absl::AsciiStrToUpper(address_)));  // T-258
  ASSERT_EQ(provider.inventories().count(class_), 1u);                                 // T-258
  EXPECT_EQ(provider.inventories().at(class_).total(), 1);                             // T-258
  EXPECT_EQ(PoolProvider(), provider.uuid());                                          // T-263

  const pb::Instance first = CreateWithAlias(provider.uuid());
  AllocateDevice(first, provider.uuid());
  tracker_pb::Claim claim;
  const grpc::Status claimed = Claim(first, &claim);
  ASSERT_TRUE(claimed.ok()) << claimed.error_message();
  ASSERT_EQ(claim.pci_devices_size(), 1);
  EXPECT_EQ(claim.pci_devices(0).address(), address_);   // T-155
  EXPECT_THAT(DevicesOf(first), ElementsAre(address_));  // T-155
  EXPECT_EQ(FreeDevices(), 0);                           // T-396
  Audit();
  EXPECT_EQ(HeldBy(first), WithDevice(provider.uuid()));  // T-154, T-262: nothing is missing
  std::vector<std::string> berth = CertificateArguments();
  berth.insert(berth.begin(), BERTH_PROGRAM);
  berth.insert(berth.end(), {"--endpoint", placement_->address(), "node", "devices", "node"});
  const std::string table = tracker::Output(berth);
  EXPECT_THAT(table, HasSubstr(address_));
  EXPECT_THAT(table, HasSubstr(product_));
  ExpectRefused(CreateWithAlias(""));  // T-249, T-395

  Abort(claim);
  EXPECT_EQ(FreeDevices(), 1);                            // T-165, T-254
  EXPECT_TRUE(DevicesOf(first).empty());                  // T-165
  EXPECT_EQ(HeldBy(first), WithDevice(provider.uuid()));  // T-165
  Release(first.uuid());

  // Nobody has allocated the device to the next one.
  const pb::Instance second = CreateWithAlias("");
  Grant(second);
  EXPECT_THAT(DevicesOf(second), ElementsAre(address_));
  EXPECT_TRUE(AfterPasses([&] { return HeldBy(second) == WithDevice(provider.uuid()); }));  // T-262
}

class UnpluggedHostTest : public AliasHostTest {
 protected:
  void SetUp() override {
    if (const absl::Status separate = SeparateMounts(); !separate.ok()) {
      GTEST_SKIP() << "mounting is not permitted: " << separate;
    }
    AliasHostTest::SetUp();
  }
};

TEST_F(UnpluggedHostTest, ADeviceThatIsUnpluggedStaysWithItsOwner) {
  ASSERT_NO_FATAL_FAILURE(StartWithAlias());
  const std::string provider = DeviceProvider().uuid();
  const pb::Instance owner = CreateWithAlias(provider);
  AllocateDevice(owner, provider);
  const grpc::Status claimed = Claim(owner);
  ASSERT_TRUE(claimed.ok()) << claimed.error_message();
  ASSERT_TRUE(AfterPasses([this] { return ListedDevices().count(address_) == 1; }));
  std::set<std::string> others = ListedDevices();
  others.erase(address_);
  const pb::Instance next = CreateWithAlias("");
  {
    const UnpluggedDevice unplugged(address_);
    RestartLibvirt();
    EXPECT_TRUE(AfterPasses([&] { return ListedDevices() == others; }))
        << tracker_->Log();                                     // T-241
    EXPECT_TRUE(AfterPasses([&] { return IsMissed(owner); }));  // T-239
    EXPECT_THAT(DevicesOf(owner), ElementsAre(address_));       // T-239
    EXPECT_EQ(HeldBy(owner), WithDevice(provider));             // T-260
    ExpectRefused(next);                                        // T-396

    KillTracker();
    RestartTracker();
    EXPECT_TRUE(AfterPasses([&] { return IsMissed(owner); }));  // T-238, T-399
    EXPECT_THAT(DevicesOf(owner), ElementsAre(address_));       // T-238
    Delete(owner.uuid());
    EXPECT_TRUE(AfterPasses([&] { return IsForgotten(owner); }));               // T-239
    EXPECT_TRUE(AfterPasses([&] { return DeviceProvider().uuid().empty(); }));  // T-260
    ExpectRefused(next);                                                        // T-239
  }
  RestartLibvirt();
  EXPECT_TRUE(AfterPasses([this] { return FreeDevices() == 1; }));  // T-239
  Grant(next);
  EXPECT_THAT(DevicesOf(next), ElementsAre(address_));  // T-249
}

}  // namespace
}  // namespace berth::e2e
