// What gRPC logs of this process, passed on to whoever is told.
//
// It is for programs alone: a library in somebody else's program leaves that program's log alone.
#ifndef BERTH_SERVICES_TLS_GRPC_LOG_H_
#define BERTH_SERVICES_TLS_GRPC_LOG_H_

#include "services/client/cpp/own_certificate.h"

namespace berth::services {

// What PassOnGrpcLog puts before a line of gRPC that is not about a handshake.
inline constexpr char kGrpcWords[] = "gRPC: ";

// Passes on what gRPC logs, instead of letting gRPC write it to stderr, and why OpenSSL refuses the
// certificates of peers. A peer decides how often. To be called before the first handshake.
void PassOnGrpcLog(client::OwnCertificate::Tell tell);

}  // namespace berth::services

#endif  // BERTH_SERVICES_TLS_GRPC_LOG_H_
