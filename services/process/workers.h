// Workers: threads for work that takes too long for a callback of gRPC or of the ledger.
//
// Owns the threads and a bounded queue in which owners take turns (FairQueue). Thread-safe. All
// accepted work is done or refused, even if the Workers are being destroyed.
//
// A thread does one piece of work to its end, and some reads look at all hosts, which can take tens
// of milliseconds. So urgent work, which is that of kFirst and kSessions, can have threads of its own.
#ifndef BERTH_SERVICES_PROCESS_WORKERS_H_
#define BERTH_SERVICES_PROCESS_WORKERS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "placement/ground/fair_queue.h"
#include "placement/ground/mutex.h"

namespace berth::services {

class Workers {
 public:
  // The number of all threads. With more than two cores one is left free for the ledger: on a
  // machine with two, a commit took ten times as long (measured) while both cores searched.
  static int CountFor(int cores) { return cores > 2 ? cores - 1 : 2; }
  // How many of them do urgent work alone. One thread does all other work, also if this is all.
  static int UrgentOf(int threads) { return threads > 2 ? threads / 2 : 1; }

  // The queue has room for `queue_max` pieces of work of each priority (FairQueue).
  // `urgent_threads`: how many threads do urgent work and nothing else. `threads`: how many do all
  // other work; of urgent work they do what no urgent thread is free for, while there is no other. If
  // `urgent_threads` is 0, they do all work.
  Workers(int threads, int queue_max, int urgent_threads = 0);
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

  // The work of some of the threads.
  struct Share {
    explicit Share(int queue_max) : queue(queue_max, 1) {}

    placement::CondVar wake;
    placement::FairQueue<Work> queue;
    std::vector<Work> put_out;  // work that is to be refused
  };

  Share& ShareOf(placement::Priority priority) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether there is more urgent work than urgent threads that are free.
  bool MayHelp() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return static_cast<int>(urgent_.queue.size()) > urgent_free_;
  }
  // Waits for work of an urgent thread, or of another one. Nothing: `put_out` has work to be refused,
  // or, if it is empty, the Workers end.
  std::optional<Work> Next(bool urgent, std::vector<Work>* put_out);
  // Does work until the Workers end.
  void Run(bool urgent);

  const bool has_urgent_;
  mutable placement::Mutex mutex_;
  Share urgent_ ABSL_GUARDED_BY(mutex_);  // without work unless has_urgent_
  Share other_ ABSL_GUARDED_BY(mutex_);
  int urgent_free_ ABSL_GUARDED_BY(mutex_);  // how many urgent threads do no work
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<int64_t> refused_count_{0};
  std::vector<std::thread> threads_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_WORKERS_H_
