#include "services/process/service_options.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/log/log.h"
#include "services/process/open_connections.h"
#include "services/tls/grpc_log.h"

namespace berth::services {
namespace {

constexpr absl::Duration kCertificateStep = absl::Seconds(1);
constexpr int kPortMax = 65'535;
// Anybody may connect, with a certificate of his own making.
constexpr size_t kPeerLinesMax = 20;

}  // namespace

void AddServiceOptions(ServiceOptions* options, Config* config) {
  config->Add("listen", &options->listen,
              "Address on which to serve gRPC: HOST:PORT or unix:PATH; repeatable");
  config->Add(
      "insecure-listen", &options->insecure_listen,
      "Without TLS: allow addresses that other machines can reach, although callers are not "
      "identified");
  AddTlsOptions(&options->tls, config);
  config->Add(
      "connection-age-max", &options->connection_age_max,
      "With TLS: a connection that is older gets no new calls, so that clients open another "
      "one with their present certificate; open calls go on");
  config->Add("connections-max", &options->connections_max,
              "How many connections over TCP may be open; 0: as many as the limit of open files "
              "allows, at most 20000");
  config->Add("address-file", &options->address_file,
              "File to which to write the addresses on which gRPC is served");
  config->Add("metrics-listen", &options->metrics_listen,
              "Address on which to serve Prometheus metrics: HOST:PORT; empty: none");
  config->Add(
      "insecure-metrics-listen", &options->insecure_metrics_listen,
      "Allow a metrics address that other machines can reach, although everybody who reaches "
      "it reads the metrics as plain text, with or without TLS");
  config->AddChoice("log-format", {"text", "json"}, &options->log_format,
                    "The format of log lines");
  config->AddChoice("log-level", {"debug", "info", "warning", "error"}, &options->log_level,
                    "Write log messages of this level and above");
  config->Add("drain-max", &options->drain_max,
              "On SIGTERM: how much time begun calls get to finish");
}

absl::Status CheckMetricsListener(const ServiceOptions& options) {
  const std::string& address = options.metrics_listen;
  if (address.empty()) return absl::OkStatus();
  const size_t colon = address.rfind(':');
  const std::string digits = colon == std::string::npos ? "" : address.substr(colon + 1);
  int port = -1;
  const bool has_port = colon != 0 && absl::SimpleAtoi(digits, &port) && port <= kPortMax &&
                        digits.find_first_not_of("0123456789") == std::string::npos;
  // The HTTP server would take a list with commas, and a lone port for all addresses of the machine.
  if (!has_port || absl::StrContains(address, ",")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "metrics address '", address, "' is not valid: write HOST:PORT or [IPV6]:PORT"));
  }
  if (options.insecure_metrics_listen || IsLoopback(address)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("will not serve metrics on ", address,
                   ": other machines can reach this address, and metrics are plain text that "
                   "everybody may read, with or without certificates. Serve them on 127.0.0.1, or "
                   "give --insecure-metrics-listen if the network can be trusted"));
}

void AddTlsOptions(client::TlsSettings* tls, Config* config) {
  config->Add("tls-certificate", &tls->files.certificate,
              "PEM file with the certificate of this process, then those that lead to the CA");
  config->Add("tls-key", &tls->files.key, "PEM file with the private key of the certificate");
  config->Add("tls-ca", &tls->files.ca,
              "PEM file with the certificates of the CAs that are trusted");
  config->Add("trust-domain", &tls->trust_domain,
              "DOMAIN in the ids spiffe://DOMAIN/ROLE/NAME of all certificates");
}

Tls::Tell PeerTeller(std::function<placement::BootTime()> clock) {
  auto of_peers = std::make_shared<LinePace>(absl::Seconds(1), kPeerLinesMax);
  auto of_grpc = std::make_shared<LinePace>(absl::Seconds(1), kPeerLinesMax);
  return [of_peers, of_grpc, clock = std::move(clock)](bool wrong, const std::string& text) {
    int64_t omitted = 0;
    LinePace& pace = absl::StartsWith(text, kGrpcWords) ? *of_grpc : *of_peers;
    if (!pace.Lets(text, clock(), &omitted)) return;
    Log(wrong ? LogLevel::kWarning : LogLevel::kInfo, text, {{"omitted", omitted}});
  };
}

absl::StatusOr<std::unique_ptr<Tls>> OpenTls(const ServiceOptions& options,
                                             const client::CertificateUse& use) {
  if (!options.tls.given()) return std::unique_ptr<Tls>();
  const Tls::Tell tell_of_peers = PeerTeller();
  PassOnGrpcLog(tell_of_peers);
  const Tls::Tell tell = [](bool wrong, const std::string& text) {
    Log(wrong ? LogLevel::kWarning : LogLevel::kInfo, text);
  };
  return Tls::Open(options.tls, use, tell, tell_of_peers);
}

std::unique_ptr<Loop> FollowCertificates(Tls* tls) {
  if (tls == nullptr) return nullptr;
  return std::make_unique<Loop>("certificates", [tls] {
    tls->Look();
    return kCertificateStep;
  });
}

void MeasureTls(const Tls* tls, Metrics* metrics) {
  metrics->AddSource([tls](Samples* samples) {
    samples->Gauge("certificate_not_after_seconds",
                   "When the certificate in use ends, in seconds since 1970",
                   static_cast<double>(absl::ToUnixSeconds(tls->not_after())));
  });
}

void MeasureConnections(const std::shared_ptr<OpenConnections>& connections, Metrics* metrics) {
  metrics->AddSource([connections](Samples* samples) {
    samples->Gauge("connections", "Connections over TCP that are open", connections->Count());
    samples->Gauge("connections_max", "How many connections over TCP there may be",
                   connections->bounds().connections_max);
    samples->Gauge(
        "connections_beginning",
        "Connections over TCP that are at their handshakes, or wait for their first call",
        connections->beginning());
    const std::pair<const char*, ConnectionRefusal> reasons[] = {
        {"full", ConnectionRefusal::kFull},
        {"share", ConnectionRefusal::kShare},
        {"silent", ConnectionRefusal::kSilent}};
    for (const auto& [reason, why] : reasons) {
      samples->Counter("connections_refused_total",
                       "Connections over TCP that were closed because there were too many (full), "
                       "too many of their address (share), or because they sent nothing (silent)",
                       static_cast<double>(connections->refused(why)), {{"reason", reason}});
    }
  });
}

std::string DefaultStateDirectory(const std::string& program) {
  if (geteuid() == 0) return absl::StrCat("/var/lib/", program);
  const char* state_home = std::getenv("XDG_STATE_HOME");
  if (state_home != nullptr && *state_home == '/') return absl::StrCat(state_home, "/", program);
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "/tmp" : home, "/.local/state/", program);
}

}  // namespace berth::services
