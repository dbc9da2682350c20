// What a tracker's beats say of its nodes.
#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/tracker/uplink/fixture.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/uplink/uplink.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using Requests = std::vector<FakePlacement::Request>;

// The beat that came last, or an empty one.
v1::Heartbeat LastBeat(const Requests& all) {
  return all.empty() ? v1::Heartbeat() : all.back().heartbeat();
}

TEST_F(UplinkTest, SaysThatAnAuditIsOverdue) {
  FakePlacement placement;
  Pass(-std::chrono::seconds(181));
  const auto uplink = Connect(placement);
  EXPECT_TRUE(placement.Wait([this](const Requests& all) {
    const v1::Heartbeat beat = LastBeat(all);
    return beat.nodes_size() == 1 && beat.nodes(0).node_uuid() == uuid_ &&
           beat.nodes(0).audit_overdue();  // T-293
  }));
  Pass();
  EXPECT_TRUE(placement.Wait([](const Requests& all) {
    const v1::Heartbeat beat = LastBeat(all);
    return beat.nodes_size() == 1 && !beat.nodes(0).audit_overdue();  // T-293
  }));
}

// One that no pass has found out anything about is the one to look after.
TEST_F(UplinkTest, SaysThatTheFirstAuditIsOverdue) {
  Node::Options options = node_->options();
  options.configuration.name.clear();
  options.configuration.uri = "test:///nowhere.xml";
  Node nowhere(options, &pool_, [](const HypervisorEvent&) {});
  nowhere.Pass(BootClock::now() - std::chrono::seconds(181));
  FakePlacement placement;
  const auto uplink = Connect(placement, &nowhere);
  EXPECT_TRUE(placement.Wait([](const Requests& all) {
    const v1::Heartbeat beat = LastBeat(all);
    return beat.nodes_size() == 2 && !beat.nodes(0).audit_overdue() &&
           beat.nodes(1).node_uuid().empty() && beat.nodes(1).audit_overdue();  // T-293, T-383
  }));
}

TEST_F(UplinkTest, BeatsAgainAfterAnOutageAndLogsItsBeginningAndItsEnd) {
  const std::string begins = "there is no session with placement";
  const std::string ends = "there is a session with placement again";
  auto placement = std::make_unique<FakePlacement>();
  const int port = placement->port();
  const auto uplink = Connect(*placement);
  ASSERT_TRUE(Eventually([&] { return uplink->status().heartbeats > 1; }));
  EXPECT_EQ(Logged(begins) + Logged(ends), 0);
  placement.reset();
  ASSERT_TRUE(Eventually([&] { return Logged(begins) >= 2; }));  // T-199: after ten failures
  const int64_t beats = uplink->status().heartbeats;
  EXPECT_EQ(Logged(ends), 0);
  placement = std::make_unique<FakePlacement>(port);
  EXPECT_TRUE(Eventually([&] { return uplink->status().heartbeats > beats + 1; }));  // T-289
  EXPECT_EQ(Logged(ends), 1);                                                        // T-289
}

TEST_F(UplinkTest, BeatsWhileAPassHangs) {
  FakePlacement placement;
  const auto uplink = Connect(placement);
  ASSERT_TRUE(Settles());
  // The calls of libvirt find no free thread.
  auto release = std::make_shared<std::promise<void>>();
  const std::shared_future<void> released = release->get_future().share();
  const auto held = std::make_shared<std::atomic<int>>(0);
  const auto hold = [held, released] {
    ++*held;
    released.wait();
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < DeadlinePool::Options().threads_max; ++i) {
    callers.emplace_back([&] { pool_.Run("a call", hold, absl::Seconds(60)).IgnoreError(); });
  }
  EXPECT_TRUE(Eventually([&] { return *held == DeadlinePool::Options().threads_max; }));
  std::atomic<bool> passed = false;
  std::thread pass([&] {
    Pass();
    passed = true;
  });
  const int64_t beats = uplink->status().heartbeats;
  EXPECT_TRUE(Eventually([&] { return uplink->status().heartbeats > beats + 3; }));  // T-290, T-381
  EXPECT_FALSE(passed) << "the pass hangs meanwhile";
  release->set_value();
  pass.join();
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace berth::tracker
