#include "tracker/hypervisor/deadline_pool.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tracker/ground/boot_clock.h"
#include "tracker/ground/mutex.h"

namespace berth::tracker {
namespace {

enum class Stage { kWaiting, kRunning, kDone, kAbandoned };

struct Job {
  std::function<void()> work;
  Stage stage = Stage::kWaiting;  // guarded by the pool's mutex
};

}  // namespace

struct DeadlinePool::State : std::enable_shared_from_this<State> {
  explicit State(Options limits) : options(limits) {}

  static void Serve(const std::shared_ptr<State>& state);
  // Queues a job, and starts a thread for it if one is needed.
  std::shared_ptr<Job> Start(std::function<void()> work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Starts a thread if more jobs wait than threads are idle, unless `threads_max` threads exist.
  void StartThreadIfNeeded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Waits until the job is done. Returns false if the job was not done at the deadline; the job is
  // then abandoned.
  bool Await(const std::shared_ptr<Job>& job, MonotonicTime deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Waits for a queued job, removes it from the queue and returns it. Null if none came for
  // kIdleMax, or when the pool ends: the thread must then end.
  std::shared_ptr<Job> Take() ABSL_LOCKS_EXCLUDED(mutex);
  // Marks the job as done. Returns false if the job was abandoned meanwhile. This thread must then
  // end, because the pool may have started another thread in its place.
  bool Finish(Job* job) ABSL_LOCKS_EXCLUDED(mutex);

  const Options options;
  Mutex mutex;
  CondVar changed;
  std::deque<std::shared_ptr<Job>> queue ABSL_GUARDED_BY(mutex);
  int threads ABSL_GUARDED_BY(mutex) = 0;
  int idle ABSL_GUARDED_BY(mutex) = 0;
  int hung ABSL_GUARDED_BY(mutex) = 0;
  bool stopping ABSL_GUARDED_BY(mutex) = false;
};

namespace {

constexpr std::chrono::hours kNoDeadline{24};
constexpr std::chrono::seconds kIdleMax{1};

}  // namespace

std::shared_ptr<Job> DeadlinePool::State::Take() {
  MutexLock lock(&mutex);
  const auto until = BootClock::now() + kIdleMax;
  ++idle;
  while (queue.empty() && !stopping && changed.WaitUntil(&mutex, until)) {
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
    job->work = nullptr;  // destroys what the work owns before the caller returns
    if (!state->Finish(job.get())) return;
  }
}

DeadlinePool::DeadlinePool(Options options) : state_(std::make_shared<State>(options)) {}

DeadlinePool::~DeadlinePool() {
  MutexLock lock(&state_->mutex);
  state_->stopping = true;
  state_->changed.NotifyAll();
  while (state_->threads > 0) {
    state_->changed.WaitUntil(&state_->mutex, BootClock::now() + kNoDeadline);
  }
}

std::shared_ptr<Job> DeadlinePool::State::Start(std::function<void()> work) {
  const auto job = std::make_shared<Job>();
  job->work = std::move(work);
  queue.push_back(job);
  StartThreadIfNeeded();
  changed.NotifyAll();
  return job;
}

void DeadlinePool::State::StartThreadIfNeeded() {
  if (idle >= static_cast<int>(queue.size()) || threads >= options.threads_max) return;
  ++threads;
  // Detached, because a thread whose call hangs could never be joined. The destructor waits until
  // the other threads have ended.
  std::thread(&State::Serve, shared_from_this()).detach();
}

bool DeadlinePool::State::Await(const std::shared_ptr<Job>& job, MonotonicTime deadline) {
  while (job->stage != Stage::kDone && BootClock::now() < deadline) {
    changed.WaitUntil(&mutex, deadline);
  }
  if (job->stage == Stage::kDone) return true;
  if (job->stage == Stage::kRunning) {
    ++hung;
    --threads;
    StartThreadIfNeeded();  // for the jobs that wait behind this one
  } else {
    queue.erase(std::find(queue.begin(), queue.end(), job));
  }
  job->stage = Stage::kAbandoned;
  return false;
}

absl::Status DeadlinePool::Run(absl::string_view name, std::function<void()> work,
                               absl::Duration timeout) {
  std::vector<std::function<void()>> works;
  works.push_back(std::move(work));
  return RunAll(name, std::move(works), timeout)[0];
}

std::vector<absl::Status> DeadlinePool::RunAll(absl::string_view name,
                                               std::vector<std::function<void()>> works,
                                               absl::Duration timeout) {
  const auto deadline = BootClock::now() + absl::ToChronoNanoseconds(timeout);
  std::vector<std::shared_ptr<Job>> jobs;
  std::vector<absl::Status> statuses;
  MutexLock lock(&state_->mutex);
  // At most hung_max calls may hang, even if all works of this call do.
  const int room = state_->options.hung_max - state_->hung;
  for (std::function<void()>& work : works) {
    if (static_cast<int>(jobs.size()) >= room) break;
    jobs.push_back(state_->Start(std::move(work)));
  }
  for (const std::shared_ptr<Job>& job : jobs) {
    if (state_->Await(job, deadline)) {
      statuses.push_back(absl::OkStatus());
    } else {
      statuses.push_back(absl::DeadlineExceededError(
          absl::StrCat(name, " did not answer within ", absl::FormatDuration(timeout))));
    }
  }
  statuses.resize(works.size(), absl::UnavailableError(
                                    absl::StrCat(name, " was not called, because ", state_->hung,
                                                 " earlier calls still wait for an answer")));
  return statuses;
}

int DeadlinePool::hung() const {
  MutexLock lock(&state_->mutex);
  return state_->hung;
}

}  // namespace berth::tracker
