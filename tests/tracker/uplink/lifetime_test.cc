// How an uplink lives without a thread of its own: what it shares, and how it ends at any moment.
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "tests/processes/taken_port.h"
#include "tests/tracker/uplink/fixture.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/uplink/uplink.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;
using Requests = std::vector<FakePlacement::Request>;

constexpr std::chrono::seconds kEndMax{30};
constexpr std::chrono::milliseconds kMoment{1};

class LifetimeTest : public UplinkTest {
 protected:
  void AwaitSessionsWithoutAWelcome(size_t count);
};

// How many threads this process has.
int64_t Threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

// Destroys the uplink; returns how long that took.
BootClock::duration End(std::unique_ptr<Uplink> uplink) {
  const auto begun = BootClock::now();
  uplink.reset();
  return BootClock::now() - begun;
}

// Waits until another uplink has had `count` sessions that placement did not welcome in 20 ms.
void LifetimeTest::AwaitSessionsWithoutAWelcome(size_t count) {
  FakePlacement placement;
  placement.welcomes = false;
  UplinkOptions options = OptionsFor(placement.target());
  options.connect_patience = std::chrono::milliseconds(20);
  options.backoff.base = options.backoff.cap = kMoment;
  const auto uplink = Connect(options);
  ASSERT_TRUE(placement.Wait([&](const Requests& all) { return all.size() >= count; }));
}

TEST_F(UplinkTest, ManyUplinksNeedNoThreads) {
  constexpr int kUplinks = 50;
  constexpr int kThreadsOfGrpcMax = 20;
  const TakenPort silent;  // takes connections and never says a word
  std::vector<std::unique_ptr<Uplink>> uplinks;
  const int64_t before = Threads();
  for (int i = 0; i < kUplinks; ++i) uplinks.push_back(Connect(OptionsFor(silent.address())));
  EXPECT_LT(Threads(), before + kThreadsOfGrpcMax);
}

TEST_F(UplinkTest, SharesAConnectionOnlyIfItIsGivenOne) {
  FakePlacement placement;
  UplinkOptions options = OptionsFor(placement.target());
  const auto count_hellos = [&placement](size_t count) {
    return placement.Wait([count](const Requests& all) {
      size_t hellos = 0;
      for (const auto& request : all) hellos += request.has_hello() ? 1 : 0;
      return hellos >= count;
    });
  };
  const auto first = Connect(options);
  const auto second = Connect(options);
  ASSERT_TRUE(count_hellos(2));
  EXPECT_EQ(placement.peers().size(), 2u);
  options.channel = Uplink::OpenChannel(options);
  const auto third = Connect(options);
  const auto fourth = Connect(options);
  ASSERT_TRUE(count_hellos(4));
  EXPECT_EQ(placement.peers().size(), 3u);
}

// A message that placement does not read occupies the stream only in one direction.
TEST_F(UplinkTest, HearsWhilePlacementDoesNotRead) {
  FakePlacement placement;
  placement.reads = false;
  auto uplink = Connect(placement);
  ASSERT_TRUE(Eventually([&] { return uplink->status().state == Uplink::State::kConnected; }));
  uplink->AuditDone(std::string(4 << 20, 'x'));  // more than gRPC buffers
  // While the message cannot be sent, no heartbeat is sent.
  int64_t beats = -1;
  auto since = BootClock::now();
  ASSERT_TRUE(Eventually([&] {
    const auto now = BootClock::now();
    if (std::exchange(beats, uplink->status().heartbeats) != beats) since = now;
    return now - since > std::chrono::milliseconds(500);
  }));
  FakePlacement::Response push;
  push.mutable_push()->set_node_uuid(uuid_);
  push.mutable_push()->set_complete(true);
  push.mutable_revision()->set_number(9);
  placement.Say(push);
  EXPECT_TRUE(Eventually([&] { return node_->view().told_up_to.has_value(); }));
  EXPECT_LT(End(std::move(uplink)), kEndMax);
}

TEST_F(UplinkTest, EndsAtOnceAtAnyMoment) {
  const auto seen = [this](FakePlacement& placement, Uplink& uplink, int moment) {
    if (moment == 1) return placement.Wait([](const Requests& all) { return !all.empty(); });
    if (moment == 2) {
      return Eventually([&] { return uplink.status().state == Uplink::State::kConnected; });
    }
    if (moment == 3) return placement.Wait([](const Requests& all) { return all.size() > 2; });
    return true;
  };
  for (int moment = 0; moment <= 3; ++moment) {
    for (int repeat = 0; repeat < 10; ++repeat) {
      FakePlacement placement;
      auto uplink = Connect(placement);
      ASSERT_TRUE(seen(placement, *uplink, moment)) << moment;
      if (repeat % 3 == 1) uplink->Notify();
      if (repeat % 3 == 2) placement.EndSession();
      EXPECT_LT(End(std::move(uplink)), kEndMax) << moment;
    }
  }
}

