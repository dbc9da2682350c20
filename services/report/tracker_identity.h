// TrackerIdentity: who the tracker of a stream is, by its certificate and by its Hellos.
//
// Invariants:
//   1. The first Hello that Hear accepts sets the key and the incarnation, which never change
//      afterwards. A Hello of another process is refused.
//   2. If the stream has a certificate, the key has the host of the certificate.
// Not thread-safe until Hear has accepted the first Hello; constant afterwards.
#ifndef BERTH_SERVICES_REPORT_TRACKER_IDENTITY_H_
#define BERTH_SERVICES_REPORT_TRACKER_IDENTITY_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "placement/commands/command.h"
#include "placement/state/state.h"
#include "services/report/liveness.h"

namespace berth::services {

// What the certificate says with which the tracker's connection was opened.
struct TrackerCertificate {
  std::string host;  // empty: the connection has no TLS, so nobody has checked the tracker's host
  absl::Time not_after = absl::InfiniteFuture();
};

class TrackerIdentity {
 public:
  explicit TrackerIdentity(TrackerCertificate certificate) : certificate_(std::move(certificate)) {}

  // UNAUTHENTICATED if the certificate has expired at `now`.
  absl::Status CheckCertificate(absl::Time now) const;
  // Takes in what a Hello says of the service. POLICY_DENIED if the certificate names another host;
  // INVALID_FIELD if an earlier Hello named another process.
  absl::Status Hear(const placement::RegisterService& service);

  // The service and the process that the first Hello named.
  const Liveness::Key& key() const { return key_; }
  const std::string& host() const { return key_.first; }
  placement::Uuid incarnation() const { return incarnation_; }
  // The actor of the tracker's commands.
  std::string Actor() const;

  // Returns the status with which the stream must end after a command of the tracker has ended with
  // `status`, at `state` or before. OK: the stream does not end, and a message answers the command.
  absl::Status EndingOf(const placement::State& state, const absl::Status& status) const;

 private:
  const TrackerCertificate certificate_;
  Liveness::Key key_;  // the host is empty until a Hello was accepted
  placement::Uuid incarnation_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_TRACKER_IDENTITY_H_
