// Workers: threads for work that takes too long for a callback of gRPC or of the ledger.
//
// Owns the threads and a bounded queue. Thread-safe. All accepted work is done, even if the Workers
// are being destroyed.
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
  // The number of threads for searches and lists. One core is left free for the ledger: on a
  // machine with two cores, a commit took ten times as long (measured) while both cores searched.
  static int CountFor(int cores) { return cores > 2 ? cores - 1 : 1; }

  Workers(int threads, int queue_max);
  // Waits until all accepted work is done.
  ~Workers();

  // Adds `work` to the queue. If the queue is full, drops `work` and returns false. Never waits.
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
