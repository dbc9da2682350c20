// MadeUpFleet: many hosts in one process, each with the product's own node, account and uplink, over
// libvirt's test driver. With certificates (tests/processes/identity.h) each host calls as
// tracker/HOST.
//
// Owns the hosts, the channels and the threads that libvirt needs, but no thread per host. For one
// thread.
#ifndef BERTH_TESTS_FLEET_MADE_UP_FLEET_H_
#define BERTH_TESTS_FLEET_MADE_UP_FLEET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tracker/hypervisor/deadline_pool.h"
#include "tracker/hypervisor/events.h"
#include "tracker/node/node.h"
#include "tracker/uplink/uplink.h"

namespace berth::fleet {

class MadeUpFleet {
 public:
  struct Options {
    int hosts = 200;
    int connections = 200;  // the uplinks share them; with certificates one for each host
    std::string target;     // placement's address
    std::string directory;  // for the state of the hosts
  };

  // Makes the hosts with their certificates, and runs a pass over each. Ends the program if a pass
  // fails.
  explicit MadeUpFleet(const Options& options);
  // Ends the sessions.
  ~MadeUpFleet();
  MadeUpFleet(const MadeUpFleet&) = delete;
  MadeUpFleet& operator=(const MadeUpFleet&) = delete;

  // Starts the uplinks. Does not wait for placement.
  void Connect();

  // How many hosts have a report that placement has acknowledged.
  int64_t registered();
  // How many hosts have a session now, and had more than `sessions` sessions so far.
  int64_t connected(int64_t sessions) const;
  // How many instances the hosts know of, from placement's records.
  int64_t instances() const;
  // The heartbeats of all hosts so far.
  int64_t heartbeats() const;
  // The uuid of the host's node, which is also that of its root provider.
  std::string uuid(int host) const { return hosts_[host]->node->identity()->uuid.ToString(); }
  // The name of the host, and of its node.
  std::string name(int host) const { return hosts_[host]->configuration.name; }
  // Makes the host reserve more memory than ever before, and runs the pass that finds this out.
  void Change(int host);

 private:
  struct Host {
    std::unique_ptr<tracker::Node> node;
    std::unique_ptr<tracker::Uplink> uplink;  // goes before the node
    tracker::NodeConfiguration configuration;
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    bool registered = false;
  };

  std::unique_ptr<Host> MakeHost(int number, const std::string& uri);

  const Options options_;
  tracker::HypervisorEventLoop events_;
  tracker::DeadlinePool libvirt_calls_{tracker::DeadlinePool::Options()};
  std::vector<std::unique_ptr<Host>> hosts_;
};

}  // namespace berth::fleet

#endif  // BERTH_TESTS_FLEET_MADE_UP_FLEET_H_
