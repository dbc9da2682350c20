// What happens to connections and open calls when the right with which they were opened ends: the
// certificate expires, its CA is taken away, or its identity is denied. Over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/access/v1/access_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "services/process/server.h"
#include "services/tls/tls.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"

namespace berth::services {
namespace {

using ::berth::testing::CertificateAuthority;
using ::berth::testing::CertificateWords;
using ::berth::testing::IssuedCertificate;
using ::grpc::StatusCode;
using ::testing::HasSubstr;

constexpr char kLapseDomain[] = "d.example";
constexpr char kReader[] = "spiffe://d.example/reader/ann";
// How long after its end a call may still be open: three times what is promised.
constexpr absl::Duration kEndsWithin = absl::Seconds(3);

// A call with any number of messages; its requests are empty.
class LongCall {
 public:
  LongCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method)
      : stub_(channel) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    call_ =
        stub_.PrepareCall(&context_, method, &queue_);  // it takes the deadline from the context
    call_->StartCall(this);
    Done();
  }
  ~LongCall() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) continue;
  }

  void Send() {
    const grpc::Slice nothing("");
    call_->Write(grpc::ByteBuffer(&nothing, 1), this);
    Done();
  }
  // Waits for the next message. False: the call is over.
  bool Receive() {
    grpc::ByteBuffer answer;
    call_->Read(&answer, this);
    return Done();
  }
  // Waits for the end of the call.
  grpc::Status Ended() {
    while (Receive()) continue;
    grpc::Status status;
    call_->Finish(&status, this);
    Done();
    return status;
  }

 private:
  bool Done() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
    return ok;
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

class LapseTest : public ::testing::Test {
 protected:
  LapseTest() {
    directory_ = absl::StrCat(::testing::TempDir(), "berth-lapse-",
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }

  void Serve(absl::Duration connection_age_max = absl::Minutes(30)) {
    const auto paths = testing::WriteCertificates(directory_, "server",
                                                  ca_.Issue("spiffe://d.example/placement/p"),
                                                  ca_.pem() + other_.pem());
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    options.connection_age_max = connection_age_max;
    options.tls = {{paths.certificate, paths.key, paths.ca}, kLapseDomain};
    client::CertificateUse use;
    use.server = true;
    auto tls = Tls::Open(options.tls, use, [](bool, const std::string&) {});
    ASSERT_TRUE(tls.ok()) << tls.status();
    tls_ = *std::move(tls);
    auto server = Server::Start(options, {}, tls_.get(), &policy_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->health().Set("", true);
  }

  using Provider = grpc::experimental::CertificateProviderInterface;

  std::shared_ptr<grpc::Channel> Channel(const std::shared_ptr<Provider>& provider) {
    return testing::OwnChannel(server_->addresses()[0], testing::ClientCredentials(provider));
  }
  std::shared_ptr<grpc::Channel> Channel(const IssuedCertificate& own) {
    return testing::OwnChannel(server_->addresses()[0], testing::ClientCredentials(own, ca_.pem()));
  }

  static grpc::Status Check(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(10)));
    grpc::health::v1::HealthCheckResponse response;
    return grpc::health::v1::Health::NewStub(channel)->Check(&context, {}, &response);
  }

  static grpc::Status WhoAmI(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(10)));
    access::v1::WhoAmIResponse response;
    return access::v1::AccessService::NewStub(channel)->WhoAmI(&context, {}, &response);
  }

  // The calls that stay open as long as their client wants: a silent stream of a service of ours, and
  // one of a service that gRPC brings.
  static std::vector<std::unique_ptr<LongCall>> OpenAll(
      const std::shared_ptr<grpc::Channel>& channel) {
    std::vector<std::unique_ptr<LongCall>> calls;
    calls.push_back(std::make_unique<LongCall>(channel, "/grpc.health.v1.Health/Watch"));
    calls.push_back(std::make_unique<LongCall>(
        channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"));
    for (const auto& call : calls) {
      call->Send();
      EXPECT_TRUE(call->Receive());
    }
    return calls;
  }

  // A certificate that ends after `lifetime`, to the second.
  IssuedCertificate Short(absl::Duration lifetime) {
    CertificateWords words;
    words.uris = {kReader};
    words.not_after = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now() + lifetime));
    ends_at_ = words.not_after;
    return ca_.Issue(words);
  }

  const CertificateAuthority ca_{"one"};
  const CertificateAuthority other_{"two"};
  std::string directory_;
  absl::Time ends_at_;
  std::unique_ptr<Tls> tls_;
  AccessPolicy policy_;
  std::unique_ptr<Server> server_;
};

