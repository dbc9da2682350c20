// Who may have how many connections, and how the end of a connection is noticed, without a server.
#include "services/process/open_connections.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

namespace berth::services {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kNow = absl::Hours(1);

sockaddr_storage AddressOf(const std::string& text, int port) {
  sockaddr_storage address = {};
  sockaddr_in four = {};
  sockaddr_in6 six = {};
  if (inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&address, &four, sizeof four);
  } else if (inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&address, &six, sizeof six);
  }
  return address;
}

// A connection of this process with itself.
class Pair {
 public:
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0); }
  ~Pair() {
    Close();
    close(ends_[1]);
  }
  int descriptor() const { return ends_[0]; }
  void Close() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  // Sends something to the end that is counted.
  void Send() const { EXPECT_EQ(send(ends_[1], "a", 1, 0), 1); }

 private:
  int ends_[2] = {-1, -1};
};

void Connect(int descriptor, const Peer& peer, OpenConnections* connections) {
  connections->Come(peer.origin);
  connections->Begin(descriptor, peer, kNow);
}

void Begin(const std::string& peer, OpenConnections* connections) {
  connections->NoteCall([&peer] { return peer; });
}

TEST(PlacesTest, OneOriginAloneMayHaveTwoThirds) {
  Places places(90);
  int entered = 0;
  for (; places.MayEnter(1); ++entered) places.Enter(1);
  EXPECT_EQ(entered, 60);
  EXPECT_TRUE(places.UsesUpShare(1));
  EXPECT_TRUE(places.MayEnter(2));
}

TEST(PlacesTest, AnOriginHasATenthAlsoIfLittleIsFree) {
  Places places(90);
  for (; places.MayEnter(1);) places.Enter(1);
  for (Origin origin = 2; origin <= 3; ++origin) {
    int entered = 0;
    for (; places.MayEnter(origin); ++entered) places.Enter(origin);
    EXPECT_GE(entered, 9) << origin;
  }
  EXPECT_TRUE(places.MayEnter(4));  // the last one
  Places small(5);
  EXPECT_TRUE(small.MayEnter(1));  // one place at least
}

TEST(PlacesTest, WhoLeavesMakesRoom) {
  Places places(3);
  for (Origin origin = 1; origin <= 3; ++origin) places.Enter(origin);
  EXPECT_TRUE(places.full());
  EXPECT_FALSE(places.MayEnter(4));
  EXPECT_FALSE(places.UsesUpShare(4));
  places.Leave(2);
  EXPECT_TRUE(places.MayEnter(4));
  EXPECT_EQ(places.size(), 2);
}

