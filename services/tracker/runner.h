// NodeRunner: the loop that runs a node's passes when they are due.
//
// Owns one thread and the node's schedule; the node is the caller's. Thread-safe. What it logs is what a
// pass leaves for people: the two views, warnings, failures.
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
  // `passed` is called after every pass, from the runner's thread.
  NodeRunner(tracker::Node* node, const tracker::PassSchedule::Options& schedule,
             std::function<void(const tracker::PassOutcome&)> passed);
  // Waits for the pass that runs.
  ~NodeRunner();

  // Asks for a pass; `done` is called, from the runner's thread, after a pass that began later. At the
  // stop it is called without one.
  void Request(tracker::PassCause cause, std::function<void()> done = nullptr);
  // Looks again when the node wants its confirming pass: its records have changed.
  void LookAtConfirmation();
  // No pass begins any more.
  void Stop();

  tracker::Node* node() const { return node_; }
  int64_t passes() const;
  // How often passes ended in each way, by its name.
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
  // Used by its thread only.
  tracker::PassOutcome::Result logged_ = tracker::PassOutcome::Result::kNone;
  int silent_ = 0;      // failures of one kind in a row that were not said
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_RUNNER_H_
