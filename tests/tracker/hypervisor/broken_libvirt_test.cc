// Functions of libvirt that fail: what they concern is left out or as it was, and the pass goes on.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libvirt/libvirt.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/hypervisor/observe.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kInterval = absl::Seconds(60);

// What the functions at the end of this file do wrong.
std::atomic<const char*> fleeting_guest = "";    // disappears whenever its definition is asked for
std::atomic<const char*> garbled_document = "";  // is not XML; the name of a guest or device
std::atomic<int> definition_milliseconds = 0;    // how long libvirt takes for a definition
std::atomic<const char*> failing_call = "";      // the name of the function that fails

// Whether the function fails now. If it does, leaves an error of libvirt.
bool Fails(virConnectPtr connection, absl::string_view call) {
  if (call != failing_call.load()) return false;
  (void)virDomainLookupByName(connection, "none");
  return true;
}
// The callback for balloons that was registered last.
std::atomic<virConnectDomainEventBalloonChangeCallback> on_balloon = nullptr;
std::atomic<void*> on_balloon_opaque = nullptr;

class BrokenLibvirt : public testing::Test {
 protected:
  ~BrokenLibvirt() override {
    fleeting_guest = "";
    garbled_document = "";
    definition_milliseconds = 0;
    failing_call = "";
  }

  static Observer::Surroundings Surroundings() {
    Observer::Surroundings surroundings;
    surroundings.state_path = "/tmp";
    return surroundings;
  }
  // After nine intervals, the sweep has read everything again.
  Facts Observe(int intervals = 0) {
    now_ += absl::ToChronoNanoseconds(intervals * kInterval);
    const absl::StatusOr<Facts> facts = observer_.Observe(now_, absl::UnixEpoch());
    EXPECT_TRUE(facts.ok()) << facts.status();
    return facts.value_or(Facts());
  }
  int64_t DefinitionsRead() { return hypervisor_.call_counts()["virDomainGetXMLDesc"]; }

  HypervisorEventLoop loop_;
  DeadlinePool pool_{DeadlinePool::Options()};
  std::atomic<int> listened_ = 0;
  Hypervisor hypervisor_{{"test://" + TestDataPath("three_guests.xml")},
                         &pool_,
                         [this](const HypervisorEvent&) { ++listened_; }};
  Observer observer_{NodeConfiguration(), Surroundings(), &hypervisor_};
  MonotonicTime now_{};
};

TEST_F(BrokenLibvirt, AMonitorThatFailsDoesNotEndThePass) {
  NodeConfiguration configuration;
  configuration.monitors = {"virt_driver"};
  observer_.Configure(configuration);
  const Facts facts = Observe();
  EXPECT_EQ(facts.guests.size(), 3u);                                              // T-103
  EXPECT_TRUE(facts.metrics.empty());                                              // T-103
  EXPECT_THAT(facts.warnings, ElementsAre(HasSubstr("monitor cpu.virt_driver")));  // T-103
  EXPECT_FALSE(facts.degraded);  // T-103: a warning, no more
}

TEST_F(BrokenLibvirt, EachCallHasItsFailureRule) {
  const auto observe = [this] {
    Hypervisor hypervisor({"test://" + TestDataPath("three_guests.xml")}, &pool_,
                          [](const HypervisorEvent&) {});
    return Observer(NodeConfiguration(), Surroundings(), &hypervisor)
        .Observe(now_, absl::UnixEpoch());
  };
  for (const char* const call :
       {"virConnectGetCapabilities", "virNodeGetInfo", "virNodeGetCPUMap", "virConnectGetType",
        "virConnectGetVersion", "virConnectGetLibVersion", "virConnectGetAllDomainStats"}) {
    failing_call = call;
    EXPECT_FALSE(observe().ok()) << call;  // T-389
    failing_call = "";
    EXPECT_TRUE(observe().ok()) << call;  // T-389
  }
  failing_call = "virConnectListAllNodeDevices";
  const absl::StatusOr<Facts> facts = observe();
  ASSERT_TRUE(facts.ok()) << facts.status();                              // T-389
  EXPECT_TRUE(facts->pci_devices.empty());                                // T-389
  EXPECT_THAT(facts->warnings, testing::Contains(HasSubstr("devices")));  // T-389
}

