// A server for the tests of its connections, raw connections to it, and the TLS of a client, step by
// step.
#ifndef BERTH_TESTS_SERVICES_PROCESS_ACCEPTOR_FIXTURE_H_
#define BERTH_TESTS_SERVICES_PROCESS_ACCEPTOR_FIXTURE_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/security/credentials.h"
#include "placement/ground/boot_clock.h"
#include "services/process/open_connections.h"
#include "services/process/server.h"
#include "services/tls/tls.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"

namespace berth::services {

inline constexpr absl::Duration kHandshakeFailureMax = absl::Seconds(60);  // bounds a failure alone
inline bool Eventually(const std::function<bool()>& holds) {
  const placement::BootTime end = placement::BootNow() + kHandshakeFailureMax;
  while (!holds()) {
    if (placement::BootNow() > end) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

// A connection over TCP from an address of the loopback network.
class RawConnection {
 public:
  // 127.0.0.1 if `source` is 0, else one of 127.0.0.2, 127.0.0.3 and so on.
  RawConnection(const std::string& server, int source, bool connects = true) {
    EXPECT_TRUE(absl::SimpleAtoi(server.substr(server.rfind(':') + 1), &port_));
    descriptor_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in from = {};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + source);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    if (connects) Connect();
  }
  void Connect() {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<in_port_t>(port_));
    connected_ = connect(descriptor_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  RawConnection(RawConnection&& other) noexcept
      : port_(other.port_),
        descriptor_(std::exchange(other.descriptor_, -1)),
        connected_(other.connected_) {}
  RawConnection& operator=(RawConnection&& other) noexcept {
    port_ = other.port_;
    std::swap(descriptor_, other.descriptor_);
    connected_ = other.connected_;
    return *this;
  }
  ~RawConnection() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }
  void Send(const std::string& bytes) const {
    (void)send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Whether the server has closed the connection. Takes all that the server has sent.
  bool IsClosed() const {
    char bytes[4096];
    ssize_t size = 0;
    do {
      size = recv(descriptor_, bytes, sizeof bytes, MSG_DONTWAIT);
    } while (size > 0);
    return !connected_ || size == 0 || (errno != EAGAIN && errno != EINTR);
  }

 private:
  int port_ = 0;
  int descriptor_ = -1;
  bool connected_ = false;
};

class AcceptorFixture : public ::testing::Test {
 protected:
  AcceptorFixture() {
    directory_ = absl::StrCat(::testing::TempDir(), "berth-acceptor-",
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    options_.listen = {"127.0.0.1:0"};
    rlimit files = {};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }

  void Serve(bool with_tls) {
    if (with_tls) {
      const testing::CertificatePaths paths = testing::WriteCertificates(
          directory_, "server", ca_.Issue("spiffe://d.example/placement/one"), ca_.pem());
      options_.tls = {{paths.certificate, paths.key, paths.ca}, "d.example"};
      client::CertificateUse use;
      use.server = true;
      auto tls = Tls::Open(options_.tls, use, [](bool, const std::string&) {});
      ASSERT_TRUE(tls.ok()) << tls.status();
      tls_ = *std::move(tls);
    }
    auto server = Server::Start(options_, {}, tls_.get());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->health().Set("", true);
  }

  const std::string& address() const { return server_->addresses()[0]; }
  OpenConnections& connections() const { return *server_->connections(); }

  std::unique_ptr<grpc::health::v1::Health::Stub> Client() {
    return grpc::health::v1::Health::NewStub(testing::OwnChannel(
        address(), tls_ == nullptr ? grpc::InsecureChannelCredentials()
                                   : testing::ClientCredentials(client_, ca_.pem())));
  }
  // How long a call takes; infinite if it fails.
  static absl::Duration Check(grpc::health::v1::Health::Stub* stub) {
    const placement::BootTime begun = placement::BootNow();
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(absl::ToChronoTime(absl::Now() + kHandshakeFailureMax));
    grpc::health::v1::HealthCheckResponse response;
    const grpc::Status status = stub->Check(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return status.ok() ? placement::BootNow() - begun : absl::InfiniteDuration();
  }

  const testing::CertificateAuthority ca_{"one"};
  const testing::IssuedCertificate client_ = ca_.Issue("spiffe://d.example/operator/alice");
  std::string directory_;
  ServerOptions options_;
  std::unique_ptr<Tls> tls_;
  std::unique_ptr<Server> server_;
};

// The side of a client in a handshake of TLS, over memory.
class RawHandshake {
 public:
  explicit RawHandshake(const testing::IssuedCertificate& own)
      : context_(SSL_CTX_new(TLS_client_method())) {
    BIO* const certificate = BIO_new_mem_buf(own.certificate.data(), -1);
    BIO* const key = BIO_new_mem_buf(own.key.data(), -1);
    X509* const x509 = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
    EVP_PKEY* const private_key = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(context_, x509);
    SSL_CTX_use_PrivateKey(context_, private_key);
    X509_free(x509);
    EVP_PKEY_free(private_key);
    BIO_free(certificate);
    BIO_free(key);
    static constexpr unsigned char kProtocols[] = "\x02h2";
    SSL_CTX_set_alpn_protos(context_, kProtocols, 3);
    ssl_ = SSL_new(context_);
    SSL_set_connect_state(ssl_);
  }
  ~RawHandshake() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }

  // The first message of a client.
  std::string Hello() {
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_do_handshake(ssl_);
    char bytes[16384];
    const int size = BIO_read(SSL_get_wbio(ssl_), bytes, sizeof bytes);
    return std::string(bytes, size > 0 ? size : 0);
  }
  // Whether the handshake succeeds on this connection.
  bool Finish(const RawConnection& raw) {
    SSL_set_fd(ssl_, raw.descriptor());
    return SSL_do_handshake(ssl_) == 1;
  }

 private:
  SSL_CTX* const context_;
  SSL* ssl_ = nullptr;
};

}  // namespace berth::services

#endif  // BERTH_TESTS_SERVICES_PROCESS_ACCEPTOR_FIXTURE_H_
