// Workers: the threads that do what takes longer than a callback may: searches, long lists.
//
// Owns its threads and a bounded queue. Thread-safe. Work that was accepted is done, also while the
// workers end.
#ifndef BERTH_SERVICES_PROCESS_WORKERS_H_
#define BERTH_SERVICES_PROCESS_WORKERS_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "placement/ground/mutex.h"

namespace berth::services {

class Workers {
 public:
  // One core is left to the ledger: two searching cores of two would stop it.
  static int CountFor(int cores) { return cores > 2 ? cores - 1 : 1; }

  Workers(int threads, int queue_max);
  // Finishes what is queued.
  ~Workers();

  // Queues `work`, or returns false at once when the queue is full.
  [[nodiscard]] bool Submit(std::function<void()> work);
  int queue_length() const;

 private:
  void Run();

  const int queue_max_;
  mutable placement::Mutex mutex_;
  placement::CondVar wake_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_WORKERS_H_
