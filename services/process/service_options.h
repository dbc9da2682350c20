// ServiceOptions: the settings that both services have.
#ifndef BERTH_SERVICES_PROCESS_SERVICE_OPTIONS_H_
#define BERTH_SERVICES_PROCESS_SERVICE_OPTIONS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "placement/ground/boot_clock.h"
#include "services/process/config.h"
#include "services/process/loops.h"
#include "services/process/metrics.h"
#include "services/process/server.h"
#include "services/tls/tls.h"

namespace berth::services {

struct ServiceOptions : ServerOptions {
  std::string metrics_listen;            // HOST:PORT; empty: no metrics
  bool insecure_metrics_listen = false;  // allow a metrics address that other machines can reach
  std::string log_format = "json";
  std::string log_level = "info";
};

// Declares the settings of ServiceOptions that both services offer. `options` must live until
// Config::Parse returns.
void AddServiceOptions(ServiceOptions* options, Config* config);

// Checks `options.metrics_listen` without listening. OK if it is empty. Fails with
//   kInvalidArgument     it is not HOST:PORT
//   kFailedPrecondition  other machines can reach it, and `insecure_metrics_listen` is not set.
//                        Certificates change nothing: metrics are plain text for everybody
absl::Status CheckMetricsListener(const ServiceOptions& options);

// Declares the settings of TLS.
void AddTlsOptions(client::TlsSettings* tls, Config* config);

// Writes to the log what is told of peers, who decide how often it is told: the same text once a
// second, and 20 lines a second at most, with the number of those that were left out. What else gRPC
// says (kGrpcWords) has 20 lines of its own, so that peers do not hide it. `clock` tells the time.
Tls::Tell PeerTeller(std::function<placement::BootTime()> clock = placement::BootNow);

// Opens the certificates of a service, and passes on to the log what happens to them, and what gRPC
// and the handshakes tell of peers (PeerTeller). Null if `options` has no TLS. Fails like Tls::Open.
absl::StatusOr<std::unique_ptr<Tls>> OpenTls(const ServiceOptions& options,
                                             const client::CertificateUse& use);

// Looks at the files of `tls` every second while the result lives, on a thread of its own, because a
// disk may hang. Null if `tls` is null.
std::unique_ptr<Loop> FollowCertificates(Tls* tls);

// Adds the end of the certificate in use to `metrics`, which `tls` must outlive.
void MeasureTls(const Tls* tls, Metrics* metrics);

// Adds the connections over TCP to `metrics`.
void MeasureConnections(const std::shared_ptr<OpenConnections>& connections, Metrics* metrics);

// /var/lib/PROGRAM for root, else a directory under the user's state home.
std::string DefaultStateDirectory(const std::string& program);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_SERVICE_OPTIONS_H_