TEST_F(BrokenLibvirt, AGuestThatDisappearsIsLeftOut) {
  fleeting_guest = "db";
  const Facts facts = Observe();
  ASSERT_EQ(facts.guests.size(), 2u);  // T-391
  EXPECT_EQ(facts.guests[0].name, "web");
  EXPECT_EQ(facts.guests[1].name, "off");
  EXPECT_THAT(facts.warnings, ElementsAre());
}

TEST_F(BrokenLibvirt, ADocumentThatIsNotXmlDoesNotReplaceTheLastOne) {
  const Facts before = Observe();
  ASSERT_EQ(before.pci_devices.size(), 2u);
  for (const char* const name : {"web", "pci_0000_3b_00_0"}) {
    garbled_document = name;
    for (const int intervals : {9, 0}) {
      const Facts facts = Observe(intervals);
      EXPECT_TRUE(facts.degraded) << name;  // T-61
      EXPECT_THAT(facts.warnings, ElementsAre(HasSubstr("not")));
      EXPECT_EQ(facts.guests[0].vcpus, before.guests[0].vcpus);
      EXPECT_EQ(facts.guests[0].memory_max_mib, before.guests[0].memory_max_mib);
      EXPECT_EQ(facts.pci_devices, before.pci_devices);
    }
    garbled_document = "";
    EXPECT_FALSE(Observe().degraded);  // the next pass tried again
  }
}

TEST_F(BrokenLibvirt, AGuestOfWhichNothingIsKnownIsReadInEveryPass) {
  garbled_document = "web";
  for (int pass = 0; pass < 2; ++pass) {
    const Facts facts = Observe();
    EXPECT_TRUE(facts.degraded);
    EXPECT_EQ(facts.guests[0].vcpus, std::nullopt);
    EXPECT_EQ(facts.vcpus_used, 2);  // T-78: one for this guest
  }
  garbled_document = "";
  EXPECT_EQ(Observe().vcpus_used, 3);
}

TEST_F(BrokenLibvirt, ABalloonIsReadByTheNextPassAndRequestsNone) {
  Observe();
  const int64_t read = DefinitionsRead();
  const std::vector<ListedGuest> guests = *hypervisor_.Guests();
  ASSERT_NE(on_balloon.load(), nullptr);
  on_balloon.load()(nullptr, static_cast<virDomainPtr>(guests[0].handle.get()), 1024,
                    on_balloon_opaque);
  EXPECT_EQ(listened_, 0);
  Observe();
  EXPECT_EQ(DefinitionsRead(), read + 1);  // T-80
}

// Many guests on a slow host: all definitions together take longer than one call may.
TEST_F(BrokenLibvirt, ASlowHostIsNotTakenForOneThatHangs) {
  constexpr int kGuests = 350;
  const virConnectPtr world = virConnectOpen("test:///default");
  std::vector<virDomainPtr> guests;
  for (int i = 0; i < kGuests; ++i) {
    const std::string xml =
        absl::StrCat("<domain type='test'><name>slow", i,
                     "</name><memory>65536</memory><os><type>hvm</type></os></domain>");
    guests.push_back(virDomainDefineXML(world, xml.c_str()));
    ASSERT_NE(guests.back(), nullptr);
  }
  {
    Hypervisor hypervisor({"test:///default", absl::Seconds(3)}, &pool_,
                          [](const HypervisorEvent&) {});
    Observer observer(NodeConfiguration(), Surroundings(), &hypervisor);
    definition_milliseconds = 10;
    const absl::StatusOr<Facts> facts = observer.Observe(now_, absl::UnixEpoch());
    ASSERT_TRUE(facts.ok()) << facts.status();  // T-70: the deadline is one of each call
    EXPECT_EQ(facts->guests.size(), kGuests + 1u);
    EXPECT_FALSE(facts->degraded);
  }
  for (const virDomainPtr guest : guests) {
    EXPECT_EQ(virDomainUndefine(guest), 0);
    virDomainFree(guest);
  }
  virConnectClose(world);
}

