// Gate: lets a call through to its handler only if the caller's role may make it.
//
// Every method of a guarded service, unary or stream, passes the gate before its request is read.
// The services that gRPC itself adds to a server, reflection and channelz, cannot be guarded. For
// these there is a processor, which the server gives to its credentials: gRPC asks it about every
// call of a connection with TLS.
//
// Thread-safe. A Gate must outlive the server.
#ifndef BERTH_SERVICES_PROCESS_GATE_H_
#define BERTH_SERVICES_PROCESS_GATE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "services/access/policy.h"
#include "services/access/table.h"
#include "services/log/refusal_log.h"
#include "services/process/admission.h"
#include "services/process/caller.h"
#include "services/process/open_calls.h"

namespace grpc {
class AuthContext;
class AuthMetadataProcessor;
class ServerContextBase;
class Service;
namespace experimental {
class ServerInterceptorFactoryInterface;
}  // namespace experimental
}  // namespace grpc

namespace berth::services {

class OpenConnections;

// The actor that is recorded for a caller: "scheduler/NAME", or "anonymous" if the connection has no
// certificate.
std::string ActorOf(const Caller& caller);
std::string ActorOf(const grpc::ServerContextBase& context);

class Gate {
 public:
  // Enters the calls of connections with TLS into `calls`. `policy` limits how often identities may
  // call; null: nothing does. Tells `connections` of each call of a guarded service, if it is not
  // null. All must outlive the Gate.
  Gate(const Admission* admission, OpenCalls* calls, AccessPolicy* policy = nullptr,
       OpenConnections* connections = nullptr)
      : admission_(admission), calls_(calls), policy_(policy), connections_(connections) {}

  // Puts the gate before every method of `service`.
  // REQUIRES: the service has only callback methods, all of them are in AccessTable, and no server
  // has the service yet.
  void Guard(grpc::Service* service);

  // Denies calls of reflection, channelz and health to callers whose roles do not allow them, and
  // all calls to callers whose certificate names no identity. Calls of guarded services pass.
  std::shared_ptr<grpc::AuthMetadataProcessor> Processor();
  // Enters the calls of reflection and channelz, which Guard does not see. To be given to the server
  // with the Processor.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Interceptors();

  // OK if the caller may call `method` now. A caller without TLS may call everything. A stream counts
  // as one call, when it opens; calls for health do not count. The log has the refusals (RefusalLog).
  // Fails, in this order, with
  //   UNAUTHENTICATED / UNAUTHENTICATED         the certificate names no identity
  //   the failures of Admission::Check
  //   PERMISSION_DENIED / ROLE_NOT_PERMITTED    the role may not call the method
  //   UNAVAILABLE / RATE_LIMITED                the identity calls more often than it may
  absl::Status Check(const grpc::AuthContext* connection, const Caller& caller,
                     const MethodAccess& method);

 private:
  class Handler;
  class AllCalls;
  class ForeignCall;
  class ForeignCalls;

  absl::Status Refused(const Caller& caller, const MethodAccess& method, absl::Status why);

  const Admission* const admission_;
  OpenCalls* const calls_;
  AccessPolicy* const policy_;
  OpenConnections* const connections_;
  const AccessTable& table_ = AccessTable::Get();
  RefusalLog refusals_{"a call was refused"};
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_GATE_H_
