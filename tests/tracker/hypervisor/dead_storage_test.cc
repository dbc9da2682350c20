// Images on a file server that is gone: the hypervisor is observed all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/processes/libvirt_daemon.h"
#include "tests/tracker/hypervisor/dead_file_server.h"
#include "tests/tracker/hypervisor/event_inbox.h"
#include "tracker/hypervisor/observe.h"
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
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < deadline) {
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
    const Facts facts = *observer.Observe(absl::Now());
    return !facts.degraded && promised_bytes(facts) == kImages * kImageBytes;
  };
  ASSERT_TRUE(Eventually(reads_all));
  server_->Die();
  for (int pass = 0; pass < 3; ++pass) {
    const absl::StatusOr<Facts> facts = observer.Observe(absl::Now());
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
