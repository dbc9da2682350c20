// Of which connections a refusal is told: handshakes in memory.
#include "services/tls/refused_handshake.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "tests/services/tls/handshake.h"

namespace berth::services {
namespace {

// What is told while a client of `mode` meets a server whose CA it does not know. `*met`: whether the
// connection was made.
std::string ToldWith(int mode, bool* met) {
  std::string told;
  TellRefusedHandshakes([&told](const std::string& text) { told += text; });
  const testing::TlsContext serving(SSL_CTX_new(TLS_server_method()));
  const testing::TlsContext calling(SSL_CTX_new(TLS_client_method()));
  testing::Use(serving.get(),
               testing::CertificateAuthority("one").Issue("spiffe://berth.test/placement/one"));
  SSL_CTX_set_verify(calling.get(), mode, nullptr);
  const testing::TlsConnection server(SSL_new(serving.get()));
  const testing::TlsConnection client(SSL_new(calling.get()));
  testing::ShakeHands(client.get(), server.get());
  *met = SSL_is_init_finished(client.get()) == 1;
  TellRefusedHandshakes(nullptr);
  return told;
}

TEST(RefusedHandshakeTest, IsToldOfWhoVerifies) {
  bool met = true;
  EXPECT_TRUE(absl::StrContains(ToldWith(SSL_VERIFY_PEER, &met), "spiffe://berth.test/placement"));
  EXPECT_FALSE(met);
}

// libpq with sslmode=require and without root certificates: OpenSSL looks at the certificate, and
// goes on whatever it finds.
TEST(RefusedHandshakeTest, IsNotToldOfWhoVerifiesNothing) {
  bool met = false;
  EXPECT_EQ(ToldWith(SSL_VERIFY_NONE, &met), "");
  EXPECT_TRUE(met);
}

}  // namespace
}  // namespace berth::services