TEST_F(LapseTest, OpenCallsEndWithTheirCertificate) {
  Serve();
  const auto lasting = Channel(ca_.Issue(kReader));
  const auto staying = OpenAll(lasting);
  const auto channel = Channel(Short(absl::Seconds(3)));
  const auto calls = OpenAll(channel);
  for (const auto& call : calls) {
    const grpc::Status status = call->Ended();
    EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED);
    EXPECT_THAT(status.error_message(), HasSubstr("has expired"));
    EXPECT_GE(absl::Now(), ends_at_);
    EXPECT_LT(absl::Now(), ends_at_ + kEndsWithin);
  }
  EXPECT_EQ(Check(channel).error_code(), StatusCode::UNAUTHENTICATED);
  // Calls of the same identity with a certificate that is good go on.
  EXPECT_TRUE(Check(lasting).ok());
}

TEST_F(LapseTest, OpenCallsEndWhenTheirCaIsTakenAway) {
  Serve();
  const auto lasting = Channel(ca_.Issue(kReader));
  const auto channel = Channel(other_.Issue(kReader));
  const auto calls = OpenAll(channel);
  testing::WriteCertificates(directory_, "server", ca_.Issue("spiffe://d.example/placement/p"),
                             ca_.pem());
  tls_->Look();
  EXPECT_EQ(tls_->ca_changes(), 1);
  const absl::Time taken_at = absl::Now();
  // A new call on the old connection is refused from this moment on.
  EXPECT_EQ(Check(channel).error_code(), StatusCode::UNAUTHENTICATED);
  for (const auto& call : calls) {
    const grpc::Status status = call->Ended();
    EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED);
    EXPECT_THAT(status.error_message(), HasSubstr("is not trusted any more"));
    EXPECT_LT(absl::Now(), taken_at + kEndsWithin);
  }
  EXPECT_TRUE(Check(lasting).ok());
}

TEST_F(LapseTest, OpenCallsEndWhenTheirIdentityIsDenied) {
  Serve();
  const auto other = Channel(ca_.Issue("spiffe://d.example/reader/bob"));
  const auto staying = OpenAll(other);
  const auto channel = Channel(ca_.Issue(kReader));
  const auto calls = OpenAll(channel);
  RulesInForce rules;
  rules.rules.denied["reader/ann"] = "her key was copied";
  policy_.Put(rules);
  const absl::Time denied_at = absl::Now();
  // A new call on the old connection is refused from this moment on.
  const grpc::Status refused = WhoAmI(channel);
  EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_details(), HasSubstr("IDENTITY_DENIED"));
  EXPECT_THAT(refused.error_message(), HasSubstr("her key was copied"));
  for (const auto& call : calls) {
    const grpc::Status status = call->Ended();
    EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status.error_message(), HasSubstr("has denied the identity reader/ann"));
    EXPECT_LT(absl::Now(), denied_at + kEndsWithin);
  }
  // A new connection does not help, and no call is too small. Another identity goes on, and so does its silent stream.
  EXPECT_EQ(Check(Channel(ca_.Issue(kReader))).error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(WhoAmI(other).ok());
  server_->health().Set("", false);
  EXPECT_TRUE(staying[0]->Receive());
  staying[1]->Send();
  EXPECT_TRUE(staying[1]->Receive());
  // The denial is taken back.
  policy_.Put(RulesInForce());
  EXPECT_TRUE(Check(channel).ok());
}

// A client that reads its files anew, but keeps its channel, as other libraries of gRPC do.
TEST_F(LapseTest, AnOldConnectionMakesRoomForANewCertificate) {
  Serve(/*connection_age_max=*/absl::Seconds(1));
  const auto paths =
      testing::WriteCertificates(directory_, "client", Short(absl::Seconds(4)), ca_.pem());
  const auto channel = Channel(std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      paths.key, paths.certificate, paths.ca, /*refresh_interval_sec=*/1));
  LongCall watch(channel, "/grpc.health.v1.Health/Watch");
  watch.Send();
  ASSERT_TRUE(watch.Receive());
  testing::WriteCertificates(directory_, "client", ca_.Issue(kReader), ca_.pem());
  // The open call keeps the old connection to the end of the old certificate. It is the last call on
  // this connection, which closes with it, so the client may not get the reason.
  EXPECT_FALSE(watch.Ended().ok());
  EXPECT_GE(absl::Now(), ends_at_);
  const grpc::Status status = Check(channel);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace berth::services
