// Images on a file server that is gone: the hypervisor is observed all the same.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/processes/libvirt_daemon.h"
#include "tests/tracker/hypervisor/dead_file_server.h"
#include "tests/tracker/hypervisor/event_inbox.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/hypervisor/observe.h"
#include "tracker/hypervisor/storage.h"
#include "tracker/hypervisor/storage_probes.h"

namespace berth::tracker {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kImages = 20;  // more than may hang
constexpr int64_t kImageBytes = 3 << 20;
constexpr absl::Duration kShort = absl::Milliseconds(30);

class DeadStorage : public testing::Test {
 protected:
  DeadStorage() {
    char path[] = "/tmp/berth-images-XXXXXX";
    directory_ = mkdtemp(path);
    server_ = std::make_unique<DeadFileServer>(directory_);
    for (int i = 0; i < kImages; ++i) {
      paths_.insert(absl::StrCat(directory_, "/", i));
      std::ofstream(absl::StrCat(directory_, "/", i)) << "";
      std::filesystem::resize_file(absl::StrCat(directory_, "/", i), kImageBytes);
    }
  }
  ~DeadStorage() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  StorageProbes::Options Options(absl::Duration read_timeout) const {
    StorageProbes::Options options;
    options.read_timeout = read_timeout;
    return options;
  }
  // Defines a guest for every image.
  void DefineGuests(const std::string& uri) const {
    for (int i = 0; i < kImages; ++i) {
      const std::string file = absl::StrCat(directory_, ".xml");
      std::ofstream(file) << "<domain type='qemu'><name>g" << i << "</name><memory>65536</memory>"
                          << "<os><type arch='x86_64'>hvm</type></os><devices><disk type='file'>"
                          << "<driver name='qemu' type='raw'/><source file='" << directory_ << "/"
                          << i << "'/><target dev='vda' bus='virtio'/></disk></devices></domain>";
      Output({"virsh", "-q", "-c", uri, "define", file});
    }
  }
  // A kernel's list of mounts that has the dead server.
  std::vector<Mount> Mounts() const {
    return {{"/", "ext4", "/dev/vda"}, {directory_, "nfs4", "nas:/vms"}};
  }
  // Asks again and again: reads that hung end some time after the server has recovered, and a busy
  // machine may give up on a read of a living server.
  static bool Eventually(const std::function<bool()>& holds) {
    const auto deadline = BootClock::now() + std::chrono::seconds(30);
    while (BootClock::now() < deadline) {
      if (holds()) return true;
      std::this_thread::yield();
    }
    return false;
  }

  std::string directory_;
  std::unique_ptr<DeadFileServer> server_;
  std::set<std::string> paths_;
  HypervisorEventLoop loop_;
  DeadlinePool libvirt_calls_{DeadlinePool::Options()};
  EventInbox inbox_;
};

TEST_F(DeadStorage, UnderTwentyGuestsDisablesNothing) {
  std::string why;
  const std::unique_ptr<LibvirtDaemon> daemon = LibvirtDaemon::Start(&why);
  if (daemon == nullptr) GTEST_SKIP() << "no private libvirt daemon: " << why;
  DefineGuests(daemon->QemuUri());
  Hypervisor hypervisor({daemon->QemuUri()}, &libvirt_calls_, inbox_.listener());
  Observer::Surroundings surroundings;
  surroundings.state_path = "/tmp";
  surroundings.storage = Options(absl::Milliseconds(500));
  Observer observer(NodeConfiguration(), surroundings, &hypervisor);
  const auto promised_bytes = [](const Facts& facts) {
    int64_t sum = 0;
    for (const Guest& guest : facts.guests) sum += guest.local_disk_bytes;
    return sum;
  };
  const auto reads_all = [&] {
    const Facts facts = *observer.Observe(BootClock::now(), absl::Now());
    return !facts.degraded && promised_bytes(facts) == kImages * kImageBytes;
  };
  ASSERT_TRUE(Eventually(reads_all));
  server_->Die();
  for (int pass = 0; pass < 3; ++pass) {
    const absl::StatusOr<Facts> facts = observer.Observe(BootClock::now(), absl::Now());
    ASSERT_TRUE(facts.ok()) << facts.status();  // T-361: not "not ready", which disables the host
    EXPECT_EQ(promised_bytes(*facts), kImages * kImageBytes);  // T-361: the last values count
    EXPECT_TRUE(facts->degraded);
    EXPECT_EQ(facts->warnings.size(), size_t{kImages});
    EXPECT_THAT(facts->warnings,
                Each(HasSubstr("the values that were read last are used")));  // T-361
    EXPECT_LE(observer.hung_storage_reads(), 4);
  }
  EXPECT_EQ(libvirt_calls_.hung(), 0);  // T-70
  server_->Recover();
  EXPECT_TRUE(Eventually(reads_all));
  EXPECT_EQ(observer.hung_storage_reads(), 0);
}

TEST_F(DeadStorage, KeepsNoOtherFileSystemFromBeingRead) {
  const std::string healthy = directory_ + "-healthy";
  std::ofstream(healthy) << "";
  std::set<std::string> all = paths_;
  all.insert(healthy);
  StorageProbes probes(Options(kShort));
  server_->Die();
  const absl::Time begun = absl::Now();
  EXPECT_TRUE(Eventually([&] { return probes.Images(all, Mounts()).at(healthy).status.ok(); }));
  EXPECT_LE(probes.hung(), 4);
  if (begun + absl::Seconds(1) < absl::Now()) return;  // a busy machine: the rest proves nothing
  EXPECT_EQ(probes.Images(all, Mounts()).at(*paths_.begin()).status.code(),
            absl::StatusCode::kUnavailable);
  std::filesystem::remove(healthy);
}

TEST_F(DeadStorage, OfFiveMountsOfOneServerHangsOneRead) {
  const std::string healthy = directory_ + "-healthy";
  std::ofstream(healthy) << "";
  std::set<std::string> all = {healthy};
  std::vector<Mount> mounts = {{"/", "ext4", "/dev/vda"}};
  for (int i = 0; i < 5; ++i) {
    const std::string mount = absl::StrCat(directory_, "/mount", i);
    mounts.push_back({mount, "nfs4", absl::StrCat("nas:/export/", i)});
    for (int image = 0; image < 5; ++image) all.insert(absl::StrCat(mount, "/", image));
  }
  server_->Die();
  StorageProbes probes(Options(absl::Seconds(1)));
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_TRUE(probes.Images(all, mounts).at(healthy).status.ok());  // T-361
    EXPECT_EQ(probes.hung(), 1);                                      // T-361
  }
  std::filesystem::remove(healthy);
}

