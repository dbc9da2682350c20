// Every RPC of both programs and every kind of caller, over TLS against the real programs: each pair
// gets the answer that was agreed on (tests/services/access/agreed_table.h), on a new connection and
// on one that was open when its caller was denied. A refusal does not tell what exists.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/placement/v1/fleet.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "placement/ground/uuid.h"
#include "tests/fault/await.h"
#include "tests/fault/certified_site.h"
#include "tests/refusals/reflected_calls.h"
#include "tests/services/access/agreed_table.h"

namespace berth::refusals {
namespace {

namespace pb = ::berth::placement::v1;
using fault::AwaitWithin;
using fault::CallWithin;
using fault::CertifiedSite;
using fault::kAnswerMax;
using fault::ReasonIn;
using fault::Told;
using Channel = std::shared_ptr<grpc::Channel>;
using Health = ::grpc::health::v1::Health;

constexpr const char* kRoles[] = {"tracker",  "reader", "scheduler",
                                  "operator", "admin",  "placement"};
// What a caller is told who may make the call, whatever the handler then says.
constexpr char kHeard[] = "heard by the handler";
constexpr char kNotPermitted[] = "ROLE_NOT_PERMITTED";
constexpr char kDenied[] = "IDENTITY_DENIED";
constexpr char kExpired[] = "UNAUTHENTICATED";
constexpr char kNoConnection[] = "no connection";
constexpr char kUnknownMethod[] = "the server does not offer this method";

// Which of these answers `status` is; another text for one that no handler gives to such a call. For
// reflection and channelz gRPC sends no ErrorInfo.
std::string AnswerIn(const grpc::Status& status) {
  const std::string reason = ReasonIn(status);
  const std::string& message = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::UNAUTHENTICATED:
      return kExpired;
    case grpc::StatusCode::UNAVAILABLE:
      return reason.empty() ? kNoConnection : kHeard;
    case grpc::StatusCode::PERMISSION_DENIED:
      if (reason == kNotPermitted || absl::StartsWith(message, "the role ")) return kNotPermitted;
      if (reason == kDenied || absl::StartsWith(message, "the operator has denied")) return kDenied;
      return kHeard;  // a rule of the handler
    case grpc::StatusCode::UNIMPLEMENTED:
      // Some handlers answer so about what Berth does not do; the gate, about what it does not know.
      if (message != kUnknownMethod) return kHeard;
      return absl::StrCat("code ", status.error_code());
    case grpc::StatusCode::INTERNAL:
      if (absl::StartsWith(message, "grpc_channelz_")) return kHeard;  // about ids that nothing has
      return absl::StrCat("code ", status.error_code());
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::CANCELLED:
      return absl::StrCat("code ", status.error_code());
    default:
      return kHeard;
  }
}

// The roles of each RPC, by "Service/Method", as agreed on.
std::map<std::string, std::set<std::string>> Agreed() {
  std::map<std::string, std::set<std::string>> agreed;
  for (const services::AgreedRow& row : services::kAgreedTable) {
    const std::set<std::string> roles = absl::StrSplit(row.roles, ' ', absl::SkipEmpty());
    for (const absl::string_view method : absl::StrSplit(row.methods, ' ', absl::SkipEmpty())) {
      EXPECT_TRUE(agreed.emplace(method, roles).second) << method;
    }
  }
  return agreed;
}

std::string WithoutPackage(const std::string& method) {
  return method.substr(method.rfind('.') + 1);
}

// A silent stream that its server leaves open.
class OpenStream {
 public:
  explicit OpenStream(const Channel& channel)
      : stub_(Health::NewStub(channel)), stream_(stub_->Watch(context_.get(), {})) {
    grpc::health::v1::HealthCheckResponse first;
    EXPECT_TRUE(stream_->Read(&first));
  }
  grpc::Status Ended() {
    grpc::health::v1::HealthCheckResponse next;
    while (stream_->Read(&next)) continue;
    return stream_->Finish();
  }

 private:
  const std::unique_ptr<grpc::ClientContext> context_ = CallWithin(kAnswerMax);
  const std::unique_ptr<Health::Stub> stub_;
  const std::unique_ptr<grpc::ClientReader<grpc::health::v1::HealthCheckResponse>> stream_;
};

class EveryPair : public ::testing::Test {
 protected:
  EveryPair() {
    // A node and an instance have the same uuid, so each call finds something that exists.
    pb::SetInstanceRequest set;
    set.mutable_instance()->set_uuid(exists_);
    set.mutable_instance()->set_project_id("p");
    set.mutable_instance()->set_user_id("u");
    set.mutable_instance()->set_vm_state("active");
    set.mutable_instance()->set_host("host-9");
    set.mutable_instance()->mutable_flavor();
    pb::SetInstanceResponse instance;
    EXPECT_TRUE(pb::InstanceService::NewStub(admin_)
                    ->SetInstance(CallWithin(kAnswerMax).get(), set, &instance)
                    .ok());
    pb::CreateNodeRequest create;
    create.set_node_uuid(exists_);
    create.set_name("node-9");
    create.set_host("host-9");
    pb::CreateNodeResponse node;
    EXPECT_TRUE(pb::FleetService::NewStub(admin_)
                    ->CreateNode(CallWithin(kAnswerMax).get(), create, &node)
                    .ok());
  }

