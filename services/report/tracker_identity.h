// TrackerIdentity: who the tracker of a stream is, by the connection's certificate and by the
// tracker's Hellos.
//
// Invariants:
//   1. The first Hello that Hear accepts sets the key and the incarnation, which never change
//      afterwards. A Hello of another process is refused.
//   2. If the certificate has a host, and a Hello was accepted, the key has the same host.
// Not thread-safe until Hear has accepted the first Hello; constant and thread-safe afterwards.
#ifndef BERTH_SERVICES_REPORT_TRACKER_IDENTITY_H_
#define BERTH_SERVICES_REPORT_TRACKER_IDENTITY_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "placement/commands/command.h"
#include "placement/state/state.h"
#include "services/access/policy.h"
#include "services/report/liveness.h"

namespace berth::services {

// What the certificate of the tracker's connection says.
struct TrackerCertificate {
  std::string host;  // empty: the connection has no TLS, so nobody has checked the tracker's host
  absl::Time not_after = absl::InfiniteFuture();  // the certificate has expired from then on
};

class TrackerIdentity {
 public:
  explicit TrackerIdentity(TrackerCertificate certificate) : certificate_(std::move(certificate)) {}

  // UNAUTHENTICATED if the certificate has expired at `now`.
  absl::Status CheckCertificate(absl::Time now) const;
  // To be called for each Hello, with what it says of the service. POLICY_DENIED if the certificate
  // has another host; INVALID_FIELD if the first accepted Hello named another process. REQUIRES:
  // the service has a host.
  absl::Status Hear(const placement::RegisterService& service);

  // The service and the process that the first accepted Hello named.
  const Liveness::Key& key() const { return key_; }
  const std::string& host() const { return key_.first; }
  placement::Uuid incarnation() const { return incarnation_; }
  // Whether the certificate names a host. Then a Hello of another host is refused.
  bool identified() const { return !certificate_.host.empty(); }
  // Who the tracker is by its certificate: "tracker/HOST", or "anonymous" if that has no host.
  std::string Caller() const { return identified() ? "tracker/" + certificate_.host : "anonymous"; }
  // The process for the tracker's commands. REQUIRES: a Hello was accepted.
  placement::TrackerProcess process() const { return {host(), incarnation_, identified()}; }
  // The actor (Command::actor) of the tracker's commands. REQUIRES: a Hello was accepted.
  std::string Actor() const;
  // The owner of what the session queues (FairQueue): the actor if the tracker is identified, else
  // "anonymous". For a host that nobody has checked can be invented, so it gets no turn of its own.
  // REQUIRES: a Hello was accepted.
  std::string Owner() const;
  // The limits of the tracker's commands; null without a policy, and for a host that nobody has
  // checked. REQUIRES: a Hello was accepted.
  placement::TrackerLimitsPtr LimitsBy(const AccessPolicy* policy) const;

  // Returns the status with which the stream must end after a report or a write of records that
  // ended with `status`: OUTCOME_UNKNOWN; TRACKER_FENCED; or SERVICE_NOT_REGISTERED, if the service
  // has no record in `state`. Returns OK after any other outcome. `state`: not older than the state
  // on which the command was decided.
  absl::Status EndingOf(const placement::State& state, const absl::Status& status) const;

 private:
  const TrackerCertificate certificate_;
  Liveness::Key key_;  // the host is empty until a Hello was accepted
  placement::Uuid incarnation_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_TRACKER_IDENTITY_H_
