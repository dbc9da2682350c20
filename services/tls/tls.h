// Tls: the certificate of this process, kept up to date, and the gRPC credentials that use it.
//
// gRPC 1.51 reads certificates from files, and a key beside the certificate of another key stops
// every handshake. So gRPC never sees the files of the operator. Look checks them first, and hands
// them over in memory (memfd_create), key and certificates at once. Files that do not pass change
// nothing: what is in use stays in use. Thread-safe.
#ifndef BERTH_SERVICES_TLS_TLS_H_
#define BERTH_SERVICES_TLS_TLS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/tls/certificates.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace berth::services {

// The settings --tls-certificate, --tls-key, --tls-ca and --trust-domain. Without TLS all are empty.
struct TlsSettings {
  CertificateTexts files;
  std::string trust_domain;

  bool given() const { return !trust_domain.empty() || !(files == CertificateTexts()); }
  friend bool operator==(const TlsSettings&, const TlsSettings&) = default;
};

// kInvalidArgument if only some of the four settings are given, or if the files do not pass the
// checks of CheckCertificates now. The trust domain of `use` is that of `settings`. OK without TLS.
absl::Status CheckTls(const TlsSettings& settings, CertificateUse use);

class Tls {
 public:
  // Tells an operator what happened. `wrong`: something failed. The calls come from any thread.
  using Tell = std::function<void(bool wrong, const std::string& text)>;

  // Reads and checks the files. Fails like CheckTls. `tell` is told what becomes of the files, and
  // `tell_of_peers` which peers are refused: a peer decides how often. Null: `tell`, too.
  // REQUIRES: settings.given().
  static absl::StatusOr<std::unique_ptr<Tls>> Open(const TlsSettings& settings, CertificateUse use,
                                                   Tell tell, Tell tell_of_peers = nullptr);
  // Credentials that were made may outlive the Tls.
  ~Tls();

  // Reads the files again, and puts them to use if they have changed and pass the checks. New
  // connections to a listener use them within two seconds; open connections stay. To be called every
  // second. Files that do not pass are told once, at the second look that finds them like this,
  // because the first look may come while somebody writes them.
  void Look();

  // The end of the certificate in use.
  absl::Time not_after() const;
  // How many times Look has put new files to use.
  int64_t renewals() const;
  // How many times of these the CAs changed.
  int64_t ca_changes() const;

  // OK if `chain`, which a client has sent, leads to a CA that is trusted now; times do not count.
  // kInvalidArgument otherwise, with the reason. `chain`: the client's certificate, then those that
  // lead to the CA, all as PEM.
  absl::Status CheckTrust(const std::string& chain) const;

  // Credentials of a listener. It demands a certificate of every client, with exactly one URI, an id
  // in the trust domain. REQUIRES: the CertificateUse of Open has `server`.
  std::shared_ptr<grpc::ServerCredentials> ForServer();

  // Credentials of a channel, with the certificate that is in use now. When renewals() has changed,
  // the owner of the channel opens another one with new credentials: gRPC would keep the connection
  // of the old channel, and with it the old certificate. The certificate of the server must have
  // exactly one URI, an id in the trust domain with one of `roles`. Its common name and its DNS
  // names do not count, and neither does the address.
  std::shared_ptr<grpc::ChannelCredentials> ForChannel(std::vector<std::string> roles);

 private:
  class Impl;
  explicit Tls(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What PassOnGrpcLog puts before a line of gRPC that is not about a handshake.
inline constexpr char kGrpcWords[] = "gRPC: ";

// Passes on what gRPC logs, instead of letting gRPC write it to stderr, and why OpenSSL refuses the
// certificates of peers. A peer decides how often. To be called before the first handshake.
void PassOnGrpcLog(Tls::Tell tell);

}  // namespace berth::services

#endif  // BERTH_SERVICES_TLS_TLS_H_
