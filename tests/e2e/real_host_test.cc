// Real guests that start, stop and die while the records say otherwise: at every quiet moment the
// account, virsh and the ledger agree.
#include "tests/e2e/real_host.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "placement/ground/uuid.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;

class RealHostTest : public RealHost {
 protected:
  std::string Stray(const Size& size) {
    std::string uuid = placement::Uuid::Random().ToString();
    StartGuest(uuid, size);
    return uuid;
  }
  void SetState(const std::string& instance, const std::string& state) {
    pb::Instance record = Get(instance);
    record.set_vm_state(state);
    Store(record);
  }
};

TEST_F(RealHostTest, AccountVirshAndLedgerAgreeWhateverGuestsDo) {
  StartTracker({});
  const std::string stray = Stray({2, 24});
  ExpectAgreement("a guest without a record starts");
  const std::string first = Build({1, 32}).uuid();
  const std::string second = Build({2, 16}).uuid();
  ExpectAgreement("two instances are built");

  Virsh({"destroy", first});
  ExpectAgreement("a guest is stopped, and its record says active");
  KillGuest(second);
  ExpectAgreement("a guest is killed, and its record says active");
  StartGuest(first, {1, 32});
  SetState(first, "stopped");
  ExpectAgreement("a guest runs, and its record says stopped");
  StartGuest(second, {1, 24});
  ExpectAgreement("a guest runs with another size than its record says");

  Release(first);
  ExpectAgreement("a guest runs, is recorded, and has no allocations");
  DeleteRecord(first);
  ExpectAgreement("a guest runs, and its record is deleted");
  SetState(second, "shelved_offloaded");
  ExpectAgreement("a guest runs, holds its allocations, and its record says that it is nowhere");
  DeleteRecord(second);
  ExpectAgreement("a guest runs and holds its allocations, and its record is deleted");
  Virsh({"suspend", stray});
  ExpectAgreement("a guest is paused");

  KillTracker();
  KillGuest(first);
  Virsh({"destroy", stray});
  Release(second);
  const std::string late = Stray({1, 16});
  RestartTracker();
  ExpectAgreement("all of this happens while there is no tracker");  // T-399
  EXPECT_EQ(RunningGuests().size(), 2u);
}

// The address of a PCI device that libvirt names like `pci_0000_00_05_0`.
std::string AddressOf(const std::string& libvirt_name) {
  const std::vector<std::string> parts = absl::StrSplit(libvirt_name, '_');
  if (parts.size() != 5) return "";
  return absl::Substitute("$0:$1:$2.$3", parts[1], parts[2], parts[3], parts[4]);
}

// Two instances want the only dedicated CPU and the only device for guests.
class RealDeviceTest : public RealHostTest {
 protected:
  void StartWithOneDevice() {
    // A new daemon lists its devices a little later.
    ASSERT_TRUE(Eventually([this] { return !ListedDevices().empty(); }));
    address_ = AddressOf(*ListedDevices().rbegin());
    cpu_ = static_cast<int>(std::thread::hardware_concurrency()) - 1;
    StartTracker({absl::StrCat("--cpu-dedicated-set=", cpu_),
                  absl::Substitute(R"(--pci-device-spec={"address": "$0"})", address_)});
  }
  std::set<std::string> ListedDevices() {
    const std::string listed = Virsh({"nodedev-list", "--cap", "pci"});
    return absl::StrSplit(listed, '\n', absl::SkipWhitespace());
  }
  pb::PciDevice Device() {
    const pb::Node node = Node();
    for (const pb::PciDevice& device : node.facts().pci_devices()) {
      if (device.address() == address_) return device;
    }
    ADD_FAILURE() << "the node has no device " << address_;
    return pb::PciDevice();
  }
  pb::Instance CreateRich() {
    pb::Instance instance = Create({1, 32});
    pb::GuestCell& cell = *instance.add_numa_cells();
    cell.add_pinned_cpus(0);
    cell.set_memory_mib(32);
    cell.set_cpu_policy("dedicated");
    pb::PciRequest& request = *instance.add_pci_requests();
    request.set_request_id(placement::Uuid::Random().ToString());
    request.set_count(1);
    auto& properties = *request.add_alternatives()->mutable_properties();
    properties["vendor_id"] = Device().vendor_id();
    properties["product_id"] = Device().product_id();
    return Store(instance);
  }
  void ExpectGranted(const pb::Instance& instance) {
    Grant(instance);
    const pb::Instance record = Get(instance.uuid());
    ASSERT_EQ(record.pci_devices_size(), 1);
    EXPECT_EQ(record.pci_devices(0).address(), address_);
    ASSERT_EQ(record.numa_cells_size(), 1);
    EXPECT_EQ(record.numa_cells(0).pinning().at(0), cpu_);
  }
  // Defines a guest with the device; the guest does not run.
  void AttachDevice(const std::string& uuid) {
    const std::vector<std::string> parts = absl::StrSplit(address_, absl::ByAnyChar(":."));
    DefineGuest(uuid, absl::Substitute("<hostdev mode='subsystem' type='pci' managed='no'><source>"
                                       "<address domain='0x$0' bus='0x$1' slot='0x$2' "
                                       "function='0x$3'/></source></hostdev>",
                                       parts[0], parts[1], parts[2], parts[3]));
  }
  bool HasConflict() {
    const pb::Node node = Node();
    return std::any_of(node.findings().begin(), node.findings().end(), [&](const auto& finding) {
      return finding.kind() == pb::FINDING_KIND_DEVICE_CONFLICT && finding.subject() == address_;
    });
  }

  std::string address_;
  int cpu_ = 0;
};

TEST_F(RealDeviceTest, PinsAndDevicesAreThoseOfLibvirtAndHaveOneOwner) {
  ASSERT_NO_FATAL_FAILURE(StartWithOneDevice());
  EXPECT_TRUE(Eventually([this] {
    std::set<std::string> devices;
    const pb::Node node = Node();
    for (const pb::PciDevice& device : node.facts().pci_devices()) {
      devices.insert(device.libvirt_name());
    }
    return devices == ListedDevices();
  }));

  const pb::Instance first = CreateRich();
  const pb::Instance rival = CreateRich();
  ExpectGranted(first);
  StartGuest(first.uuid(), {1, 32}, absl::StrCat(cpu_));
  ExpectAgreement("a guest runs on its own CPU");
  ExpectRefused(rival);  // T-395
  Virsh({"destroy", first.uuid()});
  ExpectAgreement("the guest is stopped, and its record says active");
  ExpectRefused(rival);  // T-395

  KillTracker();
  Delete(first.uuid());
  RestartTracker();
  ExpectAgreement("the instance is deleted while there is no tracker");
  ExpectGranted(rival);  // T-350
  StartGuest(rival.uuid(), {1, 32}, absl::StrCat(cpu_));
  ExpectAgreement("the other guest runs on this CPU");
  Virsh({"destroy", rival.uuid()});
  Delete(rival.uuid());

  const pb::Instance last = CreateRich();
  const std::string stray = placement::Uuid::Random().ToString();
  AttachDevice(stray);
  EXPECT_TRUE(Eventually([this] { return HasConflict(); }));  // T-256
  ExpectRefused(last);                                        // T-256
  Virsh({"undefine", stray});
  EXPECT_TRUE(Eventually([this] { return !HasConflict(); }));
  ExpectGranted(last);
}

}  // namespace
}  // namespace berth::e2e
