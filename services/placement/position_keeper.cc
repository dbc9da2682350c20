#include "services/placement/position_keeper.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/ground/mutex.h"
#include "placement/ground/thread_name.h"

namespace berth::services {

using placement::BootTime;
using placement::MutexLock;
using placement::Position;

struct PositionKeeper::Work {
  Work(const std::string& path, TellOperator tell) : file(path), tell_operator(std::move(tell)) {}

  placement::PositionFile file;
  const TellOperator tell_operator;
  placement::Mutex mutex;
  placement::CondVar changed;
  std::optional<Position> waiting ABSL_GUARDED_BY(mutex);        // to be written next
  std::optional<BootTime> writing_since ABSL_GUARDED_BY(mutex);  // none: no write runs
  bool is_slow ABSL_GUARDED_BY(mutex) = false;      // the operator knows that the write lasts long
  bool has_failed ABSL_GUARDED_BY(mutex) = false;   // the last write
  bool ending ABSL_GUARDED_BY(mutex) = false;       // Stop was called
  bool left_behind ABSL_GUARDED_BY(mutex) = false;  // nobody waits for the thread any more
  bool ended ABSL_GUARDED_BY(mutex) = false;        // the thread writes nothing any more
};

PositionKeeper::PositionKeeper(const std::string& path, TellOperator tell_operator)
    : work_(path.empty() ? nullptr : std::make_shared<Work>(path, std::move(tell_operator))) {
  if (work_ != nullptr) thread_ = std::thread([work = work_] { Run(work); });
}

PositionKeeper::~PositionKeeper() { (void)Stop(-absl::InfiniteDuration()); }

void PositionKeeper::Keep(const Position& position, BootTime now) {
  if (work_ == nullptr) return;
  Work& work = *work_;
  {
    const MutexLock lock(&work.mutex);
    if (work.ending) return;
    work.waiting = position;
    work.changed.SignalAll();
    const bool is_late = work.writing_since && now - *work.writing_since >= kWriteWithin;
    if (!is_late || std::exchange(work.is_slow, true)) return;
  }
  work.tell_operator(absl::StrCat(
      work.file.path(),
      ": the state directory does not answer. If it stays so and the database is restored while "
      "this process is down, the next start does not notice it"));
}

bool PositionKeeper::Stop(BootTime until) {
  if (!thread_.joinable()) return true;
  Work& work = *work_;
  bool ended = false;
  {
    const MutexLock lock(&work.mutex);
    work.ending = true;
    work.changed.SignalAll();
    while (!work.ended) {
      const absl::Duration left = until - placement::BootNow();
      if (left <= absl::ZeroDuration()) break;
      work.changed.WaitFor(&work.mutex, absl::ToChronoNanoseconds(left));
    }
    ended = work.ended;
    work.left_behind = !ended;
  }
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return ended;
}

void PositionKeeper::Run(const std::shared_ptr<Work>& work) {
  placement::NameThread("position");
  while (true) {
    Position position;
    {
      const MutexLock lock(&work->mutex);
      while (!work->waiting && !work->ending) work->changed.Wait(&work->mutex);
      if (!work->waiting || work->left_behind) {
        work->ended = true;
        work->changed.SignalAll();
        return;
      }
      position = *std::exchange(work->waiting, std::nullopt);
      work->writing_since = placement::BootNow();
    }
    const absl::Status written = work->file.Write(position);
    std::string words;
    {
      const MutexLock lock(&work->mutex);
      work->writing_since.reset();
      const bool had_failed = std::exchange(work->has_failed, !written.ok());
      if (!written.ok() && !had_failed) words = std::string(written.message());
      if (std::exchange(work->is_slow, false) && words.empty()) {
        words = absl::StrCat(work->file.path(), ": the state directory answers again");
      }
      if (work->left_behind) words.clear();
    }
    if (!words.empty()) work->tell_operator(words);
  }
}

}  // namespace berth::services
