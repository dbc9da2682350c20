// Endpoints: which channel is next.
#include "services/client/cpp/endpoint.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/client/cpp/backoff.h"
#include "services/client/cpp/target.h"
#include "tests/processes/taken_port.h"

namespace berth::client {
namespace {

TEST(EndpointsTest, GoOnToTheNextProcessOnceForEachFailure) {
  Endpoints endpoints({"unix:/a", "unix:/b", "unix:/c"});
  const auto first = endpoints.Channel();
  EXPECT_EQ(endpoints.Channel(), first);
  // Two calls on one channel fail: the process that is called next is not passed over.
  endpoints.Failed(first);
  endpoints.Failed(first);
  const auto second = endpoints.Channel();
  EXPECT_NE(second, first);
  endpoints.Failed(second);
  const auto third = endpoints.Channel();
  endpoints.Failed(third);
  EXPECT_EQ((std::set<std::shared_ptr<grpc::Channel>>{first, second, third}).size(), 3U);
  EXPECT_EQ(endpoints.Channel(), first);
}

TEST(EndpointsTest, OneProcessIsCalledAgain) {
  Endpoints endpoints({"unix:/a"});
  const auto channel = endpoints.Channel();
  endpoints.Failed(channel);
  EXPECT_EQ(endpoints.Channel(), channel);
}

TEST(EndpointsTest, ARenewalReplacesEveryChannelWhenItIsDue) {
  Endpoints endpoints({"unix:/a", "unix:/b"});
  const auto first = endpoints.Channel();
  endpoints.Failed(first);
  const auto second = endpoints.Channel();
  endpoints.Renew(grpc::InsecureChannelCredentials(), absl::Hours(10'000));
  EXPECT_EQ(endpoints.Channel(), second);
  EXPECT_EQ(endpoints.renewals(), 0);
  endpoints.Renew(grpc::InsecureChannelCredentials(), absl::ZeroDuration());
  EXPECT_EQ(endpoints.renewals(), 1);
  // A second renewal does not put off the first.
  endpoints.Renew(grpc::InsecureChannelCredentials(), absl::ZeroDuration());
  endpoints.Renew(grpc::InsecureChannelCredentials(), absl::Hours(10'000));
  EXPECT_EQ(endpoints.renewals(), 2);
  const auto renewed = endpoints.Channel();
  EXPECT_NE(renewed, second);
  // A call on an old channel that fails says nothing about the new connection.
  endpoints.Failed(second);
  EXPECT_EQ(endpoints.Channel(), renewed);
  endpoints.Failed(renewed);
  EXPECT_NE(endpoints.Channel(), first);
}

// The old certificate may be why, and the next connection is a new one anyway.
TEST(EndpointsTest, ACallThatFailsPutsARenewalToUse) {
  Endpoints endpoints({"unix:/a"});
  const auto first = endpoints.Channel();
  endpoints.Renew(grpc::InsecureChannelCredentials(), absl::Hours(10'000));
  EXPECT_EQ(endpoints.Channel(), first);
  endpoints.Failed(first);
  const auto second = endpoints.Channel();
  EXPECT_NE(second, first);
  EXPECT_EQ(endpoints.renewals(), 1);
  endpoints.Renew(grpc::InsecureChannelCredentials(), absl::Hours(10'000));
  endpoints.Failed(first);
  EXPECT_EQ(endpoints.Channel(), second);
}

TEST(EndpointsTest, AConnectionThatFailsIsNotWaitedFor) {
  const absl::Duration began = Now();
  EXPECT_FALSE(Connect(Dial("unix:/nowhere/at/all", nullptr).get(), absl::Hours(1)));
  EXPECT_LT(Now() - began, absl::Minutes(1));
  const TakenPort taken;
  EXPECT_FALSE(Connect(Dial(taken.address(), nullptr).get(), absl::Milliseconds(20)));
}

// The resolver of names takes no time of clients that have an address.
TEST(TargetOfTest, AddressesNeedNoResolverOfNames) {
  EXPECT_EQ(TargetOf("192.0.2.7:7400"), "ipv4:192.0.2.7:7400");
  EXPECT_EQ(TargetOf("[2001:db8::7]:7400"), "ipv6:[2001:db8::7]:7400");
  for (const char* const other :
       {"", "localhost:7400", "192.0.2.7", "192.0.2.7:", "192.0.2.7:https", "192.0.2:7400", ":7400",
        "2001:db8::7:7400", "[::1]", "[]:7400", "[localhost]:7400", "unix:/run/192.0.2.7:7400",
        "ipv4:192.0.2.7:7400", "ipv4:192.0.2.7:7400,192.0.2.8:7400", "dns:///192.0.2.7:7400"}) {
    EXPECT_EQ(TargetOf(other), other);
  }
}

TEST(BackoffTest, PausesGrowWithinTheirBounds) {
  Backoff backoff;
  absl::Duration longest;
  for (int i = 0; i < 200; ++i) {
    const absl::Duration pause = backoff.Next();
    EXPECT_GE(pause, kPauseMin);
    EXPECT_LE(pause, std::min(kPauseMax, kPauseMin * (int64_t{2} << std::min(i, 20))));
    longest = std::max(longest, pause);
  }
  EXPECT_GT(longest, kPauseMax / 2);
  backoff.Reset();
  EXPECT_LE(backoff.Next(), 2 * kPauseMin);
}

}  // namespace
}  // namespace berth::client
