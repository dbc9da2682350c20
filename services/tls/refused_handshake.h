// Why OpenSSL refuses the certificate of the other side in a handshake.
//
// gRPC 1.51 logs of such a handshake only that it failed: not whose certificate it was, nor whether
// it has expired or comes from another CA. OpenSSL knows both while it verifies the certificate.
// Nobody knows the address of the peer there.
#ifndef BERTH_SERVICES_TLS_REFUSED_HANDSHAKE_H_
#define BERTH_SERVICES_TLS_REFUSED_HANDSHAKE_H_

#include <functional>
#include <string>

namespace berth::services {

// From now on calls `tell` for each handshake of this process in which OpenSSL refuses the
// certificate of the other side, with the reason and with whose certificate it is (HolderOf).
// Whether a certificate is refused does not change. `tell` is called from any thread; it replaces
// that of an earlier call, and null tells nobody. REQUIRES: who has a callback of its own for the
// verification has set it for the SSL or the SSL_CTX; that of an X509_STORE is not called any more.
// Thread-safe.
void TellRefusedHandshakes(std::function<void(const std::string& text)> tell);

}  // namespace berth::services

#endif  // BERTH_SERVICES_TLS_REFUSED_HANDSHAKE_H_