// libvirt's own function, which a function below replaces.
template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace berth::tracker

using berth::tracker::Real;

// The program's own definitions take the place of libvirt's.
extern "C" int virNodeGetCPUStats(virConnectPtr /*connection*/, int /*cpu*/,
                                  virNodeCPUStatsPtr /*params*/, int* /*count*/,
                                  unsigned /*flags*/) {
  return -1;
}

extern "C" char* virDomainGetXMLDesc(virDomainPtr guest, unsigned flags) {
  const absl::string_view name = virDomainGetName(guest);
  if (name == berth::tracker::fleeting_guest.load()) {
    // Leaves libvirt's error for a guest that does not exist.
    (void)virDomainLookupByName(virDomainGetConnect(guest), "none");
    return nullptr;
  }
  if (name == berth::tracker::garbled_document.load()) return strdup("garbled");
  const std::chrono::milliseconds slow(berth::tracker::definition_milliseconds);
  if (slow.count() > 0) std::this_thread::sleep_for(slow);
  return Real<decltype(virDomainGetXMLDesc)>("virDomainGetXMLDesc")(guest, flags);
}

extern "C" char* virNodeDeviceGetXMLDesc(virNodeDevicePtr device, unsigned flags) {
  if (absl::string_view(virNodeDeviceGetName(device)) == berth::tracker::garbled_document.load()) {
    return strdup("garbled");
  }
  return Real<decltype(virNodeDeviceGetXMLDesc)>("virNodeDeviceGetXMLDesc")(device, flags);
}

extern "C" int virConnectDomainEventRegisterAny(virConnectPtr connection, virDomainPtr guest,
                                                int event,
                                                virConnectDomainEventGenericCallback callback,
                                                void* opaque, virFreeCallback free) {
  if (event == VIR_DOMAIN_EVENT_ID_BALLOON_CHANGE) {
    berth::tracker::on_balloon = reinterpret_cast<virConnectDomainEventBalloonChangeCallback>(
        reinterpret_cast<void (*)()>(callback));  // the type of any function, for the compiler
    berth::tracker::on_balloon_opaque = opaque;
  }
  return Real<decltype(virConnectDomainEventRegisterAny)>("virConnectDomainEventRegisterAny")(
      connection, guest, event, callback, opaque, free);
}

// A function with a connection and further arguments, which fails with `error`.
#define BERTH_FAILING(result, name, error, declared, passed)    \
  extern "C" result name declared {                             \
    if (berth::tracker::Fails(connection, #name)) return error; \
    return Real<decltype(name)>(#name) passed;                  \
  }
BERTH_FAILING(char*, virConnectGetCapabilities, nullptr, (virConnectPtr connection), (connection))
BERTH_FAILING(const char*, virConnectGetType, nullptr, (virConnectPtr connection), (connection))
BERTH_FAILING(int, virConnectGetVersion, -1, (virConnectPtr connection, unsigned long* version),
              (connection, version))
BERTH_FAILING(int, virConnectGetLibVersion, -1, (virConnectPtr connection, unsigned long* version),
              (connection, version))
BERTH_FAILING(int, virNodeGetInfo, -1, (virConnectPtr connection, virNodeInfoPtr info),
              (connection, info))
BERTH_FAILING(int, virNodeGetCPUMap, -1,
              (virConnectPtr connection, unsigned char** map, unsigned* online, unsigned flags),
              (connection, map, online, flags))
BERTH_FAILING(int, virConnectGetAllDomainStats, -1,
              (virConnectPtr connection, unsigned groups, virDomainStatsRecordPtr** records,
               unsigned flags),
              (connection, groups, records, flags))
BERTH_FAILING(int, virConnectListAllNodeDevices, -1,
              (virConnectPtr connection, virNodeDevicePtr** devices, unsigned flags),
              (connection, devices, flags))
