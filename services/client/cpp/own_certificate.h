// OwnCertificate: the certificate of this process, kept up to date from files, and the credentials of
// gRPC channels that use it.
//
// gRPC 1.51 reads certificates from files, and a key beside the certificate of another key stops
// every handshake. So gRPC never sees the files of the operator: Look checks them first. Files that
// do not pass change nothing: what is in use stays in use. Thread-safe.
#ifndef BERTH_SERVICES_CLIENT_CPP_OWN_CERTIFICATE_H_
#define BERTH_SERVICES_CLIENT_CPP_OWN_CERTIFICATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/client/cpp/certificates.h"

namespace grpc {
class ChannelCredentials;
namespace experimental {
class TlsCredentialsOptions;
}  // namespace experimental
}  // namespace grpc

namespace berth::client {

// The settings tls-certificate, tls-key, tls-ca and trust-domain. Without TLS all are empty.
struct TlsSettings {
  CertificateTexts files;    // names of files
  std::string trust_domain;  // DOMAIN in the ids spiffe://DOMAIN/ROLE/NAME of both sides

  bool given() const { return !trust_domain.empty() || !(files == CertificateTexts()); }
  friend bool operator==(const TlsSettings& one, const TlsSettings& other) {
    return one.files == other.files && one.trust_domain == other.trust_domain;
  }
};

class OwnCertificate {
 public:
  // Tells an operator what happened. `wrong`: something failed. The calls come from any thread. Null
  // tells nobody.
  using Tell = std::function<void(bool wrong, const std::string& text)>;
  // Gets texts that have passed the checks before they are in use, one call at a time. If it fails,
  // they are not used. It must not call Look.
  using Take = std::function<absl::Status(const CertificateTexts& texts)>;

  // Reads and checks the files. kInvalidArgument if one of the four settings is not given, or if the
  // files do not pass the checks of CheckCertificates now; the trust domain of `use` is that of
  // `settings`. Then the error of `take`, which may be null. `tell` is told what becomes of the files,
  // and `tell_of_peers` which peers are refused: a peer decides how often. Null: `tell`, too.
  static absl::StatusOr<OwnCertificate> Open(const TlsSettings& settings, CertificateUse use,
                                             Tell tell, const Tell& tell_of_peers = nullptr,
                                             Take take = nullptr);
  // Credentials that were made may outlive the OwnCertificate.
  ~OwnCertificate();
  // Of an OwnCertificate that was moved from only the destructor may be called.
  OwnCertificate(OwnCertificate&& other) noexcept;
  OwnCertificate& operator=(OwnCertificate&& other) noexcept;

  // Reads the files again, and puts them to use if they have changed and pass the checks. To be
  // called every second. Waits for the disk; no other call does. Files that do not pass are told once,
  // at the second look that finds them like this, because the first look may come while somebody
  // writes them.
  void Look();

  // The end of the certificate in use.
  absl::Time not_after() const;
  // How many times Look has put new files to use.
  int64_t renewals() const;
  // How many times of these the CAs changed.
  int64_t ca_changes() const;
  // From the last renewal on, the time within which open channels should be replaced, each after a
  // random part of it: clients that get certificates at the same time must not come back at the same
  // time. A minute, but at most half of what the certificate before had left.
  absl::Duration renewal_spread() const;

  // Credentials of a channel, with the certificate that is in use now. When renewals() has changed,
  // the owner of the channel opens another one with new credentials: gRPC would keep the connection
  // of the old channel, and with it the old certificate. The certificate of the server must have
  // exactly one URI, an id in the trust domain with one of `roles`. Its common name and its DNS
  // names do not count, and neither does the address.
  std::shared_ptr<grpc::ChannelCredentials> ForChannel(std::vector<std::string> roles) const;

 protected:
  // The certificates of the CAs in use, as PEM.
  std::string cas() const;
  // Sets which peers are accepted: those whose certificate leads to one of the CAs and has an id in
  // the trust domain with one of `roles`. No roles: any role will do.
  void SetPeers(grpc::experimental::TlsCredentialsOptions* options,
                std::vector<std::string> roles) const;

 private:
  class Impl;
  explicit OwnCertificate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_OWN_CERTIFICATE_H_
