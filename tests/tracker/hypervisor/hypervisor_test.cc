// The real libvirt with its built-in test driver: guests, devices, events, calls counted.
#include "tracker/hypervisor/hypervisor.h"

#include <libvirt/libvirt.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/facts/test_data.h"
#include "tests/tracker/hypervisor/event_inbox.h"
#include "tracker/audit/audit_keys.h"
#include "tracker/hypervisor/observe.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TestDriver : public testing::Test {
 protected:
  Observer MakeObserver(Hypervisor* hypervisor, const NodeConfiguration& configuration = {}) {
    Observer::Surroundings surroundings;
    surroundings.state_path = "/tmp";
    surroundings.host_address = "127.0.0.1";
    return Observer(configuration, surroundings, hypervisor);
  }

  HypervisorEventLoop loop_;
  DeadlinePool pool_{DeadlinePool::Options()};
  EventInbox inbox_;
};

std::string FileUri() { return "test://" + TestDataPath("three_guests.xml"); }

TEST_F(TestDriver, TellsGuests) {
  Hypervisor hypervisor({FileUri()}, &pool_, inbox_.listener());
  ASSERT_TRUE(hypervisor.Connect().ok());
  const GuestList list = *hypervisor.Guests();
  ASSERT_EQ(list.guests.size(), 3u);
  EXPECT_EQ(list.guests[0].name, "web");
  EXPECT_EQ(list.guests[0].state, GuestState::kRunning);
  EXPECT_EQ(list.guests[0].vcpus, 2);
  EXPECT_EQ(list.guests[0].memory_max_mib, 2048);
  EXPECT_EQ(list.guests[2].state, GuestState::kShutOff);
  EXPECT_THAT(list.guests[0].definition_xml, HasSubstr("<target dev='vda'"));
  // One bulk call; the test driver's bulk form tells states only, so each guest is asked once more.
  EXPECT_EQ(hypervisor.call_counts()["virConnectGetAllDomainStats"], 1);
  EXPECT_EQ(hypervisor.call_counts()["virDomainGetInfo"], 3);
}

TEST_F(TestDriver, IsObserved) {
  Hypervisor hypervisor({FileUri()}, &pool_, inbox_.listener());
  Observer observer = MakeObserver(&hypervisor);
  const absl::StatusOr<Facts> observed = observer.Observe(absl::UnixEpoch());
  ASSERT_TRUE(observed.ok()) << observed.status();
  const Facts& facts = *observed;
  EXPECT_TRUE(VerifyFacts(facts).ok()) << VerifyFacts(facts);  // T-67, T-68
  EXPECT_EQ(facts.hypervisor_type, "TEST");
  EXPECT_EQ(facts.virt_type, "test");
  EXPECT_EQ(facts.vcpus, 3);
  EXPECT_EQ(facts.memory_mib, 65536);
  EXPECT_EQ(facts.vcpus_used, 3);  // T-78: the stopped guest does not count
  ASSERT_TRUE(facts.memory_used_mib.has_value());
  EXPECT_EQ(*facts.memory_used_mib, std::nullopt);  // T-80: not this machine
  EXPECT_EQ(facts.guests[0].memory_max_mib, 2048);
  EXPECT_EQ(facts.cpu_features, std::nullopt);  // T-215
  EXPECT_FALSE(facts.degraded);
  ASSERT_EQ(facts.pci_devices.size(), 2u);
  EXPECT_EQ(facts.pci_devices[0].dev_type, "type-PF");
  EXPECT_EQ(facts.pci_devices[1].parent_address, "0000:3b:00.0");
  EXPECT_GT(*facts.local_disk_gib, 0);
  EXPECT_FALSE(facts.uptime.empty());
  EXPECT_EQ(facts.hypervisor_hostname, *observer.NodeName());  // T-3
}

