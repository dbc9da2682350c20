#include "services/process/workers.h"

#include <optional>
#include <utility>

#include "placement/ground/thread_name.h"

namespace berth::services {

using placement::MutexLock;

Workers::Workers(int threads, int queue_max) : queue_(queue_max, 1) {
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

bool Workers::Submit(const placement::Flow& flow, std::function<void()> work,
                     std::function<void()> refused) {
  Work added{std::move(work), std::move(refused)};  // if dropped, freed after the lock is released
  {
    MutexLock lock(&mutex_);
    auto pushed = queue_.Push(flow, std::move(added));
    if (pushed.put_out) put_out_.push_back(*std::move(pushed.put_out));
    if (!pushed.taken || pushed.put_out) ++refused_count_;
    if (!pushed.taken) return false;
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
    std::vector<Work> put_out;
    std::optional<Work> work;
    {
      MutexLock lock(&mutex_);
      while (queue_.empty() && put_out_.empty() && !ending_) wake_.Wait(&mutex_);
      put_out.swap(put_out_);
      if (put_out.empty()) work = queue_.Pop();
      if (put_out.empty() && !work) return;
    }
    for (const Work& refused : put_out) refused.refused();
    if (work) work->run();
  }
}

}  // namespace berth::services
