// A node over libvirt's test driver and a stream from it to a placement that does as a test wishes.
#ifndef BERTH_TESTS_TRACKER_UPLINK_FIXTURE_H_
#define BERTH_TESTS_TRACKER_UPLINK_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/processes/fake_placement.h"
#include "tests/tracker/facts/test_data.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/uuid.h"
#include "tracker/hypervisor/events.h"
#include "tracker/uplink/uplink.h"

namespace berth::tracker {

class UplinkTest : public testing::Test {
 protected:
  UplinkTest() {
    char path[] = "/tmp/berth-uplink-XXXXXX";
    state_ = mkdtemp(path);
    Node::Options options;
    options.configuration.uri = "test://" + TestDataPath("three_guests.xml");
    options.configuration.name = "n1";
    options.surroundings.state_path = state_;
    options.surroundings.host_address = "127.0.0.1";
    options.host = "h";
    options.pass_interval = std::chrono::seconds(60);
    node_ = std::make_unique<Node>(options, &pool_, [](const HypervisorEvent&) {});
    EXPECT_EQ(Pass().result, PassOutcome::Result::kComplete);
    uuid_ = node_->identity()->uuid.ToString();
  }
  ~UplinkTest() override { std::filesystem::remove_all(state_); }

  PassOutcome Pass(std::chrono::milliseconds later = std::chrono::milliseconds(0)) {
    return node_->Pass(BootClock::now() + later);
  }

  static UplinkOptions OptionsFor(const std::string& target) {
    UplinkOptions options;
    options.target = target;
    options.host = "h";
    options.incarnation = Uuid::Random().ToString();
    options.machine_id = "m";
    options.version = "1";
    options.zone = "zone-1";
    options.started_at = absl::Now();
    options.backoff.base = std::chrono::milliseconds(1);
    options.backoff.cap = std::chrono::milliseconds(50);
    return options;
  }
  UplinkCallbacks Callbacks() {
    UplinkCallbacks callbacks;
    callbacks.log = [this](const absl::Status&, absl::string_view text) {
      MutexLock lock(&mutex_);
      lines_.emplace_back(text);
      changed_.NotifyAll();
    };
    callbacks.gave_up = [this](const absl::Status&, absl::string_view text) {
      MutexLock lock(&mutex_);
      gave_up_.emplace_back(text);
      changed_.NotifyAll();
    };
    callbacks.refused = [this](const std::string&, const absl::Status& status, bool first) {
      MutexLock lock(&mutex_);
      refusal_ = std::string(status.message()) + (first ? " first" : "");
      changed_.NotifyAll();
    };
    callbacks.reshape_failed = [this](const std::string&, const absl::Status& status) {
      MutexLock lock(&mutex_);
      refusal_ = absl::StrCat("reshape: ", status.message());
      changed_.NotifyAll();
    };
    callbacks.records_changed = [] {};
    callbacks.audit_ordered = [this](const std::string& order, const Uuid&) {
      MutexLock lock(&mutex_);
      order_ = order;
      changed_.NotifyAll();
    };
    return callbacks;
  }
  std::unique_ptr<Uplink> Connect(const UplinkOptions& options) {
    return std::make_unique<Uplink>(options, std::vector<Node*>{node_.get()}, Callbacks());
  }
  // Of node_, and of `second` if there is one.
  std::unique_ptr<Uplink> Connect(const FakePlacement& placement, Node* second = nullptr) {
    std::vector<Node*> nodes = {node_.get()};
    if (second != nullptr) nodes.push_back(second);
    return std::make_unique<Uplink>(OptionsFor(placement.target()), nodes, Callbacks());
  }

  // Waits until `holds`; looked at again whenever something was heard, or a little later.
  bool Eventually(const std::function<bool()>& holds) {
    const auto deadline = BootClock::now() + std::chrono::seconds(10);
    MutexLock lock(&mutex_);
    while (BootClock::now() < deadline) {
      mutex_.Unlock();
      const bool good = holds();
      mutex_.Lock();
      if (good) return true;
      changed_.WaitUntil(&mutex_, BootClock::now() + std::chrono::milliseconds(5));
    }
    return false;
  }
  // How many lines of the log have the text.
  int64_t Logged(const std::string& text) {
    MutexLock lock(&mutex_);
    return std::count(lines_.begin(), lines_.end(), text);
  }
  // The texts of the callback gave_up.
  std::vector<std::string> gave_up() {
    MutexLock lock(&mutex_);
    return gave_up_;
  }
  std::string refusal() {
    MutexLock lock(&mutex_);
    return refusal_;
  }
  std::string last_order() {
    MutexLock lock(&mutex_);
    return order_;
  }
  bool Settles() {
    return Eventually([this] { return node_->view().settled; });
  }

  // Pushes `known`, as placement has it, and passes again. Returns after two more heartbeats, before
  // which a report that the pass wants would have come.
  void PassAfterPush(FakePlacement& placement, Uplink& uplink, const KnownProvider& known) {
    FakePlacement::Response push = PushWithProvider(known);
    push.mutable_revision()->set_number(9);
    placement.Say(push);
    ASSERT_TRUE(Eventually([&] { return node_->view().told_up_to.has_value(); }));
    Pass();
    uplink.Notify();
    const int64_t beats = uplink.status().heartbeats;
    ASSERT_TRUE(Eventually([&] { return uplink.status().heartbeats > beats + 2; }));
  }
  FakePlacement::Response PushWithProvider(const KnownProvider& known) {
    FakePlacement::Response response;
    placement::v1::Push* const push = response.mutable_push();
    push->set_node_uuid(uuid_);
    push->set_complete(true);
    placement::v1::Provider* const provider = push->add_providers();
    provider->set_uuid(known.uuid.ToString());
    provider->set_name(known.name);
    provider->set_generation(known.generation);
    for (const auto& [name, inventory] : known.inventories) {
      placement::v1::Inventory& item = (*provider->mutable_inventories())[name];
      item.set_total(inventory.total);
      item.set_reserved(inventory.reserved);
      item.set_max_unit(inventory.max_unit);
      item.set_allocation_ratio(inventory.allocation_ratio);
    }
    for (const std::string& trait : known.traits) provider->add_traits(trait);
    return response;
  }

  HypervisorEventLoop loop_;
  DeadlinePool pool_{DeadlinePool::Options()};
  std::string state_;
  std::unique_ptr<Node> node_;
  std::string uuid_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> lines_;
  std::vector<std::string> gave_up_;
  std::string refusal_;
  std::string order_;
};

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_UPLINK_FIXTURE_H_
