// TLS over real sockets: who gets in, what a caller is known as, and certificates that change while
// clients connect.
#include "services/tls/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/server_builder.h"
#include "services/process/caller.h"
#include "services/process/server.h"
#include "services/tls/refused_handshake.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"
#include "tests/services/client/certificate_files.h"

namespace berth::services {
namespace {

using ::berth::testing::CertificateAuthority;
using ::berth::testing::CertificateWords;
using ::berth::testing::IssuedCertificate;
using ::berth::testing::kClientUri;
using ::berth::testing::kDomain;
using ::berth::testing::kServerUri;
using ::grpc::health::v1::HealthCheckResponse;
using ::testing::HasSubstr;

constexpr absl::Duration kCallMax = absl::Seconds(60);  // bounds a failure alone

class TlsTest : public testing::CertificateFilesTest {
 protected:
  // Fails the test if the files are wrong.
  std::unique_ptr<Tls> OpenServer(const client::TlsSettings& settings) {
    auto tls = Tls::Open(settings, {}, server_told_.Teller());
    if (!tls.ok()) ADD_FAILURE() << tls.status();
    return tls.ok() ? *std::move(tls) : nullptr;
  }
  client::OwnCertificate OpenClient(const client::TlsSettings& settings) {
    client::CertificateUse use;
    use.client = true;
    return client::OwnCertificate::Open(settings, use, client_told_.Teller()).value();
  }

  void Serve(const IssuedCertificate& issued, const std::string& ca) {
    ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    options.tls = Settings("server", issued, ca);
    server_tls_ = OpenServer(options.tls);
    auto server = Server::Start(options, {}, server_tls_.get());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->health().Set("", true);
  }

  // Makes a call over a new connection. The deadline only bounds a failure.
  grpc::Status Call(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    const auto stub = grpc::health::v1::Health::NewStub(
        testing::OwnChannel(server_->addresses()[0], credentials));
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallMax));
    HealthCheckResponse response;
    return stub->Check(&context, {}, &response);
  }
  // A client that accepts placement, with this certificate; its own checks are not made.
  grpc::Status CallWith(const IssuedCertificate& issued, const std::string& ca) {
    return Call(testing::ClientCredentials(issued, ca));
  }
  grpc::Status CallWith(const CertificateWords& words) {
    return CallWith(ca_.Issue(words), ca_.pem());
  }

  testing::Told server_told_;
  testing::Told client_told_;
  std::unique_ptr<Tls> server_tls_;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsTest, ServerAndClientKnowEachOther) {
  const IssuedCertificate issued = ca_.Issue(kServerUri);
  Serve(issued, ca_.pem());
  const auto own = OpenClient(Settings("client", ca_.Issue(kClientUri), ca_.pem()));
  const grpc::Status called = Call(own.ForChannel({client::kPlacementRole, client::kTrackerRole}));
  EXPECT_TRUE(called.ok()) << called.error_message();
  EXPECT_EQ(server_tls_->not_after(), client::CertificateEnd(issued.certificate));
  EXPECT_FALSE(Call(grpc::InsecureChannelCredentials()).ok());
}

TEST_F(TlsTest, AClientRefusesAServerOfAnotherRole) {
  Serve(ca_.Issue("spiffe://d.example/tracker/host-1"), ca_.pem());
  const auto own = OpenClient(Settings("client", ca_.Issue(kClientUri), ca_.pem()));
  EXPECT_TRUE(Call(own.ForChannel({client::kTrackerRole})).ok());
  EXPECT_FALSE(Call(own.ForChannel({client::kPlacementRole})).ok());
  EXPECT_THAT(client_told_.text(),
              HasSubstr("is that of spiffe://d.example/tracker/host-1, but must be that of "
                        "spiffe://d.example/placement/NAME"));
}

