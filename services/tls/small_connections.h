// KeepConnectionsSmall: what OpenSSL keeps in memory for each connection of this process.
#ifndef BERTH_SERVICES_TLS_SMALL_CONNECTIONS_H_
#define BERTH_SERVICES_TLS_SMALL_CONNECTIONS_H_

namespace berth::services {

// Of each connection with TLS that this process makes or takes from now on, OpenSSL gives the two
// buffers of records back while they are empty, which saves 10 KiB and more for a tracker that says
// little. A server offers no session to be resumed: gRPC does not tell the whole chain of a client
// that resumes, so the client could not be judged anew when the CAs change. May be called again.
// Thread-safe.
void KeepConnectionsSmall();

}  // namespace berth::services

#endif  // BERTH_SERVICES_TLS_SMALL_CONNECTIONS_H_
