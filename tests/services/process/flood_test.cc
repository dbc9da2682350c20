// Honest clients beside 5,000 raw connections that never finish a handshake.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/services/process/acceptor_fixture.h"

namespace berth::services {
namespace {

// How 5,000 raw connections come: from how many addresses, and what they say.
struct Flood {
  const char* name;
  int addresses;
  bool says_hello;
};

// Of the times, not the longest, because the machine may be busy with other things for a moment.
absl::Duration MedianOf(std::vector<absl::Duration> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

class FloodTest : public AcceptorFixture, public ::testing::WithParamInterface<Flood> {};

TEST_P(FloodTest, KeepsNoHonestClientOut) {
  options_.connections_max = 200;  // 64 of them may begin at once
  Serve(/*with_tls=*/true);
  const auto before = Client();
  Check(before.get());
  const std::string hello = GetParam().says_hello ? RawHandshake(client_).Hello() : "";
  std::vector<RawConnection> raws;
  raws.reserve(5'000);
  std::atomic<bool> is_there = false;
  std::atomic<bool> ends = false;
  std::thread flood([&] {
    for (int i = 0; i < 5'000; ++i) {
      raws.emplace_back(address(), 1 + i % GetParam().addresses);
      raws.back().Send(hello);
    }
    is_there = true;
    // Each that is closed comes again, a few hundred in a second.
    for (int i = 0; !ends; i = (i + 1) % 5'000) {
      if (!raws[i].IsClosed()) continue;
      const RawConnection closed =
          std::exchange(raws[i], RawConnection(address(), 1 + i % GetParam().addresses));
      raws[i].Send(hello);
      absl::SleepFor(absl::Milliseconds(2));
    }
  });
  std::vector<absl::Duration> connects;
  std::vector<absl::Duration> checks;
  for (int i = 0; i < 20; ++i) {
    // The first ten come while the flood rises.
    EXPECT_TRUE(i < 10 || Eventually([&] { return is_there.load(); }));
    connects.push_back(Check(Client().get()));
    checks.push_back(Check(before.get()));
  }
  EXPECT_LT(MedianOf(connects), absl::Seconds(1));
  EXPECT_LT(MedianOf(checks), absl::Milliseconds(500));
  ends = true;
  flood.join();
  EXPECT_GT(connections().refused(ConnectionRefusal::kSilent) +
                connections().refused(ConnectionRefusal::kShare),
            0);
}

// All that may begin have sent the first message of a handshake, and then nothing.
TEST_F(AcceptorFixture, ASlowHandshakeMakesWayForWhoWaits) {
  options_.connections_max = 200;
  options_.handshake_max = absl::Seconds(60);  // so that gRPC does not end them
  Serve(/*with_tls=*/true);
  std::vector<RawConnection> slow;
  for (int i = 0; i < 64; ++i) {
    slow.emplace_back(address(), 1 + i % 16);
    slow.back().Send(RawHandshake(client_).Hello());
  }
  EXPECT_TRUE(Eventually([&] { return connections().beginning() == 64; }));
  const absl::Duration took = Check(Client().get());
  EXPECT_GT(took, absl::Milliseconds(300));  // it had to wait
  EXPECT_LT(took, absl::Seconds(15));
  for (const RawConnection& one : slow) EXPECT_FALSE(one.IsClosed());
}

INSTANTIATE_TEST_SUITE_P(Floods, FloodTest,
                         ::testing::Values(Flood{"SilentFromOneAddress", 1, false},
                                           Flood{"SilentFromAllAddresses", 5'000, false},
                                           Flood{"HelloFromOneAddress", 1, true},
                                           Flood{"HelloFromFiveAddresses", 5, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace berth::services