TEST_F(TestDriver, ReadsLastingThingsOncePerConnection) {  // T-71, T-216
  Hypervisor hypervisor({FileUri()}, &pool_, inbox_.listener());
  Observer observer = MakeObserver(&hypervisor);
  for (int pass = 0; pass < 3; ++pass) ASSERT_TRUE(observer.Observe(absl::UnixEpoch()).ok());
  EXPECT_EQ(hypervisor.call_counts()["virConnectGetCapabilities"], 1);     // T-95
  EXPECT_EQ(hypervisor.call_counts()["virConnectGetHostname"], 1);         // T-21
  EXPECT_EQ(hypervisor.call_counts()["virConnectListAllNodeDevices"], 3);  // T-96
}

TEST_F(TestDriver, RefusesCpusThatTheHostHasNot) {  // T-74
  Hypervisor hypervisor({FileUri()}, &pool_, inbox_.listener());
  NodeConfiguration configuration;
  configuration.cpu_shared_set = CpuSet::Range(0, 9);
  EXPECT_EQ(MakeObserver(&hypervisor, configuration).Observe(absl::UnixEpoch()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(TestDriver, TellsWhenAGuestComesAndGoes) {
  Hypervisor hypervisor({"test:///default"}, &pool_, inbox_.listener());
  ASSERT_TRUE(hypervisor.Connect().ok());
  // Connections to the default world of one process share it.
  const virConnectPtr other = virConnectOpen("test:///default");
  ASSERT_NE(other, nullptr);
  constexpr char kUuid[] = "77777777-7777-4777-8777-777777777777";
  const std::string xml = std::string("<domain type='test'><name>new</name><uuid>") + kUuid +
                          "</uuid><memory>1048576</memory><os><type>hvm</type></os></domain>";
  const virDomainPtr guest = virDomainCreateXML(other, xml.c_str(), 0);
  ASSERT_NE(guest, nullptr);
  EXPECT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, kUuid));
  EXPECT_EQ(hypervisor.Guests()->guests.size(), 2u);
  EXPECT_EQ(virDomainDestroy(guest), 0);
  EXPECT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, kUuid));
  EXPECT_EQ(hypervisor.Guests()->guests.size(), 1u);
  virDomainFree(guest);
  virConnectClose(other);
}

TEST_F(TestDriver, TellsWhenADeviceComes) {  // T-96
  Hypervisor hypervisor({"test:///default"}, &pool_, inbox_.listener());
  ASSERT_TRUE(hypervisor.Connect().ok());
  const virConnectPtr other = virConnectOpen("test:///default");
  ASSERT_NE(other, nullptr);
  const virNodeDevicePtr device = virNodeDeviceCreateXML(
      other,
      "<device><parent>scsi_host1</parent><capability type='scsi_host'><capability type='fc_host'>"
      "<wwnn>2000000012341238</wwnn><wwpn>1000000012341238</wwpn></capability></capability>"
      "</device>",
      0);
  ASSERT_NE(device, nullptr);
  EXPECT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kDevice, virNodeDeviceGetName(device)));
  EXPECT_EQ(virNodeDeviceDestroy(device), 0);
  virNodeDeviceFree(device);
  virConnectClose(other);
}

TEST_F(TestDriver, IsNotReadyWithoutAConnection) {  // T-37
  Hypervisor hypervisor({"test:///nonexistent/file.xml"}, &pool_, inbox_.listener());
  EXPECT_EQ(hypervisor.Connect().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(hypervisor.Guests().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(MakeObserver(&hypervisor).Observe(absl::UnixEpoch()).status().code(),
            absl::StatusCode::kUnavailable);
  Hypervisor remote({"qemu+unix:///system?socket=/nonexistent"}, &pool_, inbox_.listener());
  EXPECT_THAT(std::string(remote.Connect().message()), HasSubstr("/nonexistent"));
}

TEST_F(TestDriver, MakesNoCallAtRest) {
  Hypervisor hypervisor({"test:///default"}, &pool_, inbox_.listener());
  Observer observer = MakeObserver(&hypervisor);
  ASSERT_TRUE(observer.Observe(absl::UnixEpoch()).ok());
  const auto before = hypervisor.call_counts();
  EXPECT_FALSE(inbox_.Wait(HypervisorEvent::Kind::kClosed, "", std::chrono::milliseconds(300)));
  EXPECT_EQ(hypervisor.call_counts(), before);
}

}  // namespace
}  // namespace berth::tracker