TEST_F(DeadStorage, BehindALinkKeepsNoOtherFileSystemFromBeingRead) {
  const std::string healthy = directory_ + "-healthy";
  const std::string link = directory_ + "-a-link";
  std::ofstream(healthy) << "";
  std::filesystem::create_symlink(directory_, link);
  server_->ServeAs(link);
  StorageProbes probes(Options(absl::Seconds(1)));
  const std::set<std::string> all = {link + "/1", link + "/2", healthy};
  ASSERT_TRUE(probes.Images(all, Mounts()).at(link + "/1").status.ok());
  server_->Die();
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_TRUE(probes.Images(all, Mounts()).at(healthy).status.ok());  // T-361
    EXPECT_EQ(probes.hung(), 1);
  }
  std::filesystem::remove(healthy);
  std::filesystem::remove(link);
}

TEST_F(DeadStorage, ReadsTheHeaderOfAnUnchangedImageOnce) {
  StorageProbes probes(Options(absl::Seconds(10)));
  const std::string path = *paths_.begin();
  const int first = server_->opened();  // the test itself opened files, to make them
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(probes.Images({path}, {}).at(path).value->size_bytes, kImageBytes);
  }
  EXPECT_EQ(server_->opened(), first + 1);  // T-360
  std::string header("QFI\xfb\0\0\0\3", 8);
  header.resize(104);
  header[27] = 2;  // 2^33 bytes
  std::ofstream(path) << header;
  const int opened = server_->opened();
  EXPECT_EQ(probes.Images({path}, {}).at(path).value->virtual_bytes, int64_t{2} << 32);  // T-87
  EXPECT_EQ(server_->opened(), opened + 1);
}

// Two file systems, one mounted over the other, have an equal file with another header.
TEST_F(DeadStorage, ReadsTheHeaderOfAFileThatAnotherMountHides) {
  const std::string mount_point = directory_ + "/mount";
  const std::string path = mount_point + "/image";
  std::filesystem::create_directory(mount_point);
  std::optional<ImageReading> first;
  std::optional<ImageReading> second;
  // Mounts are those of this thread alone.
  std::thread([&] {
    if (unshare(CLONE_NEWNS) != 0) return;
    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    const auto hide = [&](char gib) {
      if (mount("none", mount_point.c_str(), "tmpfs", 0, nullptr) != 0) return false;
      std::string header("QFI\xfb\0\0\0\3", 8);
      header.resize(104);
      header[28] = gib << 6;
      std::ofstream(path) << header;
      const timespec same[2] = {{1, 0}, {1, 0}};
      return utimensat(AT_FDCWD, path.c_str(), same, 0) == 0;
    };
    if (!hide(1)) return;
    first = *ReadImage(path, std::nullopt);
    if (!hide(2)) return;
    second = *ReadImage(path, first);
  }).join();
  if (!second) GTEST_SKIP() << "mounting is not permitted";
  EXPECT_EQ(first->inode, second->inode);
  EXPECT_EQ(first->virtual_bytes, int64_t{1} << 30);
  EXPECT_EQ(second->virtual_bytes, int64_t{2} << 30);  // T-360
}

