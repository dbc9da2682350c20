// Images on a file server that is gone: the hypervisor is observed all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/tracker/hypervisor/dead_file_server.h"
#include "tests/tracker/hypervisor/event_inbox.h"
#include "tracker/hypervisor/observe.h"
#include "tracker/hypervisor/storage_probes.h"

namespace berth::tracker {
namespace {

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
  // One guest with every image, as a file of libvirt's test driver.
  std::string Uri() const {
    std::string disks;
    for (const std::string& path : paths_) {
      absl::StrAppend(&disks, "<disk type='file' device='disk'><driver name='qemu' type='raw'/>",
                      "<source file='", path, "'/><target dev='", Target(path),
                      "' bus='virtio'/></disk>");
    }
    const std::string file = directory_ + ".xml";
    std::ofstream(file) << "<node><domain type='test'><name>web</name>"
                        << "<uuid>11111111-1111-4111-8111-111111111111</uuid>"
                        << "<memory unit='MiB'>1024</memory><vcpu>1</vcpu>"
                        << "<os><type>hvm</type></os><devices>" << disks
                        << "</devices></domain></node>";
    return "test://" + file;
  }
  static std::string Target(const std::string& path) {
    const int number = std::stoi(path.substr(path.rfind('/') + 1));
    return absl::StrCat("vd", std::string(1, static_cast<char>('a' + number)));
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

TEST_F(DeadStorage, DoesNotHoldUpLibvirt) {  // T-70
  server_->Die();
  Hypervisor hypervisor({Uri()}, &libvirt_calls_, inbox_.listener());
  Observer::Surroundings surroundings;
  surroundings.state_path = "/tmp";
  surroundings.storage = Options(absl::Milliseconds(500));
  Observer observer(NodeConfiguration(), surroundings, &hypervisor);
  for (int pass = 0; pass < 3; ++pass) {
    const absl::StatusOr<Facts> facts = observer.Observe(absl::UnixEpoch());
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_EQ(facts->guests.size(), 1u);
    EXPECT_LE(observer.hung_storage_reads(), 16);
  }
  EXPECT_EQ(libvirt_calls_.hung(), 0);
  server_->Recover();
  EXPECT_TRUE(Eventually([&] {
    return observer.Observe(absl::UnixEpoch())->guests[0].overcommitted_bytes ==
           kImages * kImageBytes;
  }));
  EXPECT_EQ(observer.hung_storage_reads(), 0);
}

TEST_F(DeadStorage, HangsOneReadPerPathAtMost) {
  StorageProbes probes(Options(kShort));
  const std::set<std::string> path = {*paths_.begin()};
  server_->Die();
  // On a busy machine a read may be given up before it began: that one does not hang.
  while (probes.hung() == 0) {
    EXPECT_EQ(probes.Images(path).begin()->second.status.code(),
              absl::StatusCode::kDeadlineExceeded);
  }
  for (int pass = 0; pass < 20; ++pass) {
    const Probe<ImageReading> probe = probes.Images(path).begin()->second;
    EXPECT_EQ(probe.status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(probe.status.message(), HasSubstr(*paths_.begin()));
  }
  EXPECT_TRUE(probes.Images({}).empty());  // a path that nobody asks for still counts
  EXPECT_EQ(probes.Images(path).begin()->second.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(probes.hung(), 1);
  EXPECT_EQ(server_->hanging(), 1);
}

TEST_F(DeadStorage, KeepsTheLastReadingAndSaysSo) {
  StorageProbes probes(Options(kShort));
  const std::string path = *paths_.begin();
  const auto read = [&] { return probes.Images({path}).at(path); };
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
  while (probes.hung() < 16) all = probes.Images(paths_);
  EXPECT_GE(absl::Now() - begun, 4 * kShort);
  EXPECT_EQ(probes.Images(paths_).size(), paths_.size());
  EXPECT_EQ(probes.hung(), 16);
}

}  // namespace
}  // namespace berth::tracker
