// Servers: two placement processes over one PostgreSQL, which a test can kill, pause and cut off.
//
// Each process reaches the database through its own proxy, so that either can be cut off at a
// chosen moment. Pick, Find and process_count may be called from any thread, the rest from the main
// thread.
#ifndef BERTH_TESTS_HISTORY_SERVERS_H_
#define BERTH_TESTS_HISTORY_SERVERS_H_

#include <grpcpp/channel.h>

#include <array>
#include <memory>
#include <string>

#include "placement/ground/mutex.h"
#include "tests/processes/cutting_proxy.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"

namespace berth::history {

inline constexpr int kServers = 2;

// How clients reach a process.
struct Server {
  int process = 0;  // every start gets the next number, from 0
  std::string address;
};

class Servers {
 public:
  // Starts both over the database at `url`.
  explicit Servers(const std::string& url);

  Server Find(int which) const;

  // Ends a process with SIGKILL and starts it again.
  void Kill(int which);
  // Stops a process with SIGSTOP, and continues it.
  void Pause(int which);
  void GoOn(int which);
  placement::CuttingProxy& proxy(int which) { return *proxies_[which]; }

 private:
  void Start(int which);

  std::array<placement::ScratchDirectory, kServers> directories_;
  std::array<std::unique_ptr<placement::CuttingProxy>, kServers> proxies_;
  std::array<std::unique_ptr<e2e::PlacementServer>, kServers> processes_;
  const std::string url_;
  mutable placement::Mutex mutex_;
  std::array<Server, kServers> servers_ ABSL_GUARDED_BY(mutex_);
  int starts_ = 0;
};

// The channels of one thread to both processes; a restarted process gets a new channel.
class Channels {
 public:
  explicit Channels(const Servers* servers) : servers_(servers) {}
  struct Open {
    int process = 0;
    grpc::Channel* channel = nullptr;
  };
  Open To(int which);

 private:
  const Servers* const servers_;
  std::array<Server, kServers> known_;
  std::array<std::shared_ptr<grpc::Channel>, kServers> channels_;
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_SERVERS_H_
