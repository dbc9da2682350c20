// The gate before all calls, over real sockets: every RPC with every role, and without TLS.
#include "services/process/gate.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/access/v1/access_service.grpc.pb.h"
#include "berth/placement/v1/aggregate.grpc.pb.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/association.grpc.pb.h"
#include "berth/placement/v1/audit.grpc.pb.h"
#include "berth/placement/v1/candidate.grpc.pb.h"
#include "berth/placement/v1/catalog.grpc.pb.h"
#include "berth/placement/v1/consumer.grpc.pb.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/host.grpc.pb.h"
#include "berth/placement/v1/host_state.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/placement/v1/inventory.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "berth/placement/v1/provider.grpc.pb.h"
#include "berth/placement/v1/report.grpc.pb.h"
#include "berth/placement/v1/reshape.grpc.pb.h"
#include "berth/placement/v1/server_group.grpc.pb.h"
#include "berth/placement/v1/usage.grpc.pb.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "placement/values/refusal.h"
#include "services/process/server.h"
#include "services/tls/tls.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"

namespace berth::services {
namespace {

namespace acl = access::v1;
namespace pb = placement::v1;
using grpc::StatusCode;

constexpr char kGateDomain[] = "berth.test";

// A server with all services of Berth. Their handlers answer UNIMPLEMENTED, so a call that gets
// another error did not reach its handler.
class GateTest : public ::testing::Test {
 protected:
  GateTest() {
    directory_ = absl::StrCat(::testing::TempDir(), "berth-gate-",
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    Add<pb::AllocationService>();
    Add<pb::AssociationService>();
    Add<pb::AuditService>();
    Add<pb::CandidateService>();
    Add<pb::CatalogService>();
    Add<pb::ConsumerService>();
    Add<pb::FleetService>();
    Add<pb::HostService>();
    Add<pb::InstanceService>();
    Add<pb::ServerGroupService>();
    Add<pb::HostStateService>();
    Add<pb::AggregateService>();
    Add<pb::InventoryService>();
    Add<pb::LedgerService>();
    Add<pb::ProviderService>();
    Add<pb::ReportService>();
    Add<pb::ReshapeService>();
    Add<pb::UsageService>();
    Add<pb::WatchService>();
    Add<tracker::v1::TrackerService>();
  }

  void Serve(bool with_tls) {
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    if (with_tls) {
      const auto paths = testing::WriteCertificates(
          directory_, "server", ca_.Issue("spiffe://berth.test/placement/p"), ca_.pem());
      options.tls = {{paths.certificate, paths.key, paths.ca}, kGateDomain};
      client::CertificateUse use;
      use.server = true;
      auto tls = Tls::Open(options.tls, use, [](bool, const std::string&) {});
      ASSERT_TRUE(tls.ok()) << tls.status();
      tls_ = *std::move(tls);
    }
    std::vector<grpc::Service*> services;
    for (const auto& service : services_) services.push_back(service.get());
    auto server = Server::Start(options, services, tls_.get(), &policy_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  template <typename Service>
  void Add() {
    services_.push_back(std::make_unique<typename Service::CallbackService>());
  }

  // A channel with a certificate that has these URIs, or without TLS if the server has none.
  std::shared_ptr<grpc::Channel> ChannelOf(const std::vector<std::string>& uris) {
    if (tls_ == nullptr) {
      return grpc::CreateChannel(server_->addresses()[0], grpc::InsecureChannelCredentials());
    }
    testing::CertificateWords words;
    words.uris = uris;
    return testing::OwnChannel(server_->addresses()[0],
                               testing::ClientCredentials(ca_.Issue(words), ca_.pem()));
  }

  // Calls `method` with one message, which is empty.
  static grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel,
                           const std::string& method) {
    grpc::GenericStub stub(channel);
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const auto call = stub.PrepareCall(&context, "/" + method, &queue);
    void* tag = nullptr;
    bool ok = false;
    call->StartCall(&context);
    queue.Next(&tag, &ok);
    const grpc::Slice nothing("");
    if (ok) {
      call->WriteLast(grpc::ByteBuffer(&nothing, 1), {}, &context);
      queue.Next(&tag, &ok);
    }
    // The status comes after the last answer. Health/Watch has no last one: its first is enough.
    bool watches = false;
    do {
      grpc::ByteBuffer answer;
      call->Read(&answer, &context);
      queue.Next(&tag, &ok);
      watches = ok && method == "grpc.health.v1.Health/Watch";
    } while (ok && !watches);
    if (watches) context.TryCancel();
    grpc::Status status;
    call->Finish(&status, &context);
    queue.Next(&tag, &ok);
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) continue;
    return watches ? grpc::Status::OK : status;
  }

  static google::rpc::ErrorInfo InfoOf(const grpc::Status& status) {
    google::rpc::Status details;
    google::rpc::ErrorInfo info;
    if (details.ParseFromString(status.error_details()) && details.details_size() > 0) {
      details.details(0).UnpackTo(&info);
    }
    return info;
  }

  const testing::CertificateAuthority ca_{"one"};
  std::string directory_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<Tls> tls_;
  AccessPolicy policy_;
  std::unique_ptr<Server> server_;
};

TEST_F(GateTest, EachRoleMayCallWhatTheTableSays) {
  Serve(true);
  for (const char* role : {"tracker", "reader", "scheduler", "operator", "admin", "placement"}) {
    const auto channel = ChannelOf({absl::StrCat("spiffe://berth.test/", role, "/x")});
    for (const MethodAccess* method : AccessTable::Get().All()) {
      const grpc::Status status = Call(channel, method->method);
      const bool permitted = method->roles.Has(RoleOf(role));
      EXPECT_EQ(status.error_code() != StatusCode::PERMISSION_DENIED, permitted)
          << role << " " << method->method << ": " << status.error_message();
      EXPECT_NE(status.error_code(), StatusCode::UNAVAILABLE) << status.error_message();
      if (permitted || !absl::StartsWith(method->method, "berth.")) continue;
      const google::rpc::ErrorInfo info = InfoOf(status);
      EXPECT_EQ(info.reason(), "ROLE_NOT_PERMITTED") << method->method;
      EXPECT_EQ(info.metadata().at("role"), role);
      EXPECT_EQ(info.domain(), absl::StartsWith(method->method, "berth.tracker.")
                                   ? "berth.tracker"
                                   : "berth.placement");
    }
  }
}

TEST_F(GateTest, WithoutTlsEverythingIsAllowed) {
  Serve(false);
  const auto channel = ChannelOf({});
  for (const MethodAccess* method : AccessTable::Get().All()) {
    const grpc::Status status = Call(channel, method->method);
    EXPECT_NE(status.error_code(), StatusCode::PERMISSION_DENIED) << method->method;
    EXPECT_NE(status.error_code(), StatusCode::UNAUTHENTICATED) << method->method;
  }
}

TEST_F(GateTest, WithoutAnIdentityNothingIsAllowed) {
  Serve(true);
  // Without exactly one URI of this trust domain the handshake fails, so the method does not matter.
  const std::string admin = "spiffe://berth.test/admin/a";
  for (const std::vector<std::string>& uris : std::vector<std::vector<std::string>>{
           {}, {admin, admin + "b"}, {"spiffe://other/admin/a"}}) {
    EXPECT_EQ(Call(ChannelOf(uris), "grpc.health.v1.Health/Check").error_code(),
              StatusCode::UNAVAILABLE);
  }
  const auto channel = ChannelOf({"spiffe://berth.test/root/a"});
  for (const MethodAccess* method : AccessTable::Get().All()) {
    EXPECT_EQ(Call(channel, method->method).error_code(), StatusCode::PERMISSION_DENIED)
        << method->method;
  }
}

TEST_F(GateTest, AMethodThatDoesNotExistIsUnimplemented) {
  Serve(true);
  const auto channel = ChannelOf({"spiffe://berth.test/admin/a"});
  EXPECT_EQ(Call(channel, "other.Service/Method").error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Call(channel, "berth.placement.v1.LedgerService/Other").error_code(),
            StatusCode::UNIMPLEMENTED);
}

TEST_F(GateTest, TellsCallersWhoTheyAre) {
  Serve(true);
  const auto stub = acl::AccessService::NewStub(ChannelOf({"spiffe://berth.test/operator/ann"}));
  acl::WhoAmIRequest request;
  request.add_methods("Claim");
  request.add_methods("FleetService/DeleteNode");
  request.add_methods("SetFormat");
  acl::WhoAmIResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(stub->WhoAmI(&context, request, &response).ok());
  EXPECT_TRUE(response.identified());
  EXPECT_EQ(response.trust_domain(), "berth.test");
  EXPECT_EQ(response.role(), acl::ROLE_OPERATOR);
  EXPECT_EQ(response.name(), "ann");
  EXPECT_GT(response.expire_time().seconds(), absl::ToUnixSeconds(absl::Now()));
  EXPECT_TRUE(response.methods(0).permitted());
  EXPECT_TRUE(response.methods(1).permitted());
  EXPECT_EQ(response.methods(1).forbidden_fields(0), "cascade");
  EXPECT_FALSE(response.methods(2).permitted());
  EXPECT_EQ(response.methods(2).roles(0), acl::ROLE_ADMIN);
  for (const char* wrong : {"", "NoSuchMethod", "ListNodes"}) {
    grpc::ClientContext again;
    request.set_methods(0, wrong);
    const grpc::Status status = stub->WhoAmI(&again, request, &response);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << wrong;
    EXPECT_EQ(InfoOf(status).reason(), "INVALID_FIELD");
  }
}

TEST_F(GateTest, AnIdentityMayCallAsOftenAsTheRulesSay) {
  Serve(true);
  RulesInForce rules;
  rules.rules.rates["reader"] = {0.01, 3};  // the next one after 100 s
  policy_.Put(rules);
  const auto channel = ChannelOf({"spiffe://berth.test/reader/ann"});
  const std::string method = "berth.placement.v1.CatalogService/ListTraits";
  EXPECT_EQ(Call(channel, method).error_code(), StatusCode::UNIMPLEMENTED);
  // What the role may not call costs nothing, nor does health.
  EXPECT_EQ(Call(channel, "berth.placement.v1.LedgerService/SetFormat").error_code(),
            StatusCode::PERMISSION_DENIED);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Call(channel, "grpc.health.v1.Health/Watch").ok());
  // Streams count, of services of gRPC, too.
  EXPECT_EQ(Call(channel, "berth.placement.v1.WatchService/Watch").error_code(),
            StatusCode::UNIMPLEMENTED);
  const std::string reflection = "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  EXPECT_TRUE(Call(channel, reflection).ok());
  for (const std::string& each :
       {method, std::string("berth.placement.v1.WatchService/Watch"), reflection}) {
    const grpc::Status status = Call(channel, each);
    EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE) << each;
    EXPECT_NE(status.error_message().find("reader/ann may make 0.01 calls a second"),
              std::string::npos)
        << status.error_message();
    if (each == reflection) continue;  // gRPC sends no details
    EXPECT_EQ(InfoOf(status).reason(), "RATE_LIMITED");
    EXPECT_EQ(InfoOf(status).metadata().at("identity"), "reader/ann");
    int64_t delay_ms = 0;
    EXPECT_TRUE(absl::SimpleAtoi(InfoOf(status).metadata().at("retry_delay_ms"), &delay_ms));
    EXPECT_GT(delay_ms, 50'000);
    EXPECT_LE(delay_ms, 100'000);
  }
  EXPECT_TRUE(Call(channel, "grpc.health.v1.Health/Check").error_code() != StatusCode::UNAVAILABLE);
  // A new connection does not help; others have their own.
  EXPECT_EQ(Call(ChannelOf({"spiffe://berth.test/reader/ann"}), method).error_code(),
            StatusCode::UNAVAILABLE);
  EXPECT_EQ(Call(ChannelOf({"spiffe://berth.test/reader/bob"}), method).error_code(),
            StatusCode::UNIMPLEMENTED);
  policy_.Put(RulesInForce());
  EXPECT_EQ(Call(channel, method).error_code(), StatusCode::UNIMPLEMENTED);
}

TEST(GateCheckTest, ACertificateThatHasExpiredAllowsNothing) {
  const Admission admission(nullptr);
  OpenCalls calls;
  Gate gate(&admission, &calls);
  const MethodAccess* method = AccessTable::Get().Find("/grpc.health.v1.Health/Check");
  ASSERT_NE(method, nullptr);
  Caller caller{"berth.test", "admin", "ann", absl::Now() + absl::Hours(1)};
  EXPECT_TRUE(gate.Check(nullptr, caller, *method).ok());
  caller.not_after = absl::Now() - absl::Milliseconds(1);
  const absl::Status status = gate.Check(nullptr, caller, *method);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(placement::RefusalOf(status)->reason, "UNAUTHENTICATED");
}

TEST(ActorTest, IsTheRoleAndTheName) {
  EXPECT_EQ(ActorOf(Caller{"berth.test", "scheduler", "ann", absl::InfiniteFuture()}),
            "scheduler/ann");
  EXPECT_EQ(ActorOf(Caller()), "anonymous");
}

}  // namespace
}  // namespace berth::services
