// TrackerHost: all nodes of this host, the loops that run their passes, and the stream to
// placement.
//
// Owns the nodes, the loops, the stream and the libvirt event loop. One thread constructs, starts,
// connects and stops a TrackerHost. All other methods are thread-safe.
#ifndef BERTH_SERVICES_TRACKER_HOST_H_
#define BERTH_SERVICES_TRACKER_HOST_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/process/metrics.h"
#include "services/tracker/absent_providers.h"
#include "services/tracker/runner.h"
#include "tracker/ground/uuid.h"
#include "tracker/hypervisor/deadline_pool.h"
#include "tracker/hypervisor/events.h"
#include "tracker/node/node.h"
#include "tracker/settings/configuration.h"
#include "tracker/uplink/uplink.h"

namespace berth::services {

class TrackerHost {
 public:
  // REQUIRES: `configuration` is valid, and its host and my_address are not empty.
  explicit TrackerHost(tracker::Configuration configuration);
  ~TrackerHost();

  // Runs a first pass over every node. Returns OK as soon as every node has had a pass and at least
  // one pass was good; the loops go on trying the other nodes. If no pass is good, waits until one
  // is, until `stop` returns true, or until the startup timeout has passed.
  //
  //   kFailedPrecondition, kInvalidArgument, kAlreadyExists
  //                 a node's identity, versions or CPU sets are wrong
  //   kUnavailable  no pass was good in time, or `stop` returned true
  absl::Status Start(const std::function<bool()>& stop);
  // Opens the stream to placement. If placement's records contradict a node's identity in the first
  // session, calls `refused`, and the process must end. A contradiction in a later session is only
  // logged.
  void Connect(tracker::Uplink::Options options, std::function<void(absl::Status)> refused);
  // Begins no further passes, and ends the stream. Does not wait for passes that run.
  void Stop();

  // Applies those settings of `read` that may change while the nodes run (see TakeReloadable). The
  // next passes use these settings. Returns the names of the changed settings that need a restart;
  // `hypervisor` is one of them if nodes were added or removed. kInvalidArgument if the resulting
  // settings contradict each other; then nothing is changed.
  absl::StatusOr<std::vector<std::string>> Reconfigure(const tracker::Configuration& read);
  // Makes placement send all records of the nodes again (T-63).
  void RequestRecords();
  // Lets the uplink send what nodes have for placement.
  void NotifyUplink();
  // Lets the uplink do what is late. To be called every second (see Uplink::Tick).
  void TickUplink();
  // As Uplink::Renew. Does nothing before Connect().
  void RenewUplink(std::shared_ptr<grpc::ChannelCredentials> credentials, absl::Duration within);
  // Makes placement disable the service, or takes that back. Lasts until the process ends. False if
  // Connect() has not been called yet; then nothing was done.
  bool SetDisabled(bool disabled);
  // Asks for a pass of every node.
  void RequestAll(tracker::PassCause cause);
  const std::vector<std::unique_ptr<NodeRunner>>& runners() const { return runners_; }
  const tracker::Configuration& configuration() const { return configuration_; }
  tracker::Uplink::Status uplink_status() const;
  void AddMetrics(Metrics* metrics);

 private:
  // Passes events on to the runners while the TrackerHost exists. The thread of the events ends
  // later than the TrackerHost, so some events may come too late.
  struct Gate {
    tracker::Mutex mutex;
    bool open ABSL_GUARDED_BY(mutex) = true;
  };

  void Passed(tracker::Node* node, const tracker::PassOutcome& outcome);
  void AuditOrdered(const std::string& order_id, const tracker::Uuid& node_uuid);
  void Sample(Samples* samples) const;
  void SampleNode(const NodeRunner& runner, Samples* samples) const;
  static void SampleAudit(const tracker::Audit& audit, const Samples::Labels& node,
                          Samples* samples);

  const tracker::Configuration configuration_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  tracker::HypervisorEventLoop events_;
  // One for each node, so that a hypervisor that hangs takes no threads from the others.
  std::deque<tracker::DeadlinePool> libvirt_calls_;
  std::vector<std::unique_ptr<tracker::Node>> nodes_;
  mutable tracker::Mutex mutex_;
  std::vector<tracker::NodeConfiguration> running_ ABSL_GUARDED_BY(mutex_);  // of all nodes
  AbsentProviders absent_providers_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<tracker::Uplink> uplink_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<NodeRunner>> runners_;  // constant after construction
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_HOST_H_
