#include "services/tls/small_connections.h"

#include <openssl/ssl.h>

#include "placement/ground/check.h"

namespace berth::services {
namespace {

// OpenSSL calls the two functions at the end of each SSL_CTX_new and SSL_new, where somebody may add
// data of his own. gRPC offers no other way to its contexts and connections.
void OnContext(void* context, void* /*data*/, CRYPTO_EX_DATA* /*all*/, int /*index*/,
               long /*number*/, void* /*pointer*/) {
  SSL_CTX_set_session_cache_mode(static_cast<SSL_CTX*>(context), SSL_SESS_CACHE_OFF);
}
void OnConnection(void* connection, void* /*data*/, CRYPTO_EX_DATA* /*all*/, int /*index*/,
                  long /*number*/, void* /*pointer*/) {
  auto* const ssl = static_cast<SSL*>(connection);
  SSL_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
  SSL_set_num_tickets(ssl, 0);             // TLS 1.3
  SSL_set_options(ssl, SSL_OP_NO_TICKET);  // TLS 1.2
}

bool Register() {
  return SSL_CTX_get_ex_new_index(0, nullptr, OnContext, nullptr, nullptr) >= 0 &&
         SSL_get_ex_new_index(0, nullptr, OnConnection, nullptr, nullptr) >= 0;
}

}  // namespace

void KeepConnectionsSmall() {
  static const bool kRegistered = Register();
  BERTH_CHECK(kRegistered);  // else OpenSSL has no memory
}

}  // namespace berth::services
