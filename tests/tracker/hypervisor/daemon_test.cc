// A private libvirt daemon with QEMU under emulation: what the tracker sees is what virsh and lscpu
// say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/processes/libvirt_daemon.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/hypervisor/event_inbox.h"
#include "tracker/audit/audit.h"
#include "tracker/audit/audit_keys.h"
#include "tracker/audit/trait_tables.h"
#include "tracker/audit/traits.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/hypervisor/hypervisor.h"
#include "tracker/hypervisor/observe.h"

namespace berth::tracker {
namespace {

using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kGuest[] = "99999999-9999-4999-8999-999999999999";
constexpr char kNode[] = "6695eb01-f6a4-8304-79aa-97f2502e193f";

class PrivateDaemon : public testing::Test {
 protected:
  // One daemon for all tests.
  static void SetUpTestSuite() { daemon_ = LibvirtDaemon::Start(&why_).release(); }
  static void TearDownTestSuite() {
    delete daemon_;
    daemon_ = nullptr;
  }
  static LibvirtDaemon* Daemon() { return daemon_; }

  void SetUp() override {
    if (Daemon() == nullptr) GTEST_SKIP() << "no private libvirt daemon: " << why_;
    hypervisor_ = std::make_unique<Hypervisor>(Hypervisor::Options{Daemon()->QemuUri()}, &pool_,
                                               inbox_.listener());
    Observer::Surroundings surroundings;
    surroundings.state_path = "/tmp";
    surroundings.host_address = "127.0.0.1";
    observer_ = std::make_unique<Observer>(NodeConfiguration(), surroundings, hypervisor_.get());
  }

  Facts Observe() {
    absl::StatusOr<Facts> facts = observer_->Observe(BootClock::now(), absl::Now());
    EXPECT_TRUE(facts.ok()) << facts.status();
    return facts.value_or(Facts());
  }

