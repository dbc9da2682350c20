// What a connection keeps, and that no session can be resumed.
#include "services/tls/small_connections.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "tests/processes/certificate_authority.h"

namespace berth::services {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Context = std::unique_ptr<SSL_CTX, Free>;
using Connection = std::unique_ptr<SSL, Free>;

void Use(SSL_CTX* context, const testing::IssuedCertificate& issued) {
  const std::unique_ptr<BIO, Free> text(BIO_new_mem_buf(issued.certificate.data(), -1));
  const std::unique_ptr<X509, Free> certificate(
      PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<BIO, Free> secret(BIO_new_mem_buf(issued.key.data(), -1));
  const std::unique_ptr<EVP_PKEY, Free> key(
      PEM_read_bio_PrivateKey(secret.get(), nullptr, nullptr, nullptr));
  ASSERT_EQ(SSL_CTX_use_certificate(context, certificate.get()), 1);
  ASSERT_EQ(SSL_CTX_use_PrivateKey(context, key.get()), 1);
}

// A handshake in memory, and one byte from the server, before which its tickets would come.
void Meet(SSL* client, SSL* server) {
  BIO* a = nullptr;
  BIO* b = nullptr;
  ASSERT_EQ(BIO_new_bio_pair(&a, 0, &b, 0), 1);
  SSL_set_bio(client, a, a);
  SSL_set_bio(server, b, b);
  SSL_set_connect_state(client);
  SSL_set_accept_state(server);
  for (int i = 0; i < 8 && (SSL_in_init(client) || SSL_in_init(server)); ++i) {
    SSL_do_handshake(client);
    SSL_do_handshake(server);
  }
  char byte = 'x';
  ASSERT_EQ(SSL_write(server, &byte, 1), 1);
  ASSERT_EQ(SSL_read(client, &byte, 1), 1);
}

class SmallConnectionsTest : public ::testing::TestWithParam<int> {};

TEST_P(SmallConnectionsTest, GiveBuffersBackAndOfferNoSession) {
  KeepConnectionsSmall();
  KeepConnectionsSmall();
  const Context serving(SSL_CTX_new(TLS_server_method()));
  const Context calling(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_max_proto_version(serving.get(), GetParam());
  const testing::CertificateAuthority authority("one");
  Use(serving.get(), authority.Issue("spiffe://berth.test/placement/one"));

  const Connection server(SSL_new(serving.get()));
  const Connection client(SSL_new(calling.get()));
  EXPECT_TRUE(SSL_get_mode(server.get()) & SSL_MODE_RELEASE_BUFFERS);
  EXPECT_TRUE(SSL_get_mode(client.get()) & SSL_MODE_RELEASE_BUFFERS);
  ASSERT_NO_FATAL_FAILURE(Meet(client.get(), server.get()));
  EXPECT_EQ(SSL_version(client.get()), GetParam());
  EXPECT_FALSE(SSL_SESSION_is_resumable(SSL_get0_session(client.get())));
  EXPECT_EQ(SSL_CTX_sess_number(serving.get()), 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, SmallConnectionsTest,
                         ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION));

}  // namespace
}  // namespace berth::services
