// A TLS handshake in memory, between two connections of OpenSSL.
#ifndef BERTH_TESTS_SERVICES_TLS_HANDSHAKE_H_
#define BERTH_TESTS_SERVICES_TLS_HANDSHAKE_H_

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>

#include "tests/processes/certificate_authority.h"

namespace berth::testing {

struct FreeTls {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;
using TlsConnection = std::unique_ptr<SSL, FreeTls>;

inline void Use(SSL_CTX* context, const IssuedCertificate& issued) {
  const std::unique_ptr<BIO, FreeTls> text(BIO_new_mem_buf(issued.certificate.data(), -1));
  const std::unique_ptr<X509, FreeTls> certificate(
      PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<BIO, FreeTls> secret(BIO_new_mem_buf(issued.key.data(), -1));
  const std::unique_ptr<EVP_PKEY, FreeTls> key(
      PEM_read_bio_PrivateKey(secret.get(), nullptr, nullptr, nullptr));
  ASSERT_EQ(SSL_CTX_use_certificate(context, certificate.get()), 1);
  ASSERT_EQ(SSL_CTX_use_PrivateKey(context, key.get()), 1);
}

// Goes on until both sides are ready, or cannot become so.
inline void ShakeHands(SSL* client, SSL* server) {
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
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_SERVICES_TLS_HANDSHAKE_H_