  static std::string WriteFile(const std::string& name, const std::string& text) {
    const std::string path = Daemon()->directory() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  static std::string Virsh(std::vector<std::string> arguments) {
    std::vector<std::string> command = {"virsh", "-q", "-c", Daemon()->QemuUri()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return Output(command);
  }

  static inline LibvirtDaemon* daemon_ = nullptr;
  static inline std::string why_;
  HypervisorEventLoop loop_;
  DeadlinePool pool_{DeadlinePool::Options()};
  EventInbox inbox_;
  std::unique_ptr<Hypervisor> hypervisor_;
  std::unique_ptr<Observer> observer_;
};

std::set<std::string> Words(const std::string& text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
}

// The value of one line of lscpu.
std::string CpuLine(const std::string& name) {
  const std::string text = Output({"lscpu"});
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(field.first) == name) {
      return std::string(absl::StripAsciiWhitespace(field.second));
    }
  }
  return "";
}

TEST_F(PrivateDaemon, ShowsTheDevicesOfVirsh) {
  std::set<std::string> seen;
  for (const PciDevice& device : Observe().pci_devices) seen.insert(device.dev_id);
  EXPECT_EQ(seen, Words(Virsh({"nodedev-list", "--cap", "pci"})));
  EXPECT_FALSE(seen.empty());
}

// The features that virsh tells of one model.
std::set<std::string> FeaturesOf(const std::string& baseline) {
  return ParseCpuFeatures(baseline).value_or(std::set<std::string>());
}

// A kernel shows what it uses of a CPU, which can be less than the CPU has.
TEST_F(PrivateDaemon, ShowsTheCpuTraitsOfVirshAndAllOfLscpu) {
  const Facts facts = Observe();
  ASSERT_TRUE(facts.cpu_features.has_value());
  const std::string path = WriteFile("capabilities.xml", Virsh({"capabilities"}));
  const std::set<std::string> features = FeaturesOf(Virsh({"cpu-baseline", "--features", path}));
  std::set<std::string> flags;
  for (const std::string& flag : Words(CpuLine("Flags"))) flags.insert(flag);
  const OwnedTraits owned = DescribeRootTraits(facts, NodeConfiguration(), std::nullopt);
  int compared = 0;
  for (const auto& [trait, value] : owned) {
    bool in_cpu = false;
    bool shown = false;
    bool known = false;
    for (const CpuFeatureTrait& row : CpuFeatureTraits()) {
      if (row.trait != trait) continue;
      known = true;
      const std::string flag = absl::StrReplaceAll(row.feature, {{"-", "_"},
                                                                 {".", "_"},
                                                                 {"bitalg", "_bitalg"},
                                                                 {"vbmi2", "_vbmi2"},
                                                                 {"vnni", "_vnni"},
                                                                 {"pclmuldq", "pclmulqdq"}});
      shown = shown || flags.count(flag) != 0;
      in_cpu = in_cpu || features.count(row.feature) != 0;
    }
    if (!known) continue;
    EXPECT_EQ(value, in_cpu) << trait;
    EXPECT_TRUE(value || !shown) << trait;
    ++compared;
  }
  EXPECT_GT(compared, 40);
}

TEST_F(PrivateDaemon, ShowsTheCpuOfVirshCapabilities) {
  const Facts facts = Observe();
  const std::string capabilities = Virsh({"capabilities"});
  EXPECT_EQ(facts.host_arch,
            Words(Output({"uname", "-m"})).count("x86_64") != 0 ? "x86_64" : facts.host_arch);
  const absl::StatusOr<Capabilities> parsed = ParseCapabilities(capabilities);
  const std::string path = WriteFile("capabilities.xml", capabilities);
  EXPECT_EQ(*facts.cpu_features,
            *ParseCpuFeatures(Virsh({"cpu-baseline", "--features", path})));  // T-91
  EXPECT_THAT(*facts.cpu_info, HasSubstr(absl::StrCat("\"model\":\"", *parsed->cpu.model, "\"")));
  EXPECT_EQ(std::to_string(*facts.vcpus), CpuLine("CPU(s)"));
  EXPECT_EQ(facts.hyperthreading, CpuLine("Thread(s) per core") != "1");
}

TEST_F(PrivateDaemon, ShowsTheFeaturesOfItsCpuMode) {
  const auto virsh = [](const std::string& model) {
    const std::string path =
        WriteFile("cpu.xml", "<cpu><arch>x86_64</arch><model>" + model + "</model></cpu>");
    return FeaturesOf(Virsh({"cpu-baseline", "--features", path}));
  };
  const auto observed = [this](CpuMode mode, const std::vector<std::string>& models) {
    NodeConfiguration node;
    node.cpu_mode = mode;
    node.cpu_models = models;
    node.cpu_model_extra_flags = {"made-up"};
    Observer::Surroundings surroundings;
    surroundings.state_path = "/tmp";
    return Observer(node, surroundings, hypervisor_.get())
        .Observe(BootClock::now(), absl::Now())
        .value_or(Facts())
        .cpu_features.value_or(std::set<std::string>());
  };
  if (Observe().host_arch != "x86_64") return;
  const std::set<std::string> first = virsh("qemu64");
  std::set<std::string> both = virsh("Nehalem");
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(observed(CpuMode::kNone, {}), first);  // T-215
  both.insert(first.begin(), first.end());
  both.insert("made-up");
  EXPECT_EQ(observed(CpuMode::kCustom, {"qemu64", "Nehalem"}), both);  // T-215
  std::set<std::string> host = *Observe().cpu_features;
  host.insert("made-up");
  EXPECT_EQ(observed(CpuMode::kHostPassthrough, {}), host);  // T-215
}

TEST_F(PrivateDaemon, ShowsTheNumaCellsOfLscpu) {
  const Facts facts = Observe();
  ASSERT_TRUE(facts.numa_topology.has_value() && facts.numa_topology->has_value());
  const std::vector<NumaCell>& cells = (*facts.numa_topology)->cells;
  EXPECT_EQ(std::to_string(cells.size()), CpuLine("NUMA node(s)"));
  for (const NumaCell& cell : cells) {
    EXPECT_EQ(cell.cpus, *CpuSet::Parse(CpuLine(absl::StrCat("NUMA node", cell.id, " CPU(s)"))));
  }
}

TEST_F(PrivateDaemon, ShowsTheDevicesOfDomainCapabilities) {
  const Facts facts = Observe();
  for (const char* const machine : {"pc", "q35"}) {
    const DomainCapabilities offer =
        *ParseDomainCapabilities(Virsh({"domcapabilities", "--machine", machine}));
    for (const std::string& bus : offer.disk_buses) {
      EXPECT_THAT(facts.emulators.disk_buses, Contains(bus));
    }
    for (const std::string& model : offer.video_models) {
      EXPECT_THAT(facts.emulators.video_models, Contains(model));
    }
  }
  EXPECT_THAT(facts.emulators.archs, Contains("x86_64"));  // T-93
  EXPECT_TRUE(VerifyFacts(facts).ok()) << VerifyFacts(facts);
  EXPECT_EQ(facts.virt_type, "qemu");
}

TEST_F(PrivateDaemon, ShowsAGuestAsAnOrphanWithinASecond) {
  Observe();
  const std::string image = Daemon()->directory() + "/disk.qcow2";
  Output({"qemu-img", "create", "-q", "-f", "qcow2", image, "3G"});
  Output({"chmod", "666", image});
  const std::string definition = WriteFile(
      "guest.xml",
      absl::StrCat("<domain type='qemu'><name>orphan</name><uuid>", kGuest,
                   "</uuid><memory unit='MiB'>64</memory><vcpu>2</vcpu><os>"
                   "<type arch='x86_64'>hvm</type></os><devices><disk type='file' device='disk'>"
                   "<driver name='qemu' type='qcow2'/><source file='",
                   image, "'/><target dev='vda' bus='virtio'/></disk></devices></domain>"));
  const Records records;
  std::optional<Audit> last;
  const auto audit = [&](MonotonicTime now) {
    absl::StatusOr<Audit> result = RunAudit({.facts = std::make_shared<const Facts>(Observe()),
                                             .records = &records,
                                             .configuration = NodeConfiguration(),
                                             .node_uuid = ShortUuid(kNode),
                                             .node_name = "n",
                                             .before = last ? &*last : nullptr,
                                             .now = now,
                                             .wall_now = absl::Now(),
                                             .orphan_confirmation = std::chrono::seconds(5)});
    last = *std::move(result);
    return *last;
  };
  Virsh({"create", definition});
  const MonotonicTime created = BootClock::now();
  ASSERT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, kGuest));
  const Audit seen = audit(created);
  EXPECT_LT(BootClock::now() - created, std::chrono::seconds(3));  // three times the promise
  ASSERT_EQ(seen.report.orphans.size(), 1u);
  EXPECT_EQ(seen.report.orphans[0].uuid.ToString(), kGuest);
  EXPECT_EQ(seen.report.orphans[0].usage, (Amounts{2, 64, 3072}));  // T-86
  EXPECT_FALSE(seen.report.orphans[0].withheld);
  EXPECT_TRUE(audit(created + std::chrono::seconds(5)).report.orphans[0].withheld);

