// Caller: who makes a call, according to the certificate with which the connection was opened.
// TimeLeft, Within: for how long a caller waits, by the clock by which gRPC measures it, which nobody
// sets. As times of the wall clock deadlines would be wrong by an hour for the seconds after somebody
// sets that clock by an hour: Abseil looks at it now and then.
//
// A plain value, and functions that read a call. Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_CALLER_H_
#define BERTH_SERVICES_PROCESS_CALLER_H_

#include <grpc/support/time.h>

#include <string>

#include "absl/time/time.h"

namespace grpc {
class AuthContext;
class ServerContextBase;
}  // namespace grpc

namespace berth::services {

struct Caller {
  // The parts of spiffe://DOMAIN/ROLE/NAME. All are empty if the connection has no TLS. The server
  // has checked the domain and the chain of the certificate during the handshake.
  std::string domain;
  std::string role;
  std::string name;
  // When the certificate ends. A connection may live longer than the certificate with which it was
  // opened. InfiniteFuture without TLS; InfinitePast if the certificate cannot be read.
  absl::Time not_after = absl::InfiniteFuture();

  bool identified() const { return !role.empty(); }
};

// ROLE/NAME. REQUIRES: the caller is identified.
std::string IdentityOf(const Caller& caller);

// Returns the caller of a call. The only source is the URI in the certificate: neither its common
// name nor its DNS names count. Not identified: the listener has no TLS.
Caller CallerOf(const grpc::ServerContextBase& context);
// Returns the caller on a connection.
Caller CallerOn(const grpc::AuthContext& connection);

// The time from now to the deadline of the call, at most `longest`. To be called once, when the
// call arrives: the handler adds the result to the boot clock.
absl::Duration TimeLeft(const grpc::ServerContextBase& context, absl::Duration longest);

// For what takes a deadline: `length` from the moment at which gRPC takes it.
inline gpr_timespec Within(absl::Duration length) {
  return gpr_time_from_nanos(absl::ToInt64Nanoseconds(length), GPR_TIMESPAN);
}

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_CALLER_H_