  static std::string NewUuid() { return placement::Uuid::Random().ToString(); }

  // A file with a comment alone limits nothing.
  static std::string Write(const std::string& file) {
    std::ofstream(file) << "# nobody is denied\n";
    return file;
  }
  // Denies ROLE/denied of each role, and waits until placement has read it.
  void DenyOneOfEachRole() {
    {
      std::ofstream file(access_file_);
      for (const char* role : kRoles) {
        file << "[[denied]]\nidentity = \"" << role << "/denied\"\nreason = \"it was copied\"\n";
      }
    }
    site_.placement().Signal(SIGHUP);
    ASSERT_TRUE(AwaitWithin(kAnswerMax, [this] {
      return absl::StrContains(site_.placement().Log(),
                               absl::StrCat("\"denied\":", std::size(kRoles)));
    })) << site_.placement().Log();
  }

  std::vector<const e2e::ServiceProcess*> Programs() const {
    return {&site_.placement(), site_.hosts()[0]->tracker.get()};
  }
  // All RPCs of the program; the agreed table must have each.
  ReflectedCalls CallsAt(const std::string& address) {
    return ReflectedCalls(site_.Connect("admin/reflector", address));
  }

  // What a caller of `role` who is not denied is told of `method`.
  std::string Expected(const std::string& role, const std::string& method) {
    const auto agreed = agreed_.find(WithoutPackage(method));
    if (agreed == agreed_.end()) return "a row in agreed_table.h";
    return agreed->second.contains(role) ? kHeard : kNotPermitted;
  }

  // Calls all of `calls` on `channel`. Whoever is refused is told the same of what exists and of what
  // does not; whoever may call asks only for what does not exist, and so changes nothing.
  void ExpectRoles(const ReflectedCalls& calls, const std::string& role, const Channel& channel) {
    for (const std::string& method : calls.methods()) {
      const std::string expected = Expected(role, method);
      const std::string missing = NewUuid();
      const grpc::Status one = calls.Call(channel, method, missing);
      EXPECT_EQ(AnswerIn(one), expected) << role << " " << method << ": " << one.error_message();
      ++judged_;
      if (expected == kHeard) continue;
      const grpc::Status other = calls.Call(channel, method, exists_);
      EXPECT_EQ(Told(one, missing), Told(other, exists_)) << role << " " << method;
    }
  }

  // Expects `answer` to all of `calls` on `channel`.
  void ExpectAlways(const ReflectedCalls& calls, const std::string& who, const Channel& channel,
                    const std::string& answer) {
    for (const std::string& method : calls.methods()) {
      const grpc::Status status = calls.Call(channel, method, exists_);
      EXPECT_EQ(AnswerIn(status), answer) << who << " " << method << ": " << status.error_message();
      ++judged_;
    }
  }

