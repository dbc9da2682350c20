// The real libvirt with its built-in test driver: guests, devices, events, calls counted.
#include "tracker/hypervisor/hypervisor.h"

#include <libvirt/libvirt.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tracker/facts/test_data.h"
#include "tests/tracker/hypervisor/event_inbox.h"
#include "tracker/audit/audit_keys.h"
#include "tracker/hypervisor/observe.h"

namespace berth::tracker {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kInterval = absl::Seconds(60);

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

using Calls = std::map<std::string, int64_t>;

// The calls of libvirt that were made since they were `before`.
Calls Since(const Calls& before, const Hypervisor& hypervisor) {
  Calls since = hypervisor.call_counts();
  for (const auto& [name, count] : before) {
    if ((since[name] -= count) == 0) since.erase(name);
  }
  return since;
}

// A second connection to the default world of libvirt's test driver, which all connections of one
// process share.
class DefaultWorld {
 public:
  DefaultWorld() : connection_(virConnectOpen("test:///default")) {}
  ~DefaultWorld() {
    for (const virDomainPtr guest : guests_) {
      EXPECT_EQ(virDomainUndefine(guest), 0);
      virDomainFree(guest);
    }
    virConnectClose(connection_);
  }
  DefaultWorld(const DefaultWorld&) = delete;
  DefaultWorld& operator=(const DefaultWorld&) = delete;

  // Defines a guest, or defines it anew, without starting it.
  virDomainPtr Define(int number, int memory_mib) {
    const std::string xml =
        absl::StrCat("<domain type='test'><name>g", number, "</name><uuid>", Uuid(number),
                     "</uuid><memory unit='MiB'>", memory_mib,
                     "</memory><vcpu>1</vcpu><os><type>hvm</type></os></domain>");
    const virDomainPtr guest = virDomainDefineXML(connection_, xml.c_str());
    EXPECT_NE(guest, nullptr);
    if (static_cast<size_t>(number) < guests_.size()) {
      virDomainFree(guest);
    } else {
      guests_.push_back(guest);
    }
    return guests_[number];
  }
  static std::string Uuid(int number) {
    return absl::StrCat("88888888-8888-4888-8888-", 100000000000 + number);
  }
  virConnectPtr get() const { return connection_; }

 private:
  const virConnectPtr connection_;
  std::vector<virDomainPtr> guests_;
};

int64_t MemoryOf(const Facts& facts, const std::string& uuid) {
  for (const Guest& guest : facts.guests) {
    if (guest.uuid.ToString() == uuid) return guest.memory_max_mib;
  }
  return 0;
}

std::string FileUri() { return "test://" + TestDataPath("three_guests.xml"); }

TEST_F(TestDriver, TellsGuests) {
  Hypervisor hypervisor({FileUri()}, &pool_, inbox_.listener());
  ASSERT_TRUE(hypervisor.Connect().ok());
  const auto before = hypervisor.call_counts();
  const std::vector<ListedGuest> guests = *hypervisor.Guests();
  ASSERT_EQ(guests.size(), 3u);
  EXPECT_EQ(guests[0].name, "web");
  EXPECT_EQ(guests[0].state, GuestState::kRunning);
  EXPECT_GE(guests[0].run, 0);
  EXPECT_NE(guests[0].run, guests[1].run);
  EXPECT_EQ(guests[2].state, GuestState::kShutOff);
  EXPECT_EQ(guests[2].run, -1);
  EXPECT_EQ(Since(before, hypervisor), (Calls{{"virConnectGetAllDomainStats", 1}}));
  const DocumentTexts definitions = *hypervisor.Definitions({guests[2], guests[0]});
  ASSERT_EQ(definitions.size(), 2u);
  EXPECT_THAT(*definitions[0], HasSubstr("<name>off</name>"));
  EXPECT_THAT(*definitions[1], HasSubstr("<target dev='vda'"));
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

TEST_F(TestDriver, MakesTheSameFewCallsInEveryUnchangedPass) {
  Hypervisor hypervisor({FileUri()}, &pool_, inbox_.listener());
  Observer observer = MakeObserver(&hypervisor);
  absl::Time now = absl::UnixEpoch();
  ASSERT_TRUE(observer.Observe(now).ok());
  for (int pass = 0; pass < 20; ++pass) {
    const Calls before = hypervisor.call_counts();
    now += kInterval;
    ASSERT_TRUE(observer.Observe(now).ok());
    // Of three guests and two devices, the sweep reads one each.
    EXPECT_EQ(Since(before, hypervisor), (Calls{{"virConnectIsAlive", 1},
                                                {"virNodeGetInfo", 1},
                                                {"virNodeGetCPUMap", 1},
                                                {"virConnectGetAllDomainStats", 1},
                                                {"virDomainGetXMLDesc", 1},
                                                {"virConnectListAllNodeDevices", 1},
                                                {"virNodeDeviceGetXMLDesc", 1}}));  // T-393
  }
}

TEST_F(TestDriver, ReadsADefinitionAgainAfterItsEvent) {
  DefaultWorld world;
  for (int i = 0; i < 20; ++i) world.Define(i, 100);
  Hypervisor hypervisor({"test:///default"}, &pool_, inbox_.listener());
  Observer observer = MakeObserver(&hypervisor);
  EXPECT_EQ(MemoryOf(*observer.Observe(absl::UnixEpoch()), world.Uuid(7)), 100);
  const Calls before = hypervisor.call_counts();
  world.Define(7, 300);
  ASSERT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, world.Uuid(7)));
  // At the same moment, so that the sweep reads nothing.
  EXPECT_EQ(MemoryOf(*observer.Observe(absl::UnixEpoch()), world.Uuid(7)), 300);
  Calls since = Since(before, hypervisor);
  EXPECT_EQ(since["virDomainGetXMLDesc"], 1);
  EXPECT_EQ(since["virConnectGetAllDomainStats"], 1);
}

