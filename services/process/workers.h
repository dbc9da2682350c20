// Workers: threads for work that takes too long for a callback of gRPC or of the ledger.
//
// Owns the threads and a bounded queue in which owners take turns (FairQueue). Thread-safe. All
// accepted work is done or refused, even if the Workers are being destroyed.
#ifndef BERTH_SERVICES_PROCESS_WORKERS_H_
#define BERTH_SERVICES_PROCESS_WORKERS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "placement/ground/fair_queue.h"
#include "placement/ground/mutex.h"

namespace berth::services {

class Workers {
 public:
  // The number of threads for searches and lists. One core is left free for the ledger: on a
  // machine with two cores, a commit took ten times as long (measured) while both cores searched.
  static int CountFor(int cores) { return cores > 2 ? cores - 1 : 1; }

  // The queue has room for `queue_max` pieces of work of each priority (FairQueue).
  Workers(int threads, int queue_max);
  // Waits until all accepted work is done or refused.
  ~Workers();

  // Adds `work` to the queue. If the queue has no room at `flow.priority`, and `flow.owner` has too
  // much in it, drops `work` and `refused`, calls neither, and returns false. Else a worker calls one
  // of them later: `work`, or `refused` if the work was put out of the queue for the work of another
  // owner. Workers call `refused` before any further `work`; it must be quick. Never waits, and calls
  // nothing itself.
  [[nodiscard]] bool Submit(const placement::Flow& flow, std::function<void()> work,
                            std::function<void()> refused);

  int queue_length() const;
  // How much work was refused so far, by Submit or later.
  int64_t refused_count() const { return refused_count_; }

 private:
  struct Work {
    std::function<void()> run;
    std::function<void()> refused;
  };

  void Run();

  mutable placement::Mutex mutex_;
  placement::CondVar wake_;
  placement::FairQueue<Work> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<Work> put_out_ ABSL_GUARDED_BY(mutex_);  // work that is to be refused
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<int64_t> refused_count_{0};
  std::vector<std::thread> threads_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_WORKERS_H_
