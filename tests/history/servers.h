// Servers: two placement processes over one PostgreSQL, and what can be done to them.
//
// Each process reaches the database through a proxy of its own, so that either can be cut off from it
// at a chosen moment. Acts are for the main thread; Pick, Find and process_count are for any.
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

// A process as its clients know it.
struct Server {
  int process = 0;  // each start has a number of its own, from 0
  std::string address;
};

class Servers {
 public:
  // Starts both over the database at `url`.
  explicit Servers(const std::string& url);

  Server Find(int which) const;

  // Ends one with SIGKILL and starts it again.
  void Kill(int which);
  // Stops one in its tracks, and lets it go on.
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

// Channels of one thread to both: made anew when a process was started again.
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
