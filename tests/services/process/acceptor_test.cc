// The bounds of a server's connections, over real sockets: raw ones that never finish a handshake,
// and what becomes of those that are too many.
#include "services/process/acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "absl/strings/match.h"
#include "tests/services/process/acceptor_fixture.h"

namespace berth::services {
namespace {

using ::grpc::health::v1::Health;
using placement::BootNow;
using placement::BootTime;
using ::testing::HasSubstr;

constexpr char kHttp2[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

bool HasIpv6() { return absl::StrContains(WhyNotListen("[::1]:0"), "is free now"); }

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  return std::distance(begin(descriptors), end(descriptors));
}

class AcceptorTest : public AcceptorFixture {};

TEST_F(AcceptorTest, WhoDoesNotFinishAHandshakeIsClosed) {
  options_.handshake_max = absl::Seconds(1);
  Serve(/*with_tls=*/true);
  const RawConnection silent(address(), 1);
  const RawConnection hello(address(), 2);
  hello.Send(RawHandshake(client_).Hello());
  const RawConnection finished(address(), 3);
  RawHandshake handshake(client_);
  ASSERT_TRUE(handshake.Finish(finished));
  const BootTime begun = BootNow();
  EXPECT_FALSE(silent.IsClosed());
  EXPECT_TRUE(
      Eventually([&] { return silent.IsClosed() && hello.IsClosed() && finished.IsClosed(); }));
  EXPECT_LT(BootNow() - begun, absl::Seconds(10));
  EXPECT_TRUE(Eventually([&] { return connections().Count() == 0; }));
  EXPECT_EQ(connections().refused(ConnectionRefusal::kSilent),
            1);  // gRPC has closed the others
}

TEST_F(AcceptorTest, WithoutTlsToo) {
  options_.handshake_max = absl::Seconds(1);
  Serve(/*with_tls=*/false);
  const RawConnection silent(address(), 1);
  const RawConnection half(address(), 2);
  half.Send("PRI");
  const RawConnection preface(address(), 3);
  preface.Send(kHttp2);  // without the settings that have to follow
  const auto client = Client();
  Check(client.get());
  EXPECT_TRUE(
      Eventually([&] { return silent.IsClosed() && half.IsClosed() && preface.IsClosed(); }));
  EXPECT_TRUE(Eventually([&] { return connections().Count() == 1; }));
  Check(client.get());
}

TEST_F(AcceptorTest, TenThousandConnectionsInTurnLeaveNothing) {
  options_.connections_max = 200;
  Serve(/*with_tls=*/false);
  const size_t before = OpenDescriptors();
  for (int i = 0; i < 10'000; ++i) {
    const RawConnection raw(address(), i % 200);
    raw.Send(kHttp2);
    if (i % 100 != 0) continue;
    EXPECT_TRUE(Eventually([&] { return connections().Count() < 50; })) << i;
  }
  EXPECT_TRUE(Eventually([&] { return connections().Count() == 0; }));
  EXPECT_TRUE(Eventually([&] { return connections().beginning() == 0; }));
  EXPECT_TRUE(Eventually([&] { return OpenDescriptors() <= before; }));
  EXPECT_EQ(connections().refused(ConnectionRefusal::kFull), 0);
  EXPECT_EQ(connections().refused(ConnectionRefusal::kShare), 0);
}

TEST_F(AcceptorTest, TheFirstCallEndsTheBeginningOfAConnection) {
  if (HasIpv6()) options_.listen.emplace_back("[::1]:0");
  Serve(/*with_tls=*/true);
  for (const std::string& listener : server_->addresses()) {
    const auto stub = Health::NewStub(
        testing::OwnChannel(listener, testing::ClientCredentials(client_, ca_.pem())));
    Check(stub.get());
    EXPECT_EQ(connections().beginning(), 0) << listener;
    EXPECT_EQ(connections().Count(), 1);
  }
}

TEST_F(AcceptorTest, OneAddressDoesNotTakeTheConnectionsOfOthers) {
  options_.connections_max = 30;
  Serve(/*with_tls=*/false);
  std::vector<std::unique_ptr<Health::Stub>> ours;
  for (int i = 0; i < 20; ++i) {
    ours.push_back(Client());
    Check(ours.back().get());
  }
  EXPECT_EQ(connections().Count(), 20);
  const RawConnection refused(address(), 0);
  EXPECT_TRUE(Eventually([&] { return refused.IsClosed(); }));
  EXPECT_EQ(connections().refused(ConnectionRefusal::kShare), 1);
  const RawConnection other(address(), 1);
  other.Send(kHttp2);
  EXPECT_TRUE(Eventually([&] { return connections().Count() == 21; }));
  EXPECT_FALSE(other.IsClosed());
  ours.pop_back();
  ours.pop_back();
  EXPECT_TRUE(Eventually([&] { return connections().Count() == 19; }));
  const auto again = Client();
  Check(again.get());
}

TEST_F(AcceptorTest, MoreThanThereMayBeAreClosedAtOnce) {
  options_.connections_max = 10;
  Serve(/*with_tls=*/false);
  std::vector<RawConnection> raws;
  for (int i = 0; i < 10; ++i) {
    raws.emplace_back(address(), i);
    raws.back().Send(kHttp2);
  }
  EXPECT_TRUE(Eventually([&] { return connections().Count() == 10; }));
  const RawConnection refused(address(), 10);
  EXPECT_TRUE(Eventually([&] { return refused.IsClosed(); }));
  EXPECT_EQ(connections().refused(ConnectionRefusal::kFull), 1);
  for (const RawConnection& raw : raws) EXPECT_FALSE(raw.IsClosed());
}

TEST_F(AcceptorTest, WithoutDescriptorsAConnectionWaits) {
  Serve(/*with_tls=*/false);
  const auto before = Client();
  Check(before.get());
  RawConnection late(address(), 1, /*connects=*/false);
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {0, limit.rlim_max};
  ::testing::internal::CaptureStderr();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  late.Connect();
  late.Send(kHttp2);
  // A line is written as soon as the connection has to wait.
  EXPECT_TRUE(Eventually([] { return lseek(STDERR_FILENO, 0, SEEK_CUR) > 0; }));
  Check(before.get());
  EXPECT_FALSE(late.IsClosed());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(Eventually([&] { return connections().Count() == 2; }));
  EXPECT_FALSE(late.IsClosed());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("a connection has to wait"));
}

TEST_F(AcceptorTest, NamesAndWildcardsAreListenedOn) {
  options_.insecure_listen = true;
  for (const std::string listen : {"localhost:0", "0.0.0.0:0", "[::]:0"}) {
    options_.listen = {listen};
    Serve(/*with_tls=*/false);
    const std::string port = address().substr(address().rfind(':'));
    for (const std::string host : {"127.0.0.1", "[::1]"}) {
      if (host == "[::1]" && (!HasIpv6() || listen == "localhost:0")) continue;
      const auto stub =
          Health::NewStub(testing::OwnChannel(host + port, grpc::InsecureChannelCredentials()));
      Check(stub.get());
    }
  }
}

}  // namespace
}  // namespace berth::services
