// Caller: who makes a call, according to the certificate with which the connection was opened.
//
// A plain value, and a function that reads it. Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_CALLER_H_
#define BERTH_SERVICES_PROCESS_CALLER_H_

#include <string>

#include "absl/time/time.h"

namespace grpc {
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

// Returns the caller of a call. The only source is the URI in the certificate: neither its common
// name nor its DNS names count. Not identified: the listener has no TLS.
Caller CallerOf(const grpc::ServerContextBase& context);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_CALLER_H_
