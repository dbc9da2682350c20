#include "services/process/admission.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"
#include "placement/ground/status_macros.h"
#include "placement/values/refusal.h"

namespace berth::services {
namespace {

constexpr size_t kChainsKeptMax = 256;

absl::Status Unauthenticated(absl::string_view why) {
  return placement::Refuse(absl::StatusCode::kUnauthenticated, "UNAUTHENTICATED", why);
}

std::string TextOf(const grpc::AuthContext& connection, const char* property) {
  const auto values = connection.FindPropertyValues(property);
  return values.empty() ? "" : std::string(values[0].data(), values[0].size());
}

// The certificate with which the connection was opened, and those that the client sent with it.
// gRPC's chain is what OpenSSL tells a server, without the client's own certificate.
std::string ChainOf(const grpc::AuthContext& connection) {
  return absl::StrCat(TextOf(connection, GRPC_X509_PEM_CERT_PROPERTY_NAME),
                      TextOf(connection, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME));
}

// Like Tls::CheckTrust. Each thread remembers the answers of one set of CAs, because one connection
// makes many calls with one certificate.
absl::Status RememberedTrust(const Tls& tls, const grpc::AuthContext& connection) {
  thread_local absl::flat_hash_map<std::string, absl::Status> answers;
  thread_local std::pair<const Tls*, int64_t> answered_for;
  const std::pair<const Tls*, int64_t> asked_for(&tls, tls.ca_changes());
  if (std::exchange(answered_for, asked_for) != asked_for) answers.clear();
  const std::string chain = ChainOf(connection);
  const auto found = answers.find(chain);
  if (found != answers.end()) return found->second;
  if (answers.size() >= kChainsKeptMax) answers.clear();
  return answers[chain] = tls.CheckTrust(chain);
}

}  // namespace

absl::Status CheckExpiry(const Caller& caller, absl::Time now) {
  if (now < caller.not_after) return absl::OkStatus();
  return Unauthenticated("the certificate with which the connection was opened has expired");
}

absl::Status Admission::Check(const Caller& caller, const grpc::AuthContext* connection,
                              absl::Time now) const {
  BERTH_RETURN_IF_ERROR(CheckExpiry(caller, now));
  BERTH_RETURN_IF_ERROR(CheckTrust(connection));
  if (policy_ == nullptr || policy_->version() == 0) return absl::OkStatus();
  return policy_->Admit(IdentityOf(caller));
}

absl::Status Admission::CheckTrust(const grpc::AuthContext* connection) const {
  // The handshake has checked the certificate with the first set of CAs.
  if (connection == nullptr || tls_ == nullptr || tls_->ca_changes() == 0) return absl::OkStatus();
  const absl::Status trusted = RememberedTrust(*tls_, *connection);
  if (trusted.ok()) return trusted;
  return Unauthenticated(
      absl::StrCat("the certificate with which the connection was opened is not trusted any more: ",
                   trusted.message()));
}

}  // namespace berth::services