TEST_F(DeadStorage, TellsTheSizeOfABlockDeviceWithoutOpeningIt) {
  for (const auto& entry : std::filesystem::directory_iterator("/sys/dev/block")) {
    unsigned major = 0;
    unsigned minor = 0;
    ASSERT_EQ(sscanf(entry.path().filename().c_str(), "%u:%u", &major, &minor), 2);
    int64_t sectors = 0;
    std::ifstream(entry.path() / "size") >> sectors;
    const std::string path = directory_ + "/device";
    if (sectors == 0) continue;
    if (mknod(path.c_str(), S_IFBLK | 0600, makedev(major, minor)) != 0) break;
    const int opened = server_->opened();
    EXPECT_EQ(ReadImage(path, std::nullopt)->size_bytes, sectors * 512);
    EXPECT_EQ(server_->opened(), opened);
    return;
  }
  GTEST_SKIP() << "no block device, or mknod is not permitted";
}

TEST_F(DeadStorage, KeepsTheUsageOfACephPoolWhoseClusterHasNoId) {
  const std::string program = directory_ + "/ceph";
  const auto answer = [&](const char* usage, const char* id) {
    std::ofstream(program) << "#!/bin/sh\nif [ $1 = df ]; then " << usage << "; else " << id
                           << "; fi\n";
    chmod(program.c_str(), 0755);
  };
  constexpr char kUsage[] =
      R"(echo '{"stats":{"total_bytes":9},"pools":[{"name":"p","stats":{"max_avail":4,"bytes_used":2}}]}')";
  const std::string before = getenv("PATH");
  setenv("PATH", absl::StrCat(directory_, ":", before).c_str(), 1);
  StorageProbes::Options options;
  options.command_timeout = absl::Seconds(12);
  StorageProbes probes(options);
  NodeConfiguration configuration;
  configuration.disk_backend = DiskBackend::kRbd;
  configuration.rbd_pool = "p";
  answer(kUsage, "exec sleep 60");
  Probe<StorageReading> probe = probes.Storage(configuration, "");
  EXPECT_TRUE(probe.status.ok()) << probe.status;  // T-82: the id hangs, the usage is known
  EXPECT_EQ(probe.value.value_or(StorageReading()).total_bytes, 6);  // T-357: 4 free and 2 used
  answer(kUsage, "echo f51d");
  EXPECT_EQ(probes.Storage(configuration, "").value->cluster_id, "f51d");
  answer("exit 1", "exit 1");
  EXPECT_FALSE(probes.Storage(configuration, "").status.ok());
  answer(kUsage, "exit 1");
  EXPECT_EQ(probes.Storage(configuration, "").value->cluster_id, "f51d");  // T-393
  setenv("PATH", before.c_str(), 1);
}

TEST_F(DeadStorage, HangsOneReadPerPathAtMost) {
  StorageProbes probes(Options(kShort));
  const std::set<std::string> path = {*paths_.begin()};
  server_->Die();
  // On a busy machine a read may be given up before it began: that one does not hang.
  while (probes.hung() == 0) {
    EXPECT_EQ(probes.Images(path, {}).begin()->second.status.code(),
              absl::StatusCode::kDeadlineExceeded);
  }
  for (int pass = 0; pass < 20; ++pass) {
    const Probe<ImageReading> probe = probes.Images(path, {}).begin()->second;
    EXPECT_EQ(probe.status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(probe.status.message(), HasSubstr(*paths_.begin()));
  }
  EXPECT_TRUE(probes.Images({}, {}).empty());  // a path that nobody asks for still counts
  EXPECT_EQ(probes.Images(path, {}).begin()->second.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(probes.hung(), 1);
  EXPECT_EQ(server_->hanging(), 1);
}

TEST_F(DeadStorage, KeepsTheLastReadingAndSaysSo) {
  StorageProbes probes(Options(kShort));
  const std::string path = *paths_.begin();
  const auto read = [&] { return probes.Images({path}, {}).at(path); };
  ASSERT_TRUE(Eventually([&] { return read().status.ok(); }));
  server_->Die();
  const Probe<ImageReading> probe = read();
  EXPECT_EQ(probe.status.code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(probe.value.has_value());
  EXPECT_EQ(probe.value->size_bytes, kImageBytes);
  std::filesystem::remove(path);
  server_->Recover();
  // The server's own answer replaces the last reading.
  ASSERT_TRUE(Eventually([&] { return absl::IsNotFound(read().status); }));
  EXPECT_FALSE(read().value.has_value());
}

TEST_F(DeadStorage, ReadsFourImagesAtATimeAndNoneWhereTooManyHang) {
  server_->Die();
  StorageProbes probes(Options(kShort));
  std::map<std::string, Probe<ImageReading>> all;
  const absl::Time begun = absl::Now();
  while (probes.hung() < 16) all = probes.Images(paths_, {});
  EXPECT_GE(absl::Now() - begun, 4 * kShort);
  EXPECT_EQ(probes.Images(paths_, {}).size(), paths_.size());
  EXPECT_EQ(probes.hung(), 16);
}

}  // namespace
}  // namespace berth::tracker
