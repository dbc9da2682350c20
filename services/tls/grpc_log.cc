#include "services/tls/grpc_log.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc/support/log.h"
#include "services/tls/listener.h"
#include "services/tls/refused_handshake.h"

namespace berth::services {
namespace {

Listener& GrpcLogListener() {
  static auto* const listener = new Listener();
  return *listener;
}

void OnGrpcLog(gpr_log_func_args* line) {
  const absl::string_view text = line->message;
  // Said for every connection: the client has sent an address as the name of the server.
  if (absl::StartsWith(text, "No match found for server name")) return;
  const bool handshake = absl::StrContains(text, "andshake");
  GrpcLogListener().Tell(line->severity == GPR_LOG_SEVERITY_ERROR,
                         absl::StrCat(handshake ? "a TLS handshake failed: " : kGrpcWords, text));
}

}  // namespace

void PassOnGrpcLog(client::OwnCertificate::Tell tell) {
  TellRefusedHandshakes([tell](const std::string& text) { tell(true, text); });
  GrpcLogListener().Put(std::move(tell));
  gpr_set_log_function(OnGrpcLog);
}

}  // namespace berth::services
