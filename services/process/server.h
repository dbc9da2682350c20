// Server: the gRPC server of a process: listeners, health, reflection, channelz, limits and the
// graceful stop.
//
// Owns the server and the health service; the services that it is given are the caller's and must
// outlive it. Start and Drain are called from one thread; Health is thread-safe.
#ifndef BERTH_SERVICES_PROCESS_SERVER_H_
#define BERTH_SERVICES_PROCESS_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/process/health.h"

namespace berth::services {

struct ServerOptions {
  std::vector<std::string> listen;  // HOST:PORT (port 0: a free one), [IPV6]:PORT or unix:PATH
  bool insecure_listen = false;     // allows addresses that other machines reach
  std::string address_file;         // gets the chosen addresses, one a line; empty: none
  int message_bytes_max = 4 << 20;
  int streams_max = 1024;                             // concurrent calls of one connection
  absl::Duration drain_delay = absl::ZeroDuration();  // between NOT_SERVING and the closed door
  absl::Duration drain_max = absl::Seconds(25);       // for calls that are running
};

// Whether only this machine reaches `address`.
bool IsLoopback(const std::string& address);

// What Start would refuse of `listen`, without trying: kInvalidArgument, kFailedPrecondition.
absl::Status CheckListeners(const ServerOptions& options);

class Server {
 public:
  // Starts to listen and answers. kFailedPrecondition for an address that other machines reach
  // without `insecure_listen`, kUnavailable for one that cannot be had, kPermissionDenied when the
  // address file cannot be written.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       const std::vector<grpc::Service*>& services);
  ~Server();

  // As clients dial them, with the ports that were chosen.
  const std::vector<std::string>& addresses() const;
  Health& health();

  // The graceful stop: NOT_SERVING, `end_streams`, no new calls, then waits for those that run,
  // `drain_max` at the most; what is left is cancelled. Returns whether none had to be.
  bool Drain(const std::function<void()>& end_streams);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_SERVER_H_