TEST_F(TlsTest, AServerRefusesClientsThatItCannotIdentify) {
  Serve(ca_.Issue(kServerUri), ca_.pem());
  EXPECT_TRUE(CallWith(ca_.Issue(kClientUri), ca_.pem()).ok());
  CertificateWords words;
  words.common_name = kClientUri;
  EXPECT_FALSE(CallWith(words).ok());  // only a common name
  words.dns = {"operator.d.example"};
  EXPECT_FALSE(CallWith(words).ok());
  words.uris = {kClientUri, "spiffe://d.example/operator/bob"};
  EXPECT_FALSE(CallWith(words).ok());
  words.uris = {"spiffe://e.example/operator/alice"};
  EXPECT_FALSE(CallWith(words).ok());
  words.uris = {kClientUri};
  EXPECT_TRUE(CallWith(words).ok());
  words.not_after = absl::Now() - absl::Minutes(1);
  EXPECT_FALSE(CallWith(words).ok());
  EXPECT_FALSE(CallWith(other_.Issue(kClientUri), ca_.pem()).ok());
  for (const std::string& said :
       {std::string(
            "has 0 URIs, but must have exactly one, its SPIFFE id; it is the one with subject "
            "CN=spiffe://d.example/operator/alice"),
        absl::StrCat(
            "has 2 URIs, but must have exactly one, its SPIFFE id; it is the one with URI ",
            kClientUri, ", URI spiffe://d.example/operator/bob, serial number ")}) {
    EXPECT_THAT(
        server_told_.text(),
        HasSubstr("wrong: refused a TLS connection: the certificate of the other side " + said));
  }
}

// gRPC itself logs only that the handshake failed.
TEST_F(TlsTest, WhyOpenSslRefusesACertificateIsTold) {
  testing::Told told;
  TellRefusedHandshakes([tell = told.Teller()](const std::string& text) { tell(true, text); });
  Serve(ca_.Issue(kServerUri), ca_.pem());
  CertificateWords words;
  words.uris = {kClientUri};
  EXPECT_TRUE(CallWith(words).ok());
  EXPECT_EQ(told.text().find("refused"), std::string::npos) << told.text();
  words.not_after = absl::Now() - absl::Minutes(1);
  EXPECT_FALSE(CallWith(words).ok());
  EXPECT_FALSE(CallWith(other_.Issue("spiffe://d.example/reader/bob"), ca_.pem()).ok());
  TellRefusedHandshakes(nullptr);
  const std::string begin = "wrong: refused a TLS connection: the certificate of the other side: ";
  EXPECT_THAT(told.text(), HasSubstr(absl::StrCat(begin,
                                                  "certificate has expired (certificate 1 of "
                                                  "the chain); it is the one with URI ",
                                                  kClientUri, ", serial number ")));
  EXPECT_THAT(told.text(), HasSubstr("local issuer certificate (certificate 1 of the chain); it is "
                                     "the one with URI spiffe://d.example/reader/bob"));
}

TEST_F(TlsTest, TwoCasMayStandSideBySide) {
  const std::string both = other_.pem() + ca_.pem();
  Serve(ca_.Issue(kServerUri), both);
  EXPECT_TRUE(CallWith(ca_.Issue(kClientUri), both).ok());
  EXPECT_TRUE(CallWith(other_.Issue(kClientUri), both).ok());
}

TEST_F(TlsTest, FilesAreCheckedIfTheyAreGiven) {
  EXPECT_TRUE(CheckTls({}, {}).ok());
  CertificateWords words;
  words.uris = {kServerUri};
  EXPECT_TRUE(CheckTls(Settings("own", ca_.Issue(words), ca_.pem()), {}).ok());
  words.extended_key_usage = "clientAuth";
  const client::TlsSettings settings = Settings("own", ca_.Issue(words), ca_.pem());
  EXPECT_THAT(std::string(CheckTls(settings, {}).message()), HasSubstr("certificate of a server"));
  EXPECT_EQ(Tls::Open(settings, {}, nullptr).status(), CheckTls(settings, {}));
}