  Virsh({"destroy", "orphan"});
  ASSERT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, kGuest));
  EXPECT_TRUE(audit(BootClock::now()).report.orphans.empty());
}

TEST_F(PrivateDaemon, MakesTheSameFewCallsInEveryUnchangedPass) {
  const std::string running = WriteFile(
      "running.xml", absl::StrCat("<domain type='qemu'><name>running</name><uuid>", kGuest,
                                  "</uuid><memory unit='MiB'>64</memory><vcpu>1</vcpu><os>"
                                  "<type arch='x86_64'>hvm</type></os></domain>"));
  Observe();  // opens the connection, which then sends events
  Virsh({"create", running});
  ASSERT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, kGuest));
  while (inbox_.Wait(HypervisorEvent::Kind::kGuest, kGuest, milliseconds(300))) {
  }  // the guest's later events
  MonotonicTime now = BootClock::now();
  std::map<std::string, int64_t> last;
  std::map<std::string, int64_t> calls;
  for (int pass = 0; pass < 6; ++pass) {
    now += std::chrono::seconds(60);
    const std::map<std::string, int64_t> before = hypervisor_->call_counts();
    const absl::StatusOr<Facts> facts = observer_->Observe(now, absl::UnixEpoch());
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->guests.size(), 1u);
    calls = hypervisor_->call_counts();
    for (const auto& [name, count] : before) calls[name] -= count;
    if (pass > 1) {            // the first pass reads the new guest
      EXPECT_EQ(calls, last);  // T-393
    }
    last = calls;
  }
  EXPECT_EQ(calls["virConnectGetAllDomainStats"], 1);
  EXPECT_EQ(calls["virDomainGetXMLDesc"], 1);
  EXPECT_EQ(calls["virConnectListAllNodeDevices"], 1);
  const size_t devices = Words(Virsh({"nodedev-list"})).size();
  EXPECT_LE(calls["virNodeDeviceGetXMLDesc"], static_cast<int64_t>(devices / 9 + 1));
  Virsh({"destroy", "running"});
  ASSERT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, kGuest));
}

TEST_F(PrivateDaemon, TellsTheSizeOfADiskWithoutAnImageFile) {
  const std::string device = Daemon()->directory() + "/device";
  std::ofstream(device) << "";
  std::filesystem::resize_file(device, 5 << 20);
  const std::string definition = WriteFile(
      "block.xml",
      absl::StrCat("<domain type='qemu'><name>block</name><memory unit='MiB'>64</memory><os>"
                   "<type arch='x86_64'>hvm</type></os><devices><disk type='block' device='disk'>"
                   "<driver name='qemu' type='raw'/><source dev='",
                   device, "'/><target dev='vda' bus='virtio'/></disk></devices></domain>"));
  Virsh({"define", definition});
  for (int pass = 0; pass < 3; ++pass) {
    const Facts facts = Observe();
    ASSERT_EQ(facts.guests.size(), 1u);
    EXPECT_EQ(facts.guests[0].local_disk_bytes, 5 << 20);
  }
  Virsh({"undefine", "block"});
}

TEST_F(PrivateDaemon, MakesNoCallAtRest) {
  Observe();
  const auto before = hypervisor_->call_counts();
  EXPECT_FALSE(inbox_.Wait(HypervisorEvent::Kind::kClosed, "", milliseconds(1000)));
  EXPECT_EQ(hypervisor_->call_counts(), before);
}

TEST_F(PrivateDaemon, ComesBackAfterTheDaemonWas) {  // T-104
  Observe();
  const int64_t first = hypervisor_->connection_number();
  Daemon()->Kill();
  EXPECT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kClosed, ""));
  EXPECT_EQ(observer_->Observe(BootClock::now(), absl::Now()).status().code(),
            absl::StatusCode::kUnavailable);
  ASSERT_TRUE(Daemon()->Restart());
  EXPECT_FALSE(Observe().pci_devices.empty());
  EXPECT_EQ(hypervisor_->connection_number(), first + 1);
  EXPECT_EQ(hypervisor_->call_counts()["virConnectGetCapabilities"], 2);  // T-71
}

}  // namespace
}  // namespace berth::tracker
