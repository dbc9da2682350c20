// Admission: whether a caller may be here at all, whatever it asks for. What the caller may call is
// in AccessTable.
//
// A connection may live longer than the right with which it was opened. So this is asked for each
// new call, and again and again for calls that are open. Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_ADMISSION_H_
#define BERTH_SERVICES_PROCESS_ADMISSION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/access/policy.h"
#include "services/process/caller.h"
#include "services/tls/tls.h"

namespace grpc {
class AuthContext;
}  // namespace grpc

namespace berth::services {

class Admission {
 public:
  // `tls` and `policy`, which may be null, must outlive the Admission. Without `tls` callers have no
  // certificates, and all of them are admitted. Without `policy` no identity is denied.
  explicit Admission(const Tls* tls, const AccessPolicy* policy = nullptr)
      : tls_(tls), policy_(policy) {}

  // OK if `caller`, on `connection`, may be here at `now`. Fails, in this order, with
  //   UNAUTHENTICATED / UNAUTHENTICATED   the certificate of the connection has expired, or no CA
  //                                       that is trusted at present has issued it
  //   PERMISSION_DENIED / IDENTITY_DENIED the operator has denied the identity
  absl::Status Check(const Caller& caller, const grpc::AuthContext* connection,
                     absl::Time now) const;

  // A number that changes when callers who were admitted may not be any more, for another reason
  // than that their certificate has expired.
  int64_t version() const {
    return (tls_ == nullptr ? 0 : tls_->ca_changes()) +
           (policy_ == nullptr ? 0 : policy_->version());
  }

 private:
  absl::Status CheckTrust(const grpc::AuthContext* connection) const;

  const Tls* const tls_;
  const AccessPolicy* const policy_;
};

// UNAUTHENTICATED if the certificate of `caller` has expired at `now`.
absl::Status CheckExpiry(const Caller& caller, absl::Time now);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_ADMISSION_H_
