#include "services/tls/refused_handshake.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "openssl/ssl.h"
#include "openssl/x509_vfy.h"
#include "services/client/cpp/holder.h"
#include "services/tls/listener.h"

namespace berth::services {
namespace {

Listener& RefusalListener() {
  static auto* const listener = new Listener();
  return *listener;
}

// OpenSSL calls this for each certificate of the chain that it has verified, and for each fault that
// it finds. The answer is that of gRPC's own callback, whose place this one has.
int OnVerified(int good, X509_STORE_CTX* context) {
  const auto* const ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const SSL_verify_cb replaced = SSL_CTX_get_verify_callback(SSL_get_SSL_CTX(ssl));
  const int accepted = replaced == nullptr ? good : replaced(good, context);
  if (accepted != 0) return accepted;
  const X509* const certificate = X509_STORE_CTX_get0_cert(context);
  RefusalListener().Tell(
      true, absl::StrCat(
                "refused a TLS connection: the certificate of the other side: ",
                X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)), " (certificate ",
                X509_STORE_CTX_get_error_depth(context) + 1, " of the chain); it is the one with ",
                certificate == nullptr ? "unknown holder" : client::HolderOf(certificate)));
  return accepted;
}

// OpenSSL calls this for each new connection, after it has copied the settings of gRPC's context. A
// connection that verifies nothing, such as one of libpq without root certificates, refuses nobody.
void OnNewConnection(void* connection, void* /*data*/, CRYPTO_EX_DATA* /*all*/, int /*index*/,
                     long /*number*/, void* /*given*/) {
  auto* const ssl = static_cast<SSL*>(connection);
  const int mode = SSL_get_verify_mode(ssl);
  if (mode != SSL_VERIFY_NONE) SSL_set_verify(ssl, mode, OnVerified);
}

}  // namespace

void TellRefusedHandshakes(std::function<void(const std::string& text)> tell) {
  Listener::Teller teller;
  if (tell) teller = [tell = std::move(tell)](bool, const std::string& text) { tell(text); };
  RefusalListener().Put(std::move(teller));
  static const int index = SSL_get_ex_new_index(0, nullptr, OnNewConnection, nullptr, nullptr);
  static_cast<void>(index);
}

}  // namespace berth::services
