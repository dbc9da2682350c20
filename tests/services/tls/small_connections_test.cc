// What a connection keeps, and that no session can be resumed.
#include "services/tls/small_connections.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "tests/services/tls/handshake.h"

namespace berth::services {
namespace {

using testing::TlsConnection;
using testing::TlsContext;

// A handshake, and one byte from the server, before which its tickets would come.
void Meet(SSL* client, SSL* server) {
  testing::ShakeHands(client, server);
  char byte = 'x';
  ASSERT_EQ(SSL_write(server, &byte, 1), 1);
  ASSERT_EQ(SSL_read(client, &byte, 1), 1);
}

class SmallConnectionsTest : public ::testing::TestWithParam<int> {};

TEST_P(SmallConnectionsTest, GiveBuffersBackAndOfferNoSession) {
  KeepConnectionsSmall();
  KeepConnectionsSmall();
  const TlsContext serving(SSL_CTX_new(TLS_server_method()));
  const TlsContext calling(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_max_proto_version(serving.get(), GetParam());
  const testing::CertificateAuthority authority("one");
  testing::Use(serving.get(), authority.Issue("spiffe://berth.test/placement/one"));

  const TlsConnection server(SSL_new(serving.get()));
  const TlsConnection client(SSL_new(calling.get()));
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
