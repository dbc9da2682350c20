#include "services/process/caller.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/server_context.h"
#include "services/client/cpp/certificates.h"
#include "services/client/cpp/spiffe_id.h"

namespace berth::services {
namespace {

constexpr size_t kEndsKeptMax = 256;

// Lives as long as `context`.
absl::string_view PropertyOf(const grpc::AuthContext& context, const char* name) {
  const std::vector<grpc::string_ref> values = context.FindPropertyValues(name);
  return values.size() == 1 ? absl::string_view(values[0].data(), values[0].size()) : "";
}

// Like client::CertificateEnd. Each thread remembers certificates, because one connection makes many
// calls with one certificate.
absl::Time RememberedEnd(absl::string_view pem) {
  thread_local absl::flat_hash_map<std::string, absl::Time> ends;
  const auto found = ends.find(pem);
  if (found != ends.end()) return found->second;
  if (ends.size() >= kEndsKeptMax) ends.clear();
  const std::string text(pem);
  return ends[text] = client::CertificateEnd(text);
}

}  // namespace

std::string IdentityOf(const Caller& caller) { return absl::StrCat(caller.role, "/", caller.name); }

Caller CallerOf(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  return auth == nullptr ? Caller() : CallerOn(*auth);
}

Caller CallerOn(const grpc::AuthContext& connection) {
  Caller caller;
  // gRPC sets this property only if the certificate has exactly one URI.
  const absl::string_view uri = PropertyOf(connection, GRPC_PEER_SPIFFE_ID_PROPERTY_NAME);
  if (uri.empty()) return caller;
  const auto id = client::ParseSpiffeId(uri);
  if (!id.ok()) return caller;
  caller.domain = id->domain;
  caller.role = id->role;
  caller.name = id->name;
  caller.not_after = RememberedEnd(PropertyOf(connection, GRPC_X509_PEM_CERT_PROPERTY_NAME));
  return caller;
}

absl::Duration TimeLeft(const grpc::ServerContextBase& context, absl::Duration longest) {
  const gpr_timespec deadline = context.raw_deadline();
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  return std::min(absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec), longest);
}

}  // namespace berth::services
