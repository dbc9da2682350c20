// The access file of the real program: an identity is denied at SIGHUP, while its calls are open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/access/v1/access_service.grpc.pb.h"
#include "berth/placement/v1/catalog.grpc.pb.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;
using ::testing::HasSubstr;

constexpr char kDenialDomain[] = "d.example";
// How long after its denial a call may still be open: three times what is promised.
constexpr absl::Duration kDeniedWithin = absl::Seconds(3);

class DenialTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteRules("# nobody is denied\n");
    std::vector<std::string> arguments = testing::TlsArguments(
        testing::WriteCertificates(scratch_.path(), "placement",
                                   ca_.Issue("spiffe://d.example/placement/one"), ca_.pem()),
        kDenialDomain);
    arguments.push_back("--access-file=" + AccessFile());
    placement_ = StartOrDie(scratch_.path(), std::move(arguments));
  }

  std::string AccessFile() const { return scratch_.path() + "/access.toml"; }
  void WriteRules(const std::string& text) const { std::ofstream(AccessFile()) << text; }

  std::shared_ptr<grpc::Channel> ChannelOf(const std::string& identity) const {
    const auto own = ca_.Issue(absl::StrCat("spiffe://", kDenialDomain, "/", identity));
    grpc::experimental::TlsChannelCredentialsOptions options;
    options.set_certificate_provider(
        std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
            ca_.pem(),
            std::vector<grpc::experimental::IdentityKeyCertPair>{{own.key, own.certificate}}));
    options.watch_root_certs();
    options.watch_identity_key_cert_pairs();
    options.set_certificate_verifier(
        std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
    options.set_check_call_host(false);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(placement_->address(),
                                     grpc::experimental::TlsCredentials(options), arguments);
  }

  static grpc::Status ListTraits(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    pb::ListTraitsResponse response;
    return pb::CatalogService::NewStub(channel)->ListTraits(&context, {}, &response);
  }

  // Waits until the log has `words`.
  bool AwaitLog(const std::string& words) const {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (!absl::StrContains(placement_->Log(), words)) {
      if (absl::Now() > deadline) return false;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return true;
  }

  const testing::CertificateAuthority ca_{"one"};
  const placement::ScratchDirectory scratch_;
  std::unique_ptr<PlacementServer> placement_;
};

// A watch that is open; Ended waits for its end.
class OpenWatch {
 public:
  explicit OpenWatch(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(pb::WatchService::NewStub(channel)) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
    pb::WatchRequest request;
    request.mutable_snapshot();
    stream_ = stub_->Watch(&context_, request);
    pb::WatchResponse response;
    begun_ = stream_->Read(&response);
  }
  bool begun() const { return begun_; }
  grpc::Status Ended() {
    pb::WatchResponse response;
    while (stream_->Read(&response)) continue;
    return stream_->Finish();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<pb::WatchService::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<pb::WatchResponse>> stream_;
  bool begun_ = false;
};

TEST_F(DenialTest, AnIdentityIsDeniedWhileItsCallsAreOpen) {
  const auto denied = ChannelOf("reader/ann");
  const auto other = ChannelOf("reader/bob");
  OpenWatch watch(denied);
  OpenWatch staying(other);
  ASSERT_TRUE(watch.begun());
  ASSERT_TRUE(staying.begun());

  // A file with a fault changes nothing.
  WriteRules("denied = [\"reader/bob\", \"reader/ann\"\n");
  placement_->Signal(SIGHUP);
  ASSERT_TRUE(AwaitLog("the access file is refused")) << placement_->Log();
  EXPECT_TRUE(ListTraits(denied).ok());

  WriteRules("denied = [\"reader/ann\"]\n");
  placement_->Signal(SIGHUP);
  ASSERT_TRUE(AwaitLog("\"denied\":1")) << placement_->Log();
  const absl::Time denied_at = absl::Now();
  const grpc::Status refused = ListTraits(denied);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_details(), HasSubstr("IDENTITY_DENIED"));
  const grpc::Status ended = watch.Ended();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::PERMISSION_DENIED) << ended.error_message();
  EXPECT_THAT(ended.error_message(), HasSubstr("has denied the identity reader/ann"));
  EXPECT_LT(absl::Now(), denied_at + kDeniedWithin);

  // Another identity of the same role goes on, and its stream, too.
  EXPECT_TRUE(ListTraits(other).ok());
  staying.Cancel();
  EXPECT_EQ(staying.Ended().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace berth::e2e