TEST(PeerTest, HasTheNameThatGrpcGivesItAndItsNetwork) {
  EXPECT_EQ(PeerOf(AddressOf("192.0.2.7", 80)).name, "ipv4:192.0.2.7:80");
  EXPECT_EQ(PeerOf(AddressOf("::ffff:192.0.2.7", 80)).name, "ipv4:192.0.2.7:80");
  EXPECT_EQ(PeerOf(AddressOf("2001:db8::1", 443)).name, "ipv6:%5B2001:db8::1%5D:443");
  const auto origin = [](const char* text) { return PeerOf(AddressOf(text, 1)).origin; };
  EXPECT_EQ(origin("192.0.2.7"), origin("::ffff:192.0.2.7"));
  EXPECT_NE(origin("192.0.2.7"), origin("192.0.2.8"));
  EXPECT_EQ(origin("2001:db8::1"), origin("2001:db8::ffff:0:0:1"));  // one /64
  EXPECT_NE(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
}

TEST(ConnectionBoundsTest, FollowFromTheFilesThatMayBeOpen) {
  struct Case {
    int given;
    int64_t files;
    int connections;
    int beginning;
  };
  const Case cases[] = {{0, 1 << 20, 20'000, 256}, {0, 65'536, 20'000, 256},
                        {0, 20'000, 19'488, 256},  {0, 1'024, 896, 89},
                        {0, 64, 32, 64},           {30'000, 65'536, 30'000, 256},
                        {100, 20'000, 100, 64},    {1'000, 20'000, 1'000, 100}};
  for (const Case& one : cases) {
    const auto bounds = ConnectionBoundsFor(one.given, one.files);
    ASSERT_TRUE(bounds.ok()) << bounds.status();
    EXPECT_EQ(bounds->connections_max, one.connections) << one.files;
    EXPECT_EQ(bounds->beginning_max, one.beginning) << one.files;
  }
}

TEST(ConnectionBoundsTest, AreRefusedIfTheyMakeNoSenseOrThereAreTooFewFiles) {
  for (const int given : {-1, 1'000'001}) {
    const auto bounds = ConnectionBoundsFor(given, 1 << 30);
    EXPECT_EQ(bounds.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(bounds.status().message(), HasSubstr("--connections-max is "));
  }
  const auto bounds = ConnectionBoundsFor(20'000, 20'000);
  EXPECT_EQ(bounds.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(bounds.status().message(), HasSubstr("enough for 19488 connections"));
}

TEST(OpenConnectionsTest, AnEndIsNoticedAlsoIfTheDescriptorIsUsedAgain) {
  OpenConnections connections({100, 64});
  for (int i = 0; i < 1'000; ++i) {
    Pair pair;  // gets the descriptors of the pair before
    Connect(pair.descriptor(), {1, "ipv4:192.0.2.1:1"}, &connections);
    Begin("ipv4:192.0.2.1:1", &connections);
    EXPECT_EQ(connections.Count(), 1) << i;
  }
  EXPECT_EQ(connections.Count(), 0);
}

TEST(OpenConnectionsTest, AConnectionBeginsUntilItsFirstCall) {
  OpenConnections connections({100, 64});
  Pair first;
  Pair second;
  Connect(first.descriptor(), {1, "ipv4:192.0.2.1:1"}, &connections);
  Connect(second.descriptor(), {1, "ipv4:192.0.2.1:2"}, &connections);
  EXPECT_EQ(connections.beginning(), 2);
  connections.NoteCall([] { return "ipv4:192.0.2.1:2"; });
  EXPECT_EQ(connections.beginning(), 1);
  connections.NoteCall([] { return "ipv4:192.0.2.1:2"; });  // its second call
  EXPECT_EQ(connections.beginning(), 1);
  first.Close();
  connections.LookAtBeginning(kNow, false);
  EXPECT_EQ(connections.beginning(), 0);
  EXPECT_EQ(connections.Count(), 1);
}

TEST(OpenConnectionsTest, WhoTakesLongLosesItsPlaceOnlyIfOthersWait) {
  OpenConnections connections({100, 64});
  Pair pair;
  Connect(pair.descriptor(), {1, "ipv4:192.0.2.1:1"}, &connections);
  connections.LookAtBeginning(kNow + absl::Seconds(9), false);
  connections.LookAtBeginning(kNow + absl::Milliseconds(999), true);
  EXPECT_EQ(connections.beginning(), 1);
  connections.LookAtBeginning(kNow + absl::Seconds(1), true);
  EXPECT_EQ(connections.beginning(), 0);
  EXPECT_EQ(connections.Count(), 1);  // it counts until gRPC has closed it
  pair.Close();
  EXPECT_EQ(connections.Count(), 0);
}

TEST(OpenConnectionsTest, WhoWaitsForThisProcessKeepsItsPlace) {
  OpenConnections connections({100, 64});
  Pair pair;
  Connect(pair.descriptor(), {1, "ipv4:192.0.2.1:1"}, &connections);
  pair.Send();
  connections.LookAtBeginning(kNow + absl::Seconds(9), true);
  EXPECT_EQ(connections.beginning(), 1);
}

TEST(OpenConnectionsTest, WhomGrpcHasNotClosedInTimeHasBegun) {
  OpenConnections connections({100, 64});
  Pair pair;
  Connect(pair.descriptor(), {1, "ipv4:192.0.2.1:1"}, &connections);
  connections.LookAtBeginning(kNow + absl::Seconds(11), false);
  EXPECT_EQ(connections.beginning(), 0);
}

TEST(OpenConnectionsTest, ARefusalComesOnlyIfThoseThatAreCountedAreStillThere) {
  OpenConnections connections({3, 64});
  Pair pairs[3];
  for (int i = 0; i < 2; ++i) {
    const std::string name = "ipv4:192.0.2.1:" + std::to_string(i);
    EXPECT_FALSE(connections.WhyNot(1, kNow).has_value());
    Connect(pairs[i].descriptor(), {1, name}, &connections);
    Begin(name, &connections);
  }
  EXPECT_EQ(connections.WhyNot(1, kNow), ConnectionRefusal::kShare);
  EXPECT_FALSE(connections.WhyNot(2, kNow).has_value());
  Connect(pairs[2].descriptor(), {2, "ipv4:192.0.2.2:1"}, &connections);
  Begin("ipv4:192.0.2.2:1", &connections);
  EXPECT_EQ(connections.WhyNot(3, kNow), ConnectionRefusal::kFull);
  pairs[0].Close();
  pairs[1].Close();
  EXPECT_FALSE(connections.WhyNot(3, kNow + absl::Seconds(1)).has_value());
  EXPECT_FALSE(connections.WhyNot(1, kNow + absl::Seconds(1)).has_value());
}

TEST(OpenConnectionsTest, TheLimitOfFilesIsRaisedAsFarAsNeeded) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  RaiseFileLimit({140, 64});
  rlimit after = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, 172u);  // 140 and 32 for other things
  EXPECT_EQ(after.rlim_max, before.rlim_max);
  RaiseFileLimit({10, 10});
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, 172u);  // it is never lowered
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace berth::services
