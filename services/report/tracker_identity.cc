#include "services/report/tracker_identity.h"

#include "placement/values/refusal.h"
#include "services/report/messages.h"

namespace berth::services {

absl::Status TrackerIdentity::CheckCertificate(absl::Time now) const {
  if (now < certificate_.not_after) return absl::OkStatus();
  return placement::Refuse(absl::StatusCode::kUnauthenticated, "UNAUTHENTICATED",
                           "the certificate with which the connection was opened has expired");
}

absl::Status TrackerIdentity::Hear(const placement::RegisterService& service) {
  if (identified() && service.host != certificate_.host) {
    return placement::Refuse(absl::StatusCode::kPermissionDenied, "POLICY_DENIED",
                             "the hello names another host than the tracker's certificate",
                             {{{"field", "hello.host"}, {"host", certificate_.host}}});
  }
  const Liveness::Key key = {service.host, service.binary};
  if (host().empty()) {
    key_ = key;
    incarnation_ = service.incarnation;
  }
  if (key == key_ && service.incarnation == incarnation_) return absl::OkStatus();
  return InvalidField("hello", "names another process than the first hello of this session");
}

std::string TrackerIdentity::Actor() const {
  const std::string actor = "tracker/" + host();
  return identified() ? actor : actor + " (unverified)";
}

std::string TrackerIdentity::Owner() const { return identified() ? Actor() : "anonymous"; }

placement::TrackerLimitsPtr TrackerIdentity::LimitsBy(const AccessPolicy* policy) const {
  return policy != nullptr && identified() ? policy->LimitsOf(Actor()) : nullptr;
}

absl::Status TrackerIdentity::EndingOf(const placement::State& state,
                                       const absl::Status& status) const {
  // After a Reject the tracker uses the number of the report again. That would be wrong if the
  // outcome is unknown. So the stream ends, and the Welcome of the next stream tells the tracker
  // which number is free.
  if (absl::IsDeadlineExceeded(status) && !placement::RefusalOf(status)) {
    return placement::Refuse(absl::StatusCode::kDeadlineExceeded, "OUTCOME_UNKNOWN",
                             "it is not known whether the report was applied: send hello again");
  }
  // Another process of the host said hello to another placement process, which wrote it.
  if (HasReason(status, "TRACKER_FENCED")) return status;
  if (!HasReason(status, "SERVICE_NOT_REGISTERED")) return absl::OkStatus();
  if (state.services().Find(key_) == nullptr) return status;
  return placement::Refuse(absl::StatusCode::kAborted, "TRACKER_FENCED",
                           "a newer tracker process of this host has taken over",
                           {{{"host", host()}, {"incarnation", incarnation_.ToString()}}});
}

}  // namespace berth::services
