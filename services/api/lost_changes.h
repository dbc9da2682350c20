// LostChanges: finds out what a database that went back in time has lost, once for all who ask.
//
// To find it out takes a connection and a reading of all tables. So one job at a time does it on
// the worker, however many ask, and all who ask meanwhile get its result. Each identity waits with
// one call at most. The ledger keeps the result until the database moves on: who asks until then
// gets it at once. Thread-safe.
#ifndef BERTH_SERVICES_API_LOST_CHANGES_H_
#define BERTH_SERVICES_API_LOST_CHANGES_H_

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "placement/ground/mutex.h"
#include "placement/ledger/ledger.h"
#include "services/process/workers.h"

namespace berth::services {

class LostChanges {
 public:
  using Answer = std::function<void(const absl::StatusOr<placement::LossPtr>&)>;

  static constexpr size_t kWaitingMax = 256;

  // `worker` runs the job, which waits for the database. Both must outlive the answers.
  LostChanges(placement::Ledger* ledger, Workers* worker) : ledger_(ledger), worker_(worker) {}

  // Calls `answer` once, with the result of Ledger::FindLoss or with kUnavailable / OVERLOADED:
  // `owner`, the identity of the caller, waits already, kWaitingMax others do, or the worker has
  // too much to do. `answer` runs on this thread or on the worker, and must be quick.
  void Find(const std::string& owner, const Answer& answer);

 private:
  void Run();
  void AnswerAll(const absl::StatusOr<placement::LossPtr>& loss);

  placement::Ledger* const ledger_;
  Workers* const worker_;
  placement::Mutex mutex_;
  std::map<std::string, Answer> waiting_ ABSL_GUARDED_BY(mutex_);  // by owner
  bool running_ ABSL_GUARDED_BY(mutex_) = false;  // a job is queued or runs: somebody waits
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_LOST_CHANGES_H_
