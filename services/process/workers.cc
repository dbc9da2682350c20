#include "services/process/workers.h"

#include <optional>
#include <utility>

#include "placement/ground/thread_name.h"

namespace berth::services {

using placement::MutexLock;

Workers::Workers(int threads, int queue_max, int urgent_threads)
    : has_urgent_(urgent_threads > 0),
      urgent_(queue_max),
      other_(queue_max),
      urgent_free_(urgent_threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(false); });
  for (int i = 0; i < urgent_threads; ++i) threads_.emplace_back([this] { Run(true); });
}

Workers::~Workers() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
    for (Share* const share : {&urgent_, &other_}) share->wake.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

Workers::Share& Workers::ShareOf(placement::Priority priority) {
  return has_urgent_ && priority <= placement::Priority::kSessions ? urgent_ : other_;
}

bool Workers::Submit(const placement::Flow& flow, std::function<void()> work,
                     std::function<void()> refused) {
  Work added{std::move(work), std::move(refused)};  // if dropped, freed after the lock is released
  placement::CondVar* wake = nullptr;
  {
    MutexLock lock(&mutex_);
    Share& share = ShareOf(flow.priority);
    auto pushed = share.queue.Push(flow, std::move(added));
    if (pushed.put_out) share.put_out.push_back(*std::move(pushed.put_out));
    if (!pushed.taken || pushed.put_out) ++refused_count_;
    if (!pushed.taken) return false;
    wake = MayHelp() ? &other_.wake : &share.wake;
  }
  wake->Signal();
  return true;
}

int Workers::queue_length() const {
  MutexLock lock(&mutex_);
  return static_cast<int>(urgent_.queue.size() + other_.queue.size());
}

std::optional<Workers::Work> Workers::Next(bool urgent, std::vector<Work>* put_out) {
  MutexLock lock(&mutex_);
  Share& share = urgent ? urgent_ : other_;
  const auto has_work = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !share.queue.empty() || !share.put_out.empty() || (!urgent && MayHelp());
  };
  while (!has_work() && !ending_) share.wake.Wait(&mutex_);
  put_out->swap(share.put_out);
  if (!put_out->empty()) return std::nullopt;
  std::optional<Work> work = share.queue.Pop();
  if (!work && !urgent && MayHelp()) work = urgent_.queue.Pop();
  if (urgent && work) --urgent_free_;
  return work;
}

void Workers::Run(bool urgent) {
  placement::NameThread(urgent ? "urgent" : "worker");
  while (true) {
    std::vector<Work> put_out;
    const std::optional<Work> work = Next(urgent, &put_out);
    if (!work && put_out.empty()) return;
    for (const Work& refused : put_out) refused.refused();
    if (!work) continue;
    work->run();
    if (!urgent) continue;
    MutexLock lock(&mutex_);
    ++urgent_free_;
  }
}

}  // namespace berth::services
