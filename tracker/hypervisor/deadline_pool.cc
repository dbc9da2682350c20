#include "tracker/hypervisor/deadline_pool.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <list>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tracker/ground/mutex.h"

namespace berth::tracker {
namespace {

enum class Stage { kWaiting, kRunning, kDone, kAbandoned };

struct Job {
  std::function<void()> work;
  Stage stage = Stage::kWaiting;  // guarded by the pool's mutex
};

}  // namespace

struct DeadlinePool::State {
  explicit State(Options limits) : options(limits) {}

  static void Serve(const std::shared_ptr<State>& state);
  // Takes the next job, or null when there is nothing left to do.
  std::shared_ptr<Job> Take() ABSL_LOCKS_EXCLUDED(mutex);
  // False when the job was abandoned meanwhile and the thread has to end.
  bool Finish(Job* job) ABSL_LOCKS_EXCLUDED(mutex);

  const Options options;
  mutable Mutex mutex;
  CondVar changed;
  std::deque<std::shared_ptr<Job>> queue ABSL_GUARDED_BY(mutex);
  int threads ABSL_GUARDED_BY(mutex) = 0;
  int idle ABSL_GUARDED_BY(mutex) = 0;
  int hung ABSL_GUARDED_BY(mutex) = 0;
  bool stopping ABSL_GUARDED_BY(mutex) = false;
};

namespace {

constexpr std::chrono::hours kNoDeadline{24};

}  // namespace

std::shared_ptr<Job> DeadlinePool::State::Take() {
  MutexLock lock(&mutex);
  ++idle;
  while (queue.empty() && !stopping) {
    changed.WaitUntil(&mutex, std::chrono::steady_clock::now() + kNoDeadline);
  }
  --idle;
  if (queue.empty()) {
    --threads;
    changed.NotifyAll();
    return nullptr;
  }
  std::shared_ptr<Job> job = std::move(queue.front());
  queue.pop_front();
  job->stage = Stage::kRunning;
  return job;
}

bool DeadlinePool::State::Finish(Job* job) {
  MutexLock lock(&mutex);
  const bool abandoned = job->stage == Stage::kAbandoned;
  if (abandoned) --hung;
  job->stage = Stage::kDone;
  changed.NotifyAll();
  return !abandoned;
}

void DeadlinePool::State::Serve(const std::shared_ptr<State>& state) {
  while (const std::shared_ptr<Job> job = state->Take()) {
    job->work();
    job->work = nullptr;  // what it owns goes before the caller hears of it
    if (!state->Finish(job.get())) return;
  }
}

DeadlinePool::DeadlinePool(Options options) : state_(std::make_shared<State>(options)) {}

DeadlinePool::~DeadlinePool() {
  MutexLock lock(&state_->mutex);
  state_->stopping = true;
  state_->changed.NotifyAll();
  while (state_->threads > 0) {
    state_->changed.WaitUntil(&state_->mutex, std::chrono::steady_clock::now() + kNoDeadline);
  }
}

absl::Status DeadlinePool::Run(absl::string_view name, std::function<void()> work,
                               absl::Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout);
  const auto job = std::make_shared<Job>();
  job->work = std::move(work);
  MutexLock lock(&state_->mutex);
  if (state_->hung >= state_->options.hung_max) {
    return absl::UnavailableError(absl::StrCat(name, ": ", state_->hung, " calls hang already"));
  }
  state_->queue.push_back(job);
  if (state_->idle < static_cast<int>(state_->queue.size()) &&
      state_->threads < state_->options.threads_max) {
    ++state_->threads;
    // Detached: a thread whose call hangs can never be joined. The pool counts the others out.
    std::thread(&State::Serve, state_).detach();
  }
  state_->changed.NotifyAll();
  while (job->stage != Stage::kDone) {
    if (state_->changed.WaitUntil(&state_->mutex, deadline) || job->stage == Stage::kDone) continue;
    if (std::chrono::steady_clock::now() < deadline) continue;
    if (job->stage == Stage::kRunning) {
      ++state_->hung;
      --state_->threads;
    } else {
      state_->queue.erase(std::find(state_->queue.begin(), state_->queue.end(), job));
    }
    job->stage = Stage::kAbandoned;
    return absl::DeadlineExceededError(
        absl::StrCat(name, " did not answer within ", absl::FormatDuration(timeout)));
  }
  return absl::OkStatus();
}

int DeadlinePool::hung() const {
  MutexLock lock(&state_->mutex);
  return state_->hung;
}

}  // namespace berth::tracker
