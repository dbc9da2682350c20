// LivenessRecorder: records in the ledger which services are up or down, and tells the other
// placement processes which services this one hears.
//
// Owns the Liveness, and this process's heartbeat row in the database. One thread of its own calls
// Step about once a second, because Step waits for the database. RemoveHeartbeat also waits for the
// database. All other methods are thread-safe and do not block.
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
  // How often trackers must send a heartbeat: a sixth of the down time, and at most 10 s. Placement
  // orders the interval, so the down time is never as short as it.
  static absl::Duration HeartbeatIntervalFor(absl::Duration service_down_time);
  // The interval of this process. This process writes its own heartbeat row equally
  // often.
  absl::Duration heartbeat_interval() const { return heartbeat_interval_; }

  // Submits the transitions of services, except that a service which another process hears is not
  // recorded as down. Writes the heartbeat row of this process when the row is due. Returns the
  // time until the next step.
  absl::Duration Step();
  // The number of services that all steps together have looked at.
  int64_t judged() const { return judged_; }
  // Makes a call to the database fail if the call hangs.
  void ShutIfSlow();
  // Removes the heartbeat row of this process from the database, so that other processes know at
  // once that this process hears no service any more. Called last when the process stops. Waits for
  // the database.
  void RemoveHeartbeat();

 private:
  // The services that this process hears, and how long ago it last heard each of them.
  std::vector<std::pair<std::string, absl::Duration>> AgesAt(placement::BootTime now) const;
  void Record(placement::MarkService transition);
  void RecordDown(const std::vector<placement::MarkService>& transitions);

  placement::Ledger* const ledger_;
  const absl::Duration heartbeat_interval_;
  placement::Heartbeats heartbeats_;
  Liveness liveness_;
  std::atomic<int64_t> judged_{0};
  // Used only by the thread that calls Step.
  placement::BootTime next_heartbeat_ = -absl::InfiniteDuration();
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_LIVENESS_RECORDER_H_
