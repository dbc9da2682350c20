// The disks of a guest of a real QEMU: images that change while the guest runs, and sizes that only
// libvirt knows.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libvirt/libvirt.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/processes/libvirt_daemon.h"
#include "tests/tracker/hypervisor/event_inbox.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/hypervisor/observe.h"

namespace berth::tracker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kDiskGuest[] = "55555555-5555-4555-8555-555555555555";
constexpr int64_t kGib = int64_t{1} << 30;

// Whether libvirt refuses to tell sizes, as it does while a job holds the guest.
std::atomic<bool> sizes_fail = false;

class GuestDisks : public testing::Test {
 protected:
  static void SetUpTestSuite() { daemon_ = LibvirtDaemon::Start(&why_).release(); }
  static void TearDownTestSuite() {
    delete daemon_;
    daemon_ = nullptr;
  }
  void SetUp() override {
    if (daemon_ == nullptr) GTEST_SKIP() << "no private libvirt daemon: " << why_;
    hypervisor_ = std::make_unique<Hypervisor>(Hypervisor::Options{daemon_->QemuUri()}, &pool_,
                                               inbox_.listener());
    Observer::Surroundings surroundings;
    surroundings.state_path = "/tmp";
    surroundings.storage.read_timeout = absl::Seconds(30);
    observer_ = std::make_unique<Observer>(NodeConfiguration(), surroundings, hypervisor_.get());
    Observe();  // opens the connection, which then sends events
  }
  void TearDown() override {
    sizes_fail = false;
    if (running_) Stop();
  }

  // Passes at the same time, so that the sweep reads nothing. After nine intervals it reads all.
  Facts Observe(int intervals = 0) {
    now_ += intervals * std::chrono::seconds(60);
    const absl::StatusOr<Facts> facts = observer_->Observe(now_, absl::UnixEpoch());
    EXPECT_TRUE(facts.ok()) << facts.status();
    return facts.value_or(Facts());
  }
  static int64_t DiskBytes(const Facts& facts) {
    return facts.guests.size() == 1 ? facts.guests[0].local_disk_bytes : -1;
  }
  static void Virsh(std::vector<std::string> arguments) {
    std::vector<std::string> command = {"virsh", "-q", "-c", daemon_->QemuUri()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    Output(command);
  }
  static std::string MakeImage(const std::string& name, const std::string& format, int gib) {
    const std::string path = daemon_->directory() + "/" + name;
    Output({"qemu-img", "create", "-q", "-f", format, path, absl::StrCat(gib, "G")});
    Output({"chmod", "666", path});
    return path;
  }
  // Starts the guest, or defines it without starting it.
  void Start(const std::string& format, const std::string& image, const char* how = "create") {
    const std::string file = daemon_->directory() + "/guest.xml";
    std::ofstream(file) << "<domain type='qemu'><name>disks</name><uuid>" << kDiskGuest
                        << "</uuid><memory unit='MiB'>64</memory><os><type arch='x86_64'>hvm</type>"
                        << "</os><devices><disk type='file'><driver name='qemu' type='" << format
                        << "'/><source file='" << image
                        << "'/><target dev='vda' bus='virtio'/></disk></devices></domain>";
    Virsh({how, file});
    running_ = true;
    EXPECT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, kDiskGuest));
  }
  void Stop() {
    Virsh({"destroy", "disks"});
    EXPECT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, kDiskGuest));
    running_ = false;
  }
  int64_t Calls(const char* name) { return hypervisor_->call_counts()[name]; }

  // A guest that runs on a snapshot of its image, and that was observed. Returns the snapshot.
  std::string StartOnSnapshot() {
    Start("qcow2", MakeImage("base.qcow2", "qcow2", 3));
    const std::string snapshot = daemon_->directory() + "/snapshot.qcow2";
    Virsh({"snapshot-create-as", "disks", "one", "--disk-only", "--no-metadata", "--diskspec",
           "vda,file=" + snapshot});
    EXPECT_EQ(DiskBytes(Observe(9)), 3 * kGib);
    AwaitCalm();
    Observe();
    return snapshot;
  }
  void MergeSnapshot() {
    Virsh({"blockcommit", "disks", "vda", "--active", "--pivot"});
    EXPECT_TRUE(inbox_.Wait(HypervisorEvent::Kind::kGuest, kDiskGuest));
  }
  // Waits until no more events come.
  void AwaitCalm() {
    while (inbox_.Wait(HypervisorEvent::Kind::kGuest, kDiskGuest, std::chrono::milliseconds(300))) {
    }
  }

  static inline LibvirtDaemon* daemon_ = nullptr;
  static inline std::string why_;
  HypervisorEventLoop loop_;
  DeadlinePool pool_{DeadlinePool::Options()};
  EventInbox inbox_;
  std::unique_ptr<Hypervisor> hypervisor_;
  std::unique_ptr<Observer> observer_;
  MonotonicTime now_{};
  bool running_ = false;
};

