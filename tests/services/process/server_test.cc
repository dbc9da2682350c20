// The server by itself, over real sockets: listeners, health, reflection, the graceful stop.
#include "services/process/server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/security/credentials.h"
#include "tests/processes/as_nobody.h"

namespace berth::services {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;

ServerOptions Loopback() {
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.drain_max = absl::Seconds(20);
  return options;
}

std::unique_ptr<grpc::health::v1::Health::Stub> HealthStub(const std::string& address) {
  return grpc::health::v1::Health::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

TEST(ServerTest, ListensOnChosenPortsAndSaysWhere) {
  ServerOptions options = Loopback();
  const std::string socket_path = ::testing::TempDir() + "berth-server-test.sock";
  options.listen.push_back("unix:" + socket_path);
  options.address_file = ::testing::TempDir() + "addresses";
  const auto server = Server::Start(options, {});
  ASSERT_TRUE(server.ok()) << server.status();
  std::ifstream file(options.address_file);
  for (const std::string& address : (*server)->addresses()) {
    std::string line;
    ASSERT_TRUE(std::getline(file, line));
    EXPECT_EQ(line, address);
    (*server)->health().Set("", true);
    grpc::ClientContext context;
    HealthCheckResponse response;
    ASSERT_TRUE(HealthStub(address)->Check(&context, {}, &response).ok()) << address;
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  }
}

TEST(ServerTest, RefusesWhatItCannotOrShouldNotDo) {
  const auto first = Server::Start(Loopback(), {});
  ASSERT_TRUE(first.ok());
  struct Case {
    std::string listen;
    std::string address_file;
    absl::StatusCode code;
    const char* said;
  };
  const Case cases[] = {
      {(*first)->addresses()[0], "", absl::StatusCode::kUnavailable, "is taken by another process"},
      {"unix:/nowhere/at/all", "", absl::StatusCode::kUnavailable, "its directory must exist"},
      {"0.0.0.0:0", "", absl::StatusCode::kFailedPrecondition, "--insecure-listen"},
      {"nowhere", "", absl::StatusCode::kInvalidArgument, "HOST:PORT"},
      {"127.0.0.1:0", "/nowhere/at/all", absl::StatusCode::kPermissionDenied, "address file"},
  };
  for (const Case& refused : cases) {
    ServerOptions options = Loopback();
    options.listen = {refused.listen};
    options.address_file = refused.address_file;
    const auto server = Server::Start(options, {});
    EXPECT_EQ(server.status().code(), refused.code) << server.status();
    EXPECT_THAT(server.status().message(), HasSubstr(refused.said));
  }
}

TEST(ServerTest, AnAddressThatCannotBeUsedIsToldWithTheReason) {
  EXPECT_THAT(WhyNotListen("192.0.2.1:0"), HasSubstr("is not one of this machine"));
  EXPECT_THAT(WhyNotListen("[2001:db8::1]:0"), HasSubstr("is not one of this machine"));
  EXPECT_THAT(WhyNotListen("host.invalid:0"), HasSubstr("this is no address"));
  EXPECT_THAT(WhyNotListen("127.0.0.1:0"), HasSubstr("is free now"));
}

TEST(ServerTest, WithoutTheRightToAPortTheRefusalSaysSo) {
  int first_free = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_free;
  ServerOptions options = Loopback();
  options.listen = {"127.0.0.1:0", "127.0.0.1:1"};
  const testing::AsNobody as_nobody;
  const auto server = Server::Start(options, {});
  if (first_free <= 1) return;  // everybody has the right
  EXPECT_EQ(server.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(
      server.status().message(),
      "cannot listen on 127.0.0.1:1: this user has no right to listen on port 1; choose a port "
      "from 1024 up, or give the process the capability CAP_NET_BIND_SERVICE");
}

TEST(ServerTest, HealthIsAnsweredPerService) {
  const auto server = Server::Start(Loopback(), {});
  ASSERT_TRUE(server.ok());
  (*server)->health().Set("a.Service", false);
  const auto stub = HealthStub((*server)->addresses()[0]);
  HealthCheckRequest request;
  HealthCheckResponse response;
  request.set_service("a.Service");
  grpc::ClientContext first;
  ASSERT_TRUE(stub->Check(&first, request, &response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  request.set_service("b.Service");
  grpc::ClientContext second;
  EXPECT_EQ(stub->Check(&second, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

// Many times what a first read has room for, as it is and compressed: only answers never are.
TEST(ServerTest, LongAndCompressedRequestsAreUnderstood) {
  const auto server = Server::Start(Loopback(), {});
  ASSERT_TRUE(server.ok());
  const std::string name(1 << 20, 'a');
  (*server)->health().Set(name, true);
  const auto stub = HealthStub((*server)->addresses()[0]);
  HealthCheckRequest request;
  request.set_service(name);
  for (const auto algorithm : {GRPC_COMPRESS_NONE, GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    HealthCheckResponse response;
    const grpc::Status status = stub->Check(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  }
}

TEST(ServerTest, TooManyMetadataAreRefused) {
  const auto server = Server::Start(Loopback(), {});
  ASSERT_TRUE(server.ok());
  (*server)->health().Set("", true);
  const auto stub = HealthStub((*server)->addresses()[0]);
  for (const size_t kibibytes : {7, 9}) {
    grpc::ClientContext context;
    context.AddMetadata("x-filler", std::string(kibibytes << 10, 'a'));
    HealthCheckResponse response;
    EXPECT_EQ(stub->Check(&context, {}, &response).error_code(),
              kibibytes < 8 ? grpc::StatusCode::OK : grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
}

TEST(ServerTest, AWatchSeesTheStopAndDoesNotHoldItUp) {
  const auto server = Server::Start(Loopback(), {});
  ASSERT_TRUE(server.ok());
  (*server)->health().Set("", true);
  const auto stub = HealthStub((*server)->addresses()[0]);
  grpc::ClientContext context;
  HealthCheckResponse response;
  const auto watch = stub->Watch(&context, {});
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  std::thread drain([&] { EXPECT_TRUE((*server)->Drain([] {})); });
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  drain.join();
}

TEST(CheckListenersTest, TheAgeOfAConnectionHasBounds) {
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  for (const absl::Duration age : {absl::Seconds(1), absl::Hours(24)}) {
    options.connection_age_max = age;
    EXPECT_TRUE(CheckListeners(options).ok()) << age;
  }
  for (const absl::Duration age :
       {absl::ZeroDuration(), absl::Milliseconds(999), absl::Hours(25)}) {
    options.connection_age_max = age;
    EXPECT_EQ(CheckListeners(options).code(), absl::StatusCode::kInvalidArgument) << age;
  }
}

}  // namespace
}  // namespace berth::services
