#include "services/api/import_place.h"

#include <utility>

#include "placement/values/refusal.h"

namespace berth::services {

using placement::MutexLock;

namespace {

absl::Status ImportTooSlow() {
  return placement::Refuse(absl::StatusCode::kDeadlineExceeded, "DEADLINE_BEFORE_START",
                           "the records did not arrive in time: nothing was imported");
}

absl::Status ImportEnded() {
  return placement::Refuse(absl::StatusCode::kUnavailable, "NOT_SERVING",
                           "placement is stopping: nothing was imported");
}

}  // namespace

int64_t ImportPlace::Take(placement::BootTime now, End end) {
  MutexLock lock(&mutex_);
  if (holder_ != 0) return 0;
  begun_at_ = now;
  end_ = std::move(end);
  return holder_ = ++tickets_;
}

void ImportPlace::Await(int64_t ticket, placement::BootTime now, absl::FunctionRef<void()> read) {
  End end;
  {
    MutexLock lock(&mutex_);
    if (ticket == 0 || ticket != holder_) return;
    if (!ended_) {
      silent_since_ = now;
      return read();
    }
    end = Free();
  }
  end(ImportEnded());
}

bool ImportPlace::Heard(int64_t ticket) {
  MutexLock lock(&mutex_);
  if (ticket == 0 || ticket != holder_) return false;
  silent_since_.reset();
  return true;
}

void ImportPlace::Leave(int64_t ticket) {
  MutexLock lock(&mutex_);
  if (ticket != 0 && ticket == holder_) Free();
}

void ImportPlace::Tick(placement::BootTime now) {
  End end;
  {
    MutexLock lock(&mutex_);
    if (!silent_since_) return;
    if (now - *silent_since_ <= kSilenceMax && now - begun_at_ <= kReadingMax) return;
    end = Free();
  }
  end(ImportTooSlow());
}

void ImportPlace::EndAll() {
  End end;
  {
    MutexLock lock(&mutex_);
    ended_ = true;
    if (!silent_since_) return;
    end = Free();
  }
  end(ImportEnded());
}

// Frees the place, and returns the End of the call that had it. The caller of Free either calls
// this End or drops it.
ImportPlace::End ImportPlace::Free() {
  holder_ = 0;
  silent_since_.reset();
  return std::exchange(end_, nullptr);
}

}  // namespace berth::services