// For example a node whose identity cannot be stored.
TEST_F(TestDriver, KeepsNoEventsOfPassesThatFailEarly) {
  DefaultWorld world;
  world.Define(0, 100);
  Hypervisor hypervisor({"test:///default"}, &pool_, inbox_.listener());
  Observer observer = MakeObserver(&hypervisor);
  ASSERT_TRUE(observer.Observe(absl::UnixEpoch()).ok());
  world.Define(0, 300);
  ASSERT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, world.Uuid(0)));
  ASSERT_TRUE(observer.NodeName().ok());
  EXPECT_TRUE(hypervisor.TakeChanges().guests.empty());
  // The next good pass still knows what to read.
  EXPECT_EQ(MemoryOf(*observer.Observe(absl::UnixEpoch()), world.Uuid(0)), 300);
}

TEST_F(TestDriver, SendsAllEvents) {
  Hypervisor hypervisor({FileUri()}, &pool_, inbox_.listener());
  ASSERT_TRUE(hypervisor.Connect().ok());
  EXPECT_TRUE(hypervisor.connect_warnings().empty());
}

TEST_F(TestDriver, FindsAChangeWithoutAnEventWithinTenIntervals) {
  DefaultWorld world;
  for (int i = 0; i < 20; ++i) world.Define(i, 100);
  Hypervisor hypervisor({"test:///default"}, &pool_, inbox_.listener());
  Observer observer = MakeObserver(&hypervisor);
  absl::Time now = absl::UnixEpoch();
  for (const int changed : {0, 19, 7}) {
    ASSERT_TRUE(observer.Observe(now).ok());
    ASSERT_EQ(virDomainSetMaxMemory(world.Define(changed, 100), 300 * 1024), 0);
    hypervisor.TakeChanges();  // as if the events of Define had been lost
    int passes = 0;
    do {
      now += kInterval;
      ++passes;
    } while (MemoryOf(*observer.Observe(now), world.Uuid(changed)) != 300 && passes < 20);
    EXPECT_LT(passes, 10) << changed;
  }
}

TEST_F(TestDriver, MeasuresWhatItsMonitorsSay) {
  Hypervisor hypervisor({FileUri()}, &pool_, inbox_.listener());
  EXPECT_TRUE(MakeObserver(&hypervisor).Observe(absl::UnixEpoch())->metrics.empty());
  EXPECT_EQ(hypervisor.call_counts().count("virNodeGetCPUStats"), 0u);
  NodeConfiguration configuration;
  configuration.monitors = {"virt_driver"};
  Observer observer = MakeObserver(&hypervisor, configuration);
  const Facts first = *observer.Observe(absl::UnixEpoch());
  ASSERT_EQ(first.metrics.size(), 10u);  // T-102
  EXPECT_EQ(first.metrics[0].name, "cpu.frequency");
  EXPECT_EQ(first.metrics[0].value, 2400);
  // The test driver's CPU times stand still.
  EXPECT_EQ(observer.Observe(absl::UnixEpoch())->metrics.size(), 5u);  // T-102
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
  EXPECT_EQ(hypervisor.Guests()->size(), 2u);
  EXPECT_EQ(virDomainDestroy(guest), 0);
  EXPECT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, kUuid));
  EXPECT_EQ(hypervisor.Guests()->size(), 1u);
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