TEST_F(GuestDisks, AreReadAgainWhenASnapshotIsMerged) {
  const std::string snapshot = StartOnSnapshot();
  MergeSnapshot();
  const int64_t read = Calls("virDomainGetXMLDesc");
  Observe();
  EXPECT_GT(Calls("virDomainGetXMLDesc"), read);
  std::filesystem::remove(snapshot);
}

TEST_F(GuestDisks, KeepTheirSizeIfNobodyAnnouncedTheMerge) {
  const std::string snapshot = StartOnSnapshot();
  MergeSnapshot();
  AwaitCalm();
  hypervisor_->TakeChanges();  // as if libvirt had sent no event
  std::filesystem::remove(snapshot);
  const Facts facts = Observe();
  EXPECT_EQ(DiskBytes(facts), 3 * kGib);
  EXPECT_THAT(facts.warnings, IsEmpty());
  EXPECT_FALSE(facts.degraded);
}

TEST_F(GuestDisks, KeepTheirSizeWhenTheImageIsUnlinked) {
  const std::string image = MakeImage("unlinked.qcow2", "qcow2", 3);
  Start("qcow2", image);
  EXPECT_EQ(DiskBytes(Observe()), 3 * kGib);
  AwaitCalm();
  Observe();
  std::filesystem::remove(image);
  Facts facts = Observe();
  const int64_t read = Calls("virDomainGetXMLDesc");
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(DiskBytes(facts), 3 * kGib);  // T-85: QEMU still has the file open
    EXPECT_THAT(facts.warnings, ElementsAre(HasSubstr("unlinked.qcow2")));  // T-85
    facts = Observe();
  }
  EXPECT_EQ(Calls("virDomainGetXMLDesc"), read);  // once, when the image disappeared
}

TEST_F(GuestDisks, OfOtherFormatsHaveTheSizeThatLibvirtTells) {
  for (const char* const format : {"vmdk", "vdi"}) {
    const std::string image = MakeImage(absl::StrCat("image.", format), format, 3);
    Start(format, image);
    const int64_t asked = Calls("virDomainGetBlockInfo");
    for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(DiskBytes(Observe()), 3 * kGib) << format;
    // Once for each time that the definition was read: at first, and perhaps after a late event.
    EXPECT_LE(Calls("virDomainGetBlockInfo"), asked + 2) << format;
    Stop();
  }
}

TEST_F(GuestDisks, AreAskedAgainIfLibvirtDidNotTellTheSize) {
  const std::string small = MakeImage("small.vmdk", "vmdk", 3);
  const std::string large = MakeImage("large.vmdk", "vmdk", 5);
  sizes_fail = true;
  Start("vmdk", small);
  Facts facts = Observe();
  EXPECT_TRUE(facts.degraded);
  EXPECT_THAT(facts.warnings, ElementsAre(HasSubstr("disk vda")));
  sizes_fail = false;
  facts = Observe();
  EXPECT_EQ(DiskBytes(facts), 3 * kGib);
  EXPECT_FALSE(facts.degraded);
  // The same question about another image has no answer yet.
  Virsh({"destroy", "disks"});
  sizes_fail = true;
  Start("vmdk", large);
  facts = Observe();
  EXPECT_LT(DiskBytes(facts), kGib);
  EXPECT_TRUE(facts.degraded);
  sizes_fail = false;
  EXPECT_EQ(DiskBytes(Observe()), 5 * kGib);
}

TEST_F(GuestDisks, OfAStoppedGuestAreNotAskedFor) {
  Start("vmdk", MakeImage("stopped.vmdk", "vmdk", 3), "define");
  EXPECT_LT(DiskBytes(Observe()), kGib);
  EXPECT_EQ(Calls("virDomainGetBlockInfo"), 0);
  Virsh({"undefine", "disks"});
  running_ = false;
}

}  // namespace
}  // namespace berth::tracker

// The program's own definition takes the place of libvirt's.
extern "C" int virDomainGetBlockInfo(virDomainPtr guest, const char* disk,
                                     virDomainBlockInfoPtr info, unsigned flags) {
  if (berth::tracker::sizes_fail) return -1;
  using Function = decltype(virDomainGetBlockInfo);
  static auto* const real = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "virDomainGetBlockInfo"));
  return real(guest, disk, info, flags);
}
