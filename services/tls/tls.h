// Tls: the certificate of a process that listens, and the credentials of its listeners and channels.
//
// gRPC takes what a listener's files have, and reads them when it likes. So Look hands over what has
// passed the checks in memory (memfd_create), key and certificates at once. Thread-safe.
#ifndef BERTH_SERVICES_TLS_TLS_H_
#define BERTH_SERVICES_TLS_TLS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/client/cpp/own_certificate.h"

namespace grpc {
class ServerCredentials;
namespace experimental {
class FileWatcherCertificateProvider;
}  // namespace experimental
}  // namespace grpc

namespace berth::services {

// The same checks as those of Tls::Open, without use of the files. OK without TLS.
absl::Status CheckTls(const client::TlsSettings& settings, client::CertificateUse use);

// New connections to a listener use new files within two seconds after a Look; open ones stay.
class Tls : public client::OwnCertificate {
 public:
  // Like OwnCertificate::Open, for a certificate that is good for a server whatever `use` says.
  // kInternal if there is no memory for the files.
  static absl::StatusOr<std::unique_ptr<Tls>> Open(const client::TlsSettings& settings,
                                                   client::CertificateUse use, Tell tell,
                                                   const Tell& tell_of_peers = nullptr);

  // OK if `chain`, which a client has sent, leads to a CA that is trusted now; times do not count.
  // kInvalidArgument otherwise, with the reason. `chain`: the client's certificate, then those that
  // lead to the CA, all as PEM.
  absl::Status CheckTrust(const std::string& chain) const;

  // Credentials of a listener, which may outlive the Tls. It demands a certificate of every client,
  // with exactly one URI, an id in the trust domain.
  std::shared_ptr<grpc::ServerCredentials> ForServer() const;

 private:
  using Provider = grpc::experimental::FileWatcherCertificateProvider;
  Tls(client::OwnCertificate own, std::shared_ptr<Provider> provider);

  const std::shared_ptr<Provider> provider_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_TLS_TLS_H_
