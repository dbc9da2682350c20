#include "services/client/cpp/peer_verifier.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/support/status.h"
#include "services/client/cpp/holder.h"
#include "services/client/cpp/spiffe_id.h"

namespace berth::client {
namespace {

using grpc::experimental::TlsCustomVerificationCheckRequest;

class PeerVerifier : public grpc::experimental::ExternalCertificateVerifier {
 public:
  PeerVerifier(std::string trust_domain, std::vector<std::string> roles,
               std::function<void(bool, const std::string&)> tell)
      : trust_domain_(std::move(trust_domain)), roles_(std::move(roles)), tell_(std::move(tell)) {}
  ~PeerVerifier() override = default;

  bool Verify(TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    std::vector<std::string> uris;
    for (const grpc::string_ref& uri : request->uri_names()) {
      uris.emplace_back(uri.data(), uri.size());
    }
    const absl::Status checked = CheckPeer(uris, trust_domain_, roles_);
    if (checked.ok()) return true;
    *status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, std::string(checked.message()));
    const grpc::string_ref pem = request->peer_cert();
    tell_(true,
          absl::StrCat("refused a TLS connection: ", checked.message(), "; it is the one with ",
                       HolderIn(std::string(pem.data(), pem.size()))));
    return true;
  }
  void Cancel(TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::string trust_domain_;
  const std::vector<std::string> roles_;
  const std::function<void(bool, const std::string&)> tell_;
};

}  // namespace

absl::Status CheckPeer(const std::vector<std::string>& uris, const std::string& trust_domain,
                       const std::vector<std::string>& roles) {
  if (uris.size() != 1) {
    return absl::PermissionDeniedError(
        absl::StrCat("the certificate of the other side has ", uris.size(),
                     " URIs, but must have exactly one, its SPIFFE id"));
  }
  const absl::StatusOr<SpiffeId> id = ParseSpiffeId(uris[0]);
  if (!id.ok()) {
    return absl::PermissionDeniedError(
        absl::StrCat("in the certificate of the other side the URI ", id.status().message()));
  }
  const bool right_role =
      roles.empty() || std::find(roles.begin(), roles.end(), id->role) != roles.end();
  if (id->domain == trust_domain && right_role) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "the certificate of the other side is that of ", Shown(UriOf(*id)), ", but must be that of ",
      UriOf({trust_domain, roles.empty() ? "ROLE" : absl::StrJoin(roles, " or "), "NAME"})));
}

std::shared_ptr<grpc::experimental::CertificateVerifier> MakePeerVerifier(
    const std::string& trust_domain, std::vector<std::string> roles,
    std::function<void(bool wrong, const std::string& text)> tell) {
  return grpc::experimental::ExternalCertificateVerifier::Create<PeerVerifier>(
      trust_domain, std::move(roles), std::move(tell));
}

}  // namespace berth::client
