// Server: the gRPC server of a process, with its listeners, the gate before all calls, AccessService,
// health, reflection, channelz, limits and graceful stop.
//
// Owns the server and the health service. The caller owns the services that it passes, and they
// must outlive the Server. One thread calls Start and Drain; health() is thread-safe.
#ifndef BERTH_SERVICES_PROCESS_SERVER_H_
#define BERTH_SERVICES_PROCESS_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/access/policy.h"
#include "services/process/health.h"
#include "services/tls/tls.h"

namespace berth::services {

class OpenConnections;

struct ServerOptions {
  std::vector<std::string> listen;  // HOST:PORT (port 0: a free port), [IPV6]:PORT or unix:PATH
  bool insecure_listen = false;     // without TLS: allow addresses that other machines can reach
  client::TlsSettings tls;          // if given, every listener demands client certificates
  std::string address_file;         // file for the addresses, one a line; empty: no file
  int message_mib_max = 4;
  int streams_max = 1024;  // open calls of one connection
  // Connections over TCP that may be open. 0: as many as the limit of open files allows, at most
  // 20,000.
  int connections_max = 0;
  // How long a new connection may send nothing, and how long its handshakes may then take: that of
  // TLS, and the first settings of HTTP/2.
  absl::Duration handshake_max = absl::Seconds(10);
  // With TLS: a connection that is older gets no new calls, so that clients open another one, with
  // their present certificate. Calls that are open on it go on without a limit.
  absl::Duration connection_age_max = absl::Minutes(30);
  absl::Duration drain_delay = absl::ZeroDuration();  // time to accept calls after NOT_SERVING
  absl::Duration drain_max = absl::Seconds(25);       // how long running calls may go on
};

// Whether only this machine can reach `address`.
bool IsLoopback(const std::string& address);

// Why nobody can listen on `address` at this moment, and what to do, as the end of a sentence. Tries
// it for HOST:PORT and [IPV6]:PORT, and gives the possible reasons for other addresses.
std::string WhyNotListen(const std::string& address);

// Checks `options.listen` without listening. Fails with kInvalidArgument or kFailedPrecondition if
// Start would.
absl::Status CheckListeners(const ServerOptions& options);

class Server {
 public:
  // Listens and answers. `tls` is null exactly if options.tls is not given. `policy` says what single
  // identities may do; null: nothing is limited. Both must outlive the server. With TLS the server
  // ends the calls of callers who may not be here any more, within a second after Admission says so.
  // Raises the limit of open files of this process to what the connections need. Fails with
  //   kInvalidArgument     an option is out of bounds (CheckListeners)
  //   kFailedPrecondition  an address can be reached by other machines, without TLS and without
  //                        `insecure_listen`; or there are too few files for `connections_max`
  //   kUnavailable         an address cannot be used; the text is that of WhyNotListen
  //   kPermissionDenied    the address file cannot be written
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       const std::vector<grpc::Service*>& services,
                                                       Tls* tls = nullptr,
                                                       AccessPolicy* policy = nullptr);
  ~Server();

  // The connections over TCP. They may outlive the server.
  const std::shared_ptr<OpenConnections>& connections() const;
  // The addresses for clients, with the ports that are used.
  const std::vector<std::string>& addresses() const;
  Health& health();

  // Stops gracefully: sets NOT_SERVING, waits for `drain_delay`, calls `end_streams`, accepts no
  // new calls, waits at most `drain_max` for running calls, and cancels the rest. Returns whether
  // all calls ended by themselves.
  bool Drain(const std::function<void()>& end_streams);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_SERVER_H_
