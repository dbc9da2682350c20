// LivenessRecorder: records in the ledger which services are up or down, and tells the other
// placement processes which services this one hears.
//
// Owns the liveness and the row of heartbeats. A thread of its own calls Step about once a second,
// for Step waits for the database. The other methods are thread-safe and do not block.
#ifndef BERTH_SERVICES_REPORT_LIVENESS_RECORDER_H_
#define BERTH_SERVICES_REPORT_LIVENESS_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "placement/ledger/ledger.h"
#include "placement/store/heartbeats.h"
#include "services/report/liveness.h"

namespace berth::services {

class LivenessRecorder {
 public:
  LivenessRecorder(placement::Ledger* ledger, const std::string& database_url,
                   absl::Duration service_down_time);

  Liveness& liveness() { return liveness_; }
  // How often trackers must send a heartbeat, and how often this process writes its own.
  absl::Duration heartbeat_interval() const { return heartbeat_interval_; }

  // Submits the transitions of services, those to down only if no other process hears the service;
  // writes the row of heartbeats when it is due. Returns the time until the next step.
  absl::Duration Step();
  // Services that all steps together looked at.
  int64_t judged() const { return judged_; }
  // Makes a call to the database that hangs fail.
  void ShutIfSlow();
  // The last call of a process that stops: the others need not wait for its row to grow old.
  // Blocks.
  void RemoveHeartbeat();

 private:
  void Record(placement::MarkService transition);
  void RecordDown(const std::vector<placement::MarkService>& transitions);

  placement::Ledger* const ledger_;
  const absl::Duration heartbeat_interval_;
  placement::Heartbeats heartbeats_;
  Liveness liveness_;
  std::atomic<int64_t> judged_{0};
  absl::Time next_heartbeat_ = absl::InfinitePast();  // of Step's thread
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_REPORT_LIVENESS_RECORDER_H_