TEST_F(UplinkTest, EndsAtOnceWhileNobodyAnswers) {
  const TakenPort silent;
  EXPECT_LT(End(Connect(OptionsFor(silent.address()))), kEndMax);
  FakePlacement placement;
  placement.welcomes = false;
  auto unwelcome = Connect(placement);
  ASSERT_TRUE(placement.Wait([](const Requests& all) { return !all.empty(); }));
  EXPECT_LT(End(std::move(unwelcome)), kEndMax);
  UplinkOptions options = OptionsFor("127.0.0.1:1");
  options.backoff.base = options.backoff.cap = std::chrono::hours(24);
  auto waiting = Connect(options);
  ASSERT_TRUE(Eventually([&] { return !waiting->status().error.empty(); }));
  EXPECT_LT(End(std::move(waiting)), kEndMax);
}

TEST_F(UplinkTest, GivesUpASessionWithoutAWelcome) {
  FakePlacement placement;
  placement.welcomes = false;
  UplinkOptions options = OptionsFor(placement.target());
  options.connect_patience = std::chrono::milliseconds(50);
  const auto uplink = Connect(options);
  EXPECT_TRUE(placement.Wait([](const Requests& all) { return all.size() >= 3; }));
  EXPECT_EQ(uplink->status().error, "placement did not answer");
  EXPECT_EQ(uplink->status().sessions, 0);
}

// A connection may have to wait for its turn at placement.
TEST_F(LifetimeTest, WaitsForAWelcomeOnlyWhenItIsConnected) {
  const TakenPort busy;
  UplinkOptions options = OptionsFor(busy.address());
  options.connect_patience = kMoment;
  const auto uplink = Connect(options);
  const int connection = busy.Accept();
  ASSERT_GE(connection, 0);
  AwaitSessionsWithoutAWelcome(3);
  EXPECT_EQ(uplink->status().error, "");
  close(connection);
  ASSERT_TRUE(Eventually([&] { return !uplink->status().error.empty(); }));
  EXPECT_NE(uplink->status().error, "placement did not answer");
}

// A channel of gRPC that has failed lets calls fail until it has connected again.
TEST_F(LifetimeTest, WaitsForEachConnectionAfterAFailure) {
  const TakenPort busy;
  std::atomic<int> failures = 0;
  UplinkCallbacks callbacks = Callbacks();
  callbacks.log = [&](const absl::Status&, absl::string_view) { ++failures; };  // 1st, 11th ...
  UplinkOptions options = OptionsFor(busy.address());
  options.connect_patience = options.backoff.base = options.backoff.cap = kMoment;
  const Uplink uplink(options, {node_.get()}, callbacks);
  close(busy.Accept());
  const int second = busy.Accept();
  ASSERT_GE(second, 0);
  EXPECT_EQ(failures, 1);
  AwaitSessionsWithoutAWelcome(30);
  EXPECT_EQ(failures, 1);
  close(second);
}

// The channel of gRPC would connect again after a second.
TEST_F(LifetimeTest, DoesNotConnectBetweenTwoSessions) {
  const TakenPort closing;
  UplinkOptions options = OptionsFor(closing.address());
  options.backoff.base = options.backoff.cap = std::chrono::hours(24);
  const auto uplink = Connect(options);
  close(closing.Accept());
  EXPECT_EQ(closing.Accept(2), -1);
  EXPECT_EQ(Logged("there is no session with placement"), 1);
}

TEST_F(LifetimeTest, GivesUpIfTheHelloIsNotSent) {
  const TakenPort silent;
  UplinkOptions options = OptionsFor(silent.address());
  options.hello_patience = kMoment;
  const auto uplink = Connect(options);
  ASSERT_TRUE(Eventually([&] { return !uplink->status().error.empty(); }));
  EXPECT_EQ(uplink->status().error, "placement did not answer");
}

TEST_F(UplinkTest, ACallbackMayCallTheUplink) {
  FakePlacement placement;
  std::unique_ptr<Uplink> uplink;
  UplinkCallbacks callbacks = Callbacks();
  callbacks.audit_ordered = [&](const std::string& order_id, const Uuid&) {
    uplink->Notify();
    uplink->Greet();
    uplink->AuditDone(order_id);
  };
  uplink = std::make_unique<Uplink>(OptionsFor(placement.target()), std::vector<Node*>{node_.get()},
                                    callbacks);
  ASSERT_TRUE(placement.WaitForReports(1));
  FakePlacement::Response order;
  order.mutable_audit_order()->set_order_id("o1");
  placement.Say(order);
  EXPECT_TRUE(placement.WaitForAuditDone("o1"));
}

TEST_F(UplinkTest, ManyNotificationsAreOneLook) {
  FakePlacement placement;
  const auto uplink = Connect(placement);
  ASSERT_TRUE(placement.WaitForReports(1));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&uplink] {
      for (int n = 0; n < 10'000; ++n) uplink->Notify();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const int64_t beats = uplink->status().heartbeats;
  EXPECT_TRUE(Eventually([&] { return uplink->status().heartbeats > beats + 2; }));
  EXPECT_EQ(placement.reports().size(), 1u);
}

}  // namespace
}  // namespace berth::tracker