TEST_F(TlsTest, WithTlsOtherMachinesMayReachTheListener) {
  ServerOptions options;
  options.listen = {"0.0.0.0:0"};
  EXPECT_FALSE(CheckListeners(options).ok());
  options.tls.trust_domain = kDomain;
  EXPECT_TRUE(CheckListeners(options).ok());
}

// Everything that somebody may write into the three files on the way to a good set.
class Rotation {
 public:
  Rotation(const CertificateAuthority& one, const CertificateAuthority& two)
      : one_(one), two_(two), random_(std::random_device()()) {}

  int Below(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  // A good set, of either CA; the two CAs are in either order.
  void Choose(const std::string& uri) {
    issued_ = (Below(2) == 0 ? one_ : two_).Issue(uri);
    ca_ = Below(2) == 0 ? one_.pem() + two_.pem() : two_.pem() + one_.pem();
  }
  // Writes the set in any order, with bad files before good ones, and looks after each step.
  void Write(const client::CertificateTexts& files, const std::string& uri,
             client::OwnCertificate* own) {
    std::vector<std::pair<std::string, std::string>> steps = {
        {files.certificate, issued_.certificate}, {files.key, issued_.key}, {files.ca, ca_}};
    std::shuffle(steps.begin(), steps.end(), random_);
    for (const auto& [path, text] : steps) {
      testing::WriteText(path, Bad(path, files, text, uri));
      own->Look();
    }
    for (const auto& [path, text] : steps) {
      testing::WriteText(path, text);
      own->Look();
    }
  }

 private:
  std::string Bad(const std::string& path, const client::CertificateTexts& files,
                  const std::string& good, const std::string& uri) {
    CertificateWords expired;
    expired.uris = {uri};
    expired.not_after = absl::Now() - absl::Minutes(1);
    switch (Below(5)) {
      case 0:
        // The first certificate is never complete: such a file would be good.
        return good.substr(0, static_cast<size_t>(Below(static_cast<int>(good.size()) / 2 - 60)));
      case 1:
        return path == files.key ? one_.Issue(uri).key : foreign_.pem();
      case 2:
        return path == files.certificate ? one_.Issue(expired).certificate : "";
      case 3:
        return path == files.certificate ? foreign_.Issue(uri).certificate : good + "\nmore\n";
      default:
        return good;
    }
  }

  const CertificateAuthority& one_;
  const CertificateAuthority& two_;
  const CertificateAuthority foreign_{"foreign"};
  std::mt19937 random_;
  IssuedCertificate issued_;
  std::string ca_;
};

TEST_F(TlsTest, CertificatesRotateWithoutAFailedCall) {
  int rotations = 300;
  const char* wanted = std::getenv("BERTH_ROTATIONS");
  ASSERT_TRUE(wanted == nullptr || absl::SimpleAtoi(wanted, &rotations));
  const std::string both = ca_.pem() + other_.pem();
  Serve(ca_.Issue(kServerUri), both);
  const client::CertificateTexts server_files =
      Settings("server", ca_.Issue(kServerUri), both).files;
  const client::TlsSettings client = Settings("client", ca_.Issue(kClientUri), both);
  client::OwnCertificate client_own = OpenClient(client);
  Rotation rotation(ca_, other_);
  const absl::Time end = absl::Now() + (wanted == nullptr ? absl::Seconds(12) : absl::Hours(1));
  int done = 0;
  for (; done < rotations && (done < 50 || absl::Now() < end); ++done) {
    const bool of_server = done % 2 == 0;
    const std::string uri = of_server ? kServerUri : kClientUri;
    rotation.Choose(uri);
    rotation.Write(of_server ? server_files : client.files, uri,
                   of_server ? server_tls_.get() : &client_own);
    const grpc::Status called = Call(client_own.ForChannel({client::kPlacementRole}));
    ASSERT_TRUE(called.ok()) << "rotation " << done << ": " << called.error_message();
  }
  RecordProperty("rotations", done);
  EXPECT_THAT(server_told_.text(), HasSubstr("new certificates are in use"));
}

}  // namespace
}  // namespace berth::services
