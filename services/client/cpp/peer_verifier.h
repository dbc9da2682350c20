// The check that gRPC makes of the other side's certificate, after TLS has verified the chain.
//
// Pure functions, and a factory that gives gRPC the check. Thread-safe.
#ifndef BERTH_SERVICES_CLIENT_CPP_PEER_VERIFIER_H_
#define BERTH_SERVICES_CLIENT_CPP_PEER_VERIFIER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace grpc::experimental {
class CertificateVerifier;
}  // namespace grpc::experimental

namespace berth::client {

// kPermissionDenied unless `uris`, all URIs of a certificate, are exactly one id in `trust_domain`
// with one of `roles`. No roles: any role will do.
absl::Status CheckPeer(const std::vector<std::string>& uris, const std::string& trust_domain,
                       const std::vector<std::string>& roles);

// Returns the check in the form that gRPC wants. It tells each refusal, with whose certificate it is
// (HolderIn).
std::shared_ptr<grpc::experimental::CertificateVerifier> MakePeerVerifier(
    const std::string& trust_domain, std::vector<std::string> roles,
    std::function<void(bool wrong, const std::string& text)> tell);

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_PEER_VERIFIER_H_
