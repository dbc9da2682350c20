// SIGHUP and the provider configuration files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "services/tracker/host.h"
#include "services/tracker/reload.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/ground/boot_clock.h"

namespace berth::services {
namespace {

using ::testing::HasSubstr;

class ProviderReloadTest : public ::testing::Test {
 protected:
  ProviderReloadTest() {
    char path[] = "/tmp/berth-provider-reload-XXXXXX";
    state_ = mkdtemp(path);
    const std::string uri = "test://" + tracker::TestDataPath("three_guests.xml");
    std::ofstream(state_ + "/tracker.toml")
        << "host = 'h'\nprovider-config-location = '" << state_ << "'\n"
        << "[[hypervisor]]\nname = 'n1'\nuri = '" << uri << "'\n";
    tracker::Configuration configuration;
    configuration.host = "h";
    configuration.my_address = "127.0.0.1";
    configuration.state_path = state_;
    configuration.nodes.emplace_back().name = "n1";
    configuration.nodes[0].uri = uri;
    host_ = std::make_unique<TrackerHost>(configuration);
  }
  ~ProviderReloadTest() override {
    host_.reset();
    std::filesystem::remove_all(state_);
  }

  // Writes a file that gives `total` of CUSTOM_X to the provider `name`, in line 3.
  void Write(const std::string& name, int total) {
    std::ofstream(state_ + "/a.yaml")
        << "meta: {schema_version: '1.0'}\nproviders:\n- {identification: {name: " << name
        << "}, inventories: {additional: [{CUSTOM_X: {total: " << total << "}}]}}\n";
  }
  absl::Status Reload() {
    const std::string config = "--config=" + state_ + "/tracker.toml";
    const char* const argv[] = {"berth-tracker", config.c_str()};
    return ReloadTracker(2, argv, TrackerOptions(), host_.get());
  }
  // The total of CUSTOM_X after another pass.
  int64_t Total() {
    const NodeRunner& runner = *host_->runners()[0];
    tracker::Mutex mutex;
    tracker::CondVar changed;
    bool done = false;
    host_->runners()[0]->Request(tracker::PassCause::kRequest, [&] {
      tracker::MutexLock lock(&mutex);
      done = true;
      changed.NotifyAll();
    });
    tracker::MutexLock lock(&mutex);
    const auto deadline = tracker::BootClock::now() + std::chrono::seconds(10);
    while (!done && tracker::BootClock::now() < deadline) {
      changed.WaitUntil(&mutex, deadline);
    }
    const auto audit = runner.node()->view().audit;
    const tracker::Inventories& inventories = audit->report.providers[0].inventories;
    const auto found = inventories.find("CUSTOM_X");
    return found == inventories.end() ? 0 : found->second.total;
  }

  std::string state_;
  std::unique_ptr<TrackerHost> host_;
};

TEST_F(ProviderReloadTest, TakesOverFilesUnlessOneIsWrong) {
  Write("n1", 7);
  ASSERT_TRUE(Reload().ok());
  EXPECT_EQ(Total(), 7);  // T-217
  Write("n1", 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(Reload().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("/a.yaml:3: providers[0].inventories.additional[0].CUSTOM_X.total"));
  EXPECT_EQ(Total(), 7);  // T-217
  Write("n2", 8);
  testing::internal::CaptureStderr();
  ASSERT_TRUE(Reload().ok());
  EXPECT_EQ(Total(), 0);  // T-220
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("/a.yaml:3: this host has no provider n2"));  // T-219
}

}  // namespace
}  // namespace berth::services
