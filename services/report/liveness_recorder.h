// LivenessRecorder: records in the ledger which services are up or down, and tells the other
// placement processes which services this process hears.
//
// Owns the Liveness, and this process's row in the table of heartbeats
// (placement/store/heartbeats.h). A separate thread calls Step about once a second, because Step
// waits for the database. RemoveHeartbeat waits for the database, too. The other methods do not,
// and are thread-safe.
#ifndef BERTH_SERVICES_REPORT_LIVENESS_RECORDER_H_
#define BERTH_SERVICES_REPORT_LIVENESS_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/ledger/ledger.h"
#include "placement/store/heartbeats.h"
#include "services/report/liveness.h"

namespace berth::services {

class LivenessRecorder {
 public:
  LivenessRecorder(placement::Ledger* ledger, const std::string& database_url,
                   absl::Duration service_down_time);

  Liveness& liveness() { return liveness_; }
  // The interval at which trackers must send heartbeats: a sixth of the down time, or 10 s if that
  // is less.
  static absl::Duration HeartbeatIntervalFor(absl::Duration service_down_time);
  // The interval at which the trackers of this process must send heartbeats. Step writes the row of
  // this process at the same interval, but at most once per step.
  absl::Duration heartbeat_interval() const { return heartbeat_interval_; }

  // Judges the services (Liveness::Judge) and submits the transitions to the ledger. A service is
  // marked as down only if the rows of the other processes can be read, and by these rows no other
  // process heard the service within the down time. If the row of this process is due, writes it
  // and looks at the other rows (Heartbeats::Look). Returns the time until the next step.
  absl::Duration Step();
  // How many times the steps have judged a service.
  int64_t judged() const { return judged_; }
  // Makes a statement that hangs fail: calls Heartbeats::ShutIfSlow with a limit of 5 s.
  void ShutIfSlow();
  // Tries to remove the row of this process, so that what this process heard no longer counts for
  // other processes. To be called when the process stops, after the last Step.
  void RemoveHeartbeat();

 private:
  // The services of Liveness::All, each with how long before `now` it was last heard.
  std::vector<std::pair<std::string, absl::Duration>> AgesAt(placement::BootTime now) const;
  void Record(placement::MarkService transition);
  void RecordDown(const std::vector<placement::MarkService>& transitions);

  placement::Ledger* const ledger_;
  const absl::Duration heartbeat_interval_;
  placement::Heartbeats heartbeats_;
  Liveness liveness_;
  std::atomic<int64_t> judged_{0};
  // When the row of this process is due. Used only by the thread that calls Step.
  placement::BootTime next_heartbeat_ = -absl::InfiniteDuration();
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_LIVENESS_RECORDER_H_
