#include "services/process/workers.h"

#include <utility>

#include "placement/ground/thread_name.h"

namespace berth::services {

using placement::MutexLock;

Workers::Workers(int threads, int queue_max) : queue_max_(queue_max) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

Workers::~Workers() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
  }
  wake_.SignalAll();
  for (std::thread& thread : threads_) thread.join();
}

bool Workers::Submit(std::function<void()> work) {
  {
    MutexLock lock(&mutex_);
    if (static_cast<int>(queue_.size()) >= queue_max_) return false;
    queue_.push_back(std::move(work));
  }
  wake_.Signal();
  return true;
}

int Workers::queue_length() const {
  MutexLock lock(&mutex_);
  return static_cast<int>(queue_.size());
}

void Workers::Run() {
  placement::NameThread("worker");
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(&mutex_);
      while (queue_.empty() && !ending_) wake_.Wait(&mutex_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace berth::services