  const std::string exists_ = NewUuid();
  const std::map<std::string, std::set<std::string>> agreed_ = Agreed();
  const placement::ScratchDirectory directory_;
  const std::string access_file_ = Write(directory_.path() + "/access.toml");
  CertifiedSite site_{1, {"--access-file=" + access_file_}};
  const Channel admin_ = site_.ConnectToPlacement("admin/test");
  size_t judged_ = 0;
};

TEST_F(EveryPair, OfARoleAndAnRpcIsAsAgreed) {
  std::set<std::string> found;
  for (const e2e::ServiceProcess* program : Programs()) {
    const ReflectedCalls calls = CallsAt(program->address());
    for (const std::string& method : calls.methods()) found.insert(WithoutPackage(method));
    for (const char* role : kRoles) {
      ExpectRoles(calls, role, site_.Connect(absl::StrCat(role, "/someone"), program->address()));
    }
  }
  // Reflection has shown all that was agreed on, the services of gRPC too.
  for (const auto& [method, roles] : agreed_) EXPECT_TRUE(found.contains(method)) << method;
  EXPECT_GT(judged_, 6 * agreed_.size());
}

TEST_F(EveryPair, OfADeniedIdentityAndAnRpcIsRefused) {
  const ReflectedCalls calls = CallsAt(site_.placement().address());
  struct Old {
    std::string identity;
    Channel channel;
    std::unique_ptr<OpenStream> stream;
  };
  std::vector<Old> olds;
  for (const char* role : kRoles) {
    Old& old = olds.emplace_back();
    old.identity = absl::StrCat(role, "/denied");
    old.channel = site_.ConnectToPlacement(old.identity);
    old.stream = std::make_unique<OpenStream>(old.channel);
  }
  DenyOneOfEachRole();
  for (const Old& old : olds) {
    const grpc::Status ended = old.stream->Ended();
    EXPECT_EQ(AnswerIn(ended), kDenied) << old.identity << ": " << ended.error_message();
    EXPECT_EQ(old.channel->GetState(false), GRPC_CHANNEL_READY) << old.identity;
    ExpectAlways(calls, old.identity + " on its old connection", old.channel, kDenied);
    const Channel fresh = site_.ConnectToPlacement(old.identity);
    for (const std::string& method : calls.methods()) {
      const std::string missing = NewUuid();
      const grpc::Status one = calls.Call(fresh, method, missing);
      const grpc::Status other = calls.Call(old.channel, method, exists_);
      EXPECT_EQ(AnswerIn(one), kDenied) << old.identity << " " << method;
      EXPECT_EQ(Told(one, missing), Told(other, exists_)) << old.identity << " " << method;
    }
  }
  // The others of these roles go on. A tracker reads no access file.
  ExpectRoles(calls, "reader", site_.ConnectToPlacement("reader/someone"));
  const std::string tracker = site_.hosts()[0]->tracker->address();
  ExpectRoles(CallsAt(tracker), "scheduler", site_.Connect("scheduler/denied", tracker));
}

TEST_F(EveryPair, OfACertificateThatIsNoneAndAnRpcHasNoConnection) {
  testing::CertificateWords expired = site_.WordsOf("admin/a");
  expired.not_after = absl::Now() - absl::Minutes(1);
  testing::CertificateWords later = site_.WordsOf("admin/a");
  later.not_before = absl::Now() + absl::Minutes(30);
  testing::CertificateWords two = site_.WordsOf("admin/a");
  two.uris.push_back(site_.WordsOf("admin/b").uris[0]);
  testing::CertificateWords dns;
  dns.dns = site_.WordsOf("admin/a").uris;
  testing::CertificateWords foreign;
  foreign.uris = {"spiffe://other.test/admin/a"};
  const testing::CertificateAuthority other("other");
  // With what the log of the program has of them.
  const std::pair<testing::IssuedCertificate, const char*> bad[] = {
      {site_.Issue(expired), "certificate has expired"},
      {site_.Issue(later), "certificate is not yet valid"},
      {site_.Issue(two), "has 2 URIs"},
      {site_.Issue(dns), "has 0 URIs"},
      {site_.Issue(foreign), "is that of spiffe://other.test/admin/a"},
      {other.Issue(site_.WordsOf("admin/a")), "local issuer certificate"}};
  for (const e2e::ServiceProcess* program : Programs()) {
    const ReflectedCalls calls = CallsAt(program->address());
    const auto expect_told = [&](const std::string& words) {
      EXPECT_TRUE(AwaitWithin(kAnswerMax, [&] { return absl::StrContains(program->Log(), words); }))
          << words << "\n"
          << program->Log();
    };
    ExpectAlways(calls, "plain text",
                 grpc::CreateChannel(program->address(), grpc::InsecureChannelCredentials()),
                 kNoConnection);
    ExpectAlways(calls, "no certificate", site_.ConnectWithout(program->address()), kNoConnection);
    expect_told("peer did not return a certificate");
    for (const auto& [issued, words] : bad) {
      ExpectAlways(calls, words, site_.ConnectWith(issued, program->address()), kNoConnection);
      expect_told(words);
    }
  }
}

TEST_F(EveryPair, OfACertificateThatHasEndedAndAnRpcIsRefused) {
  for (const e2e::ServiceProcess* program : Programs()) {
    const ReflectedCalls calls = CallsAt(program->address());
    testing::CertificateWords words = site_.WordsOf("admin/ends");
    words.not_after = absl::FromUnixSeconds(absl::ToUnixSeconds(absl::Now() + absl::Seconds(10)));
    const Channel channel = site_.ConnectWith(site_.Issue(words), program->address());
    OpenStream stream(channel);
    const grpc::Status ended = stream.Ended();
    EXPECT_EQ(AnswerIn(ended), kExpired) << ended.error_message();
    EXPECT_EQ(channel->GetState(false), GRPC_CHANNEL_READY);
    ExpectAlways(calls, "a certificate that has ended", channel, kExpired);
  }
}

}  // namespace
}  // namespace berth::refusals
