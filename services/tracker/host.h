// TrackerHost: the nodes of this host with their loops, and the stream to placement.
//
// Owns them all, and the libvirt event loop. Made, started and stopped by one thread; everything else is
// thread-safe.
#ifndef BERTH_SERVICES_TRACKER_HOST_H_
#define BERTH_SERVICES_TRACKER_HOST_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/process/metrics.h"
#include "services/tracker/runner.h"
#include "tracker/hypervisor/deadline_pool.h"
#include "tracker/hypervisor/events.h"
#include "tracker/node/node.h"
#include "tracker/settings/configuration.h"
#include "tracker/uplink/uplink.h"

namespace berth::services {

class TrackerHost {
 public:
  // REQUIRES: `configuration` is valid and complete: host and address are filled in.
  explicit TrackerHost(tracker::Configuration configuration);
  ~TrackerHost();

  // Runs a first pass over every node. Waits for hypervisors that do not answer, until `stop` says true
  // or the startup timeout is over.
  //
  //   kFailedPrecondition, kInvalidArgument  a node's identity, versions or CPU sets are refused
  //   kUnavailable                           no hypervisor answered in time, or `stop` said so
  absl::Status Start(const std::function<bool()>& stop);
  // Opens the stream. `refused` is called when placement's records contradict a node's identity before a
  // first session has begun well: the process has to end.
  void Connect(tracker::Uplink::Options options, std::function<void(absl::Status)> refused);
  // No new passes; waits for those that run; ends the stream.
  void Stop();

  // Takes from `read` what may change while the nodes run; their next passes go by it. Returns the names
  // of settings that wait for a restart, `hypervisor` where the nodes are others. kInvalidArgument,
  // and nothing is changed, where what would result contradicts itself.
  absl::StatusOr<std::vector<std::string>> Reconfigure(const tracker::Configuration& read);
  // Has placement tell all that it holds of the nodes again (T-63).
  void RequestRecords();
  // Asks every node for a pass.
  void RequestAll(tracker::PassCause cause);
  const std::vector<std::unique_ptr<NodeRunner>>& runners() const { return runners_; }
  const tracker::Configuration& configuration() const { return configuration_; }
  tracker::Uplink::Status uplink_status() const;
  void AddMetrics(Metrics* metrics);

 private:
  // Lets events through as long as the host lives: they come on a thread that outlives it.
  struct Gate {
    tracker::Mutex mutex;
    bool open ABSL_GUARDED_BY(mutex) = true;
  };

  void Passed(tracker::Node* node, const tracker::PassOutcome& outcome);
  void AuditOrdered(const std::string& order_id, const std::string& node_uuid);
  void Sample(Samples* samples) const;
  void SampleNode(const NodeRunner& runner, Samples* samples) const;

  const tracker::Configuration configuration_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  tracker::HypervisorEventLoop events_;
  tracker::DeadlinePool libvirt_calls_{tracker::DeadlinePool::Options()};
  std::vector<std::unique_ptr<tracker::Node>> nodes_;
  mutable tracker::Mutex mutex_;
  std::vector<tracker::NodeConfiguration> running_ ABSL_GUARDED_BY(mutex_);  // of each node
  std::unique_ptr<tracker::Uplink> uplink_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<NodeRunner>> runners_;  // constant after construction
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_HOST_H_
