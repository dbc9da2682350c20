// Acceptor: listens, accepts connections over TCP, and gives them to gRPC, within bounds.
//
// A connection stays here until it has sent something, so that silent ones cost a descriptor and
// little else. Then it waits for its turn to begin: addresses take turns. If there are too many
// connections (OpenConnections), the oldest silent one is closed for a new one: if the address has
// used up its share, its own oldest one, else the oldest of all. If none has been silent for a
// moment, the new one is closed. The peer sees an end of the connection.
//
// gRPC's own listeners accept without bounds, and stop listening for good when the process has no
// descriptor left for a connection. This one waits until there is one.
#ifndef BERTH_SERVICES_PROCESS_ACCEPTOR_H_
#define BERTH_SERVICES_PROCESS_ACCEPTOR_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
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
    uint64_t id;         // of its events
    bool waits = false;  // it has sent something
  };
  using Line = std::list<Newcomer>;
  using Waiting = std::map<Origin, Line>;

  // Listens on one address. Returns the port; 0 if that fails.
  int ListenOn(const addrinfo& address);
  // Whether `events` of `descriptor` will come, with this `id`. `operation`: of epoll_ctl.
  bool Watch(int operation, int descriptor, uint32_t events, uint64_t id) const;
  void Run();
  int WaitMilliseconds(placement::BootTime now) const;
  void Accept(int listener);
  void Receive(Newcomer newcomer);
  // Makes room for a connection of `origin`, which may not come because of `why`: closes the oldest
  // silent one of the origin or, for kFull, of all. Returns whether there was one.
  bool CloseOldestSilent(Origin origin, ConnectionRefusal why);
  // A connection has sent something, or has ended.
  void Heard(uint64_t id, uint32_t events);
  // A silent connection has sent something.
  void LetWait(Line::iterator at);
  // Takes a connection out of its line.
  Newcomer Take(Line::iterator at);
  void Close(Line::iterator at);
  void Look(placement::BootTime now);
  // Gives gRPC those that wait and may begin.
  void LetBegin();
  Waiting::iterator NextTurn();
  void GiveToServer(const Newcomer& newcomer);
  // Closes a connection, counts it, and writes it into the log.
  void Refuse(Line::iterator at, ConnectionRefusal why);
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
  Line silent_;                                                                    // oldest first
  absl::btree_map<std::pair<Origin, uint64_t>, Line::iterator> silent_by_origin_;  // and id
  Waiting waiting_;  // those that have sent something, oldest first; no line is empty
  absl::flat_hash_map<uint64_t, Line::iterator> by_id_;
  Origin served_ = 0;  // the origin that had the last turn
  uint64_t next_id_ = 0;
  placement::BootTime next_look_;

  std::thread thread_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_ACCEPTOR_H_
