// Endpoints: which channel is next.
#include "services/client/cpp/endpoint.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/client/cpp/backoff.h"
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

// Addresses do not go through the resolver of names.
TEST(DialTest, NamesAndAddressesOfBothKindsAreReached) {
  for (const auto& [host, name] : {std::pair("127.0.0.1", "localhost"), {"[::1]", "[::1]"}}) {
    grpc::CallbackGenericService service;
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(absl::StrCat(host, ":0"), grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&service);
    const auto server = builder.BuildAndStart();
    if (server == nullptr) continue;  // a machine without IPv6
    for (const char* const each : {host, name}) {
      const auto channel = Dial(absl::StrCat(each, ":", port), nullptr);
      EXPECT_TRUE(Connect(channel.get(), absl::Seconds(30))) << each;
    }
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
