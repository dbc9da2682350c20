// Acceptor: listens, accepts connections over TCP, and gives them to gRPC, within bounds.
//
// A connection stays here until it has sent something, so that silent ones cost a descriptor and
// little else. Then it waits for its turn to begin: addresses take turns. If there are too many
//   - silent connections: the address that has used up its share loses its oldest one, else the
//     oldest of all is closed,
//   - connections that wait, or connections that gRPC has (OpenConnections): the new one is closed.
// The peer sees an end of the connection in each case.
//
// gRPC's own listeners accept without bounds, and stop listening for good when the process has no
// descriptor left for a connection. This one waits until there is one.
#ifndef BERTH_SERVICES_PROCESS_ACCEPTOR_H_
#define BERTH_SERVICES_PROCESS_ACCEPTOR_H_

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "services/log/log.h"
#include "services/process/open_connections.h"

struct addrinfo;

namespace grpc::experimental {
class ExternalConnectionAcceptor;
}  // namespace grpc::experimental

namespace berth::services {

// One thread calls Listen, Start and Stop, in this order.
class Acceptor {
 public:
  // `unacknowledged_max`: for how long what was sent to a peer may stay unacknowledged.
  Acceptor(std::shared_ptr<OpenConnections> connections, absl::Duration unacknowledged_max);
  ~Acceptor();  // stops
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Listens on `address`, which is HOST:PORT or [IPV6]:PORT, and returns the port. Peers that connect
  // wait until Start. The addresses 0.0.0.0 and [::] mean all addresses, of IPv4 and of IPv6. A name
  // of several addresses is good if one of them is. Fails with kUnavailable.
  absl::StatusOr<int> Listen(const std::string& address);

  // Accepts connections for `server` on a thread of its own. REQUIRES: the server has started.
  void Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server);
  // Stops listening, and closes the connections that gRPC does not have yet. Further calls change
  // nothing. To be called before the server is shut down.
  void Stop();

 private:
  // A connection that gRPC does not have yet.
  struct Newcomer {
    int descriptor;
    Peer peer;
    placement::BootTime since;
    uint64_t id;  // of its events
  };
  using Silent = std::list<Newcomer>;
  using Waiting = std::map<Origin, std::deque<Newcomer>>;

  // Listens on one address. Returns the port; 0 if that fails.
  int ListenOn(const addrinfo& address);
  // Whether events of `descriptor` will come, with this `id`.
  bool Watch(int descriptor, uint64_t id) const;
  void Run();
  int WaitMilliseconds(placement::BootTime now) const;
  void Accept(int listener);
  void Receive(const Newcomer& newcomer);
  // A silent connection has sent something, or has ended.
  void Heard(uint64_t id);
  // Takes a connection out of the silent ones.
  Newcomer Take(Silent::iterator at);
  void Look(placement::BootTime now);
  // Gives gRPC those that wait and may begin.
  void LetBegin();
  Waiting::iterator NextTurn();
  void GiveToServer(const Newcomer& newcomer);
  void Refuse(const Newcomer& newcomer, ConnectionRefusal why);
  // Counts a connection of `peer` that is closed, and writes it into the log.
  void Tell(ConnectionRefusal why, const std::string& peer);
  // Waits a moment because of a `lack`, so that the thread does not ask the kernel without a pause.
  void RestWithout(const char* lack);

  const std::shared_ptr<OpenConnections> connections_;
  const absl::Duration unacknowledged_max_;
  std::vector<int> listeners_;
  int epoll_ = -1;
  int stop_ = -1;  // readable: the thread has to end
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  LinePace pace_{absl::Seconds(1)};  // by what happened

  // Of the thread, while it runs.
  Silent silent_;  // oldest first
  absl::flat_hash_map<uint64_t, Silent::iterator> silent_by_id_;
  Places silent_places_;
  Waiting waiting_;  // those that have sent something; no deque is empty
  Places waiting_places_;
  Origin served_ = 0;  // the origin that had the last turn
  uint64_t next_id_ = 0;
  placement::BootTime next_look_;

  std::thread thread_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_ACCEPTOR_H_
