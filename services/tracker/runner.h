// NodeRunner: the loop that runs a node's passes when they are due, and logs their outcomes.
//
// Owns one thread and the node's schedule, but not the node. Thread-safe.
#ifndef BERTH_SERVICES_TRACKER_RUNNER_H_
#define BERTH_SERVICES_TRACKER_RUNNER_H_

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tracker/ground/mutex.h"
#include "tracker/node/node.h"
#include "tracker/node/schedule.h"

namespace berth::services {

class NodeRunner {
 public:
  // Calls `passed` after every pass, on the runner's thread. `node` outlives the runner.
  NodeRunner(tracker::Node* node, const tracker::PassSchedule::Options& schedule,
             std::function<void(const tracker::PassOutcome&)> passed);
  // Stops, and waits until the running pass has ended.
  ~NodeRunner();

  // Asks for a pass. Calls `done` on the runner's thread after the first pass that begins after
  // this request. If the runner stops before that pass, calls `done` without a pass. If the runner
  // has stopped already, calls `done` at once.
  void Request(tracker::PassCause cause, std::function<void()> done = nullptr);
  // Must be called after the node's records have changed. Logs what their audit warns of, and plans
  // anew the pass that confirms orphans, because this pass may then be due at another time.
  void RecordsChanged();
  // Begins no further passes.
  void Stop();

  tracker::Node* node() const { return node_; }
  int64_t passes() const;
  // Returns how many passes ended with each result, by PassResultName.
  std::map<std::string, int64_t> results() const;
  absl::Duration last_duration() const;

 private:
  void Run();
  void Log(const tracker::PassOutcome& outcome, const std::vector<tracker::PassCause>& causes);

  tracker::Node* const node_;
  const std::function<void(const tracker::PassOutcome&)> passed_;

  mutable tracker::Mutex mutex_;
  tracker::CondVar changed_;
  tracker::PassSchedule schedule_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t passes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int64_t> results_ ABSL_GUARDED_BY(mutex_);
  absl::Duration last_duration_ ABSL_GUARDED_BY(mutex_);
  // Only the runner's own thread uses these members.
  tracker::PassOutcome::Result logged_ = tracker::PassOutcome::Result::kNone;
  int silent_ = 0;      // failures in a row with the same result that were not logged
  std::thread thread_;  // last, because the thread uses all other members
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_RUNNER_H_
