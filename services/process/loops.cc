#include "services/process/loops.h"

#include <algorithm>
#include <utility>

#include "placement/ground/boot_clock.h"
#include "placement/ground/thread_name.h"

namespace berth::services {

using placement::MutexLock;

namespace {
constexpr absl::Duration kFollowWaitMin = absl::Milliseconds(2);
constexpr absl::Duration kFollowWaitMax = absl::Milliseconds(100);
constexpr int kQuickPolls = 50;
}  // namespace

Loop::Loop(const char* name, std::function<absl::Duration()> step)
    : step_(std::move(step)), thread_([this, name] { Run(name); }) {}

Loop::~Loop() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
  }
  wake_.SignalAll();
  thread_.join();
}

void Loop::Run(const char* name) {
  placement::NameThread(name);
  while (true) {
    const absl::Duration wait = step_();
    const placement::BootTime next = placement::BootNow() + wait;
    MutexLock lock(&mutex_);
    while (!ending_) {
      const absl::Duration left = next - placement::BootNow();
      if (left <= absl::ZeroDuration()) break;
      wake_.WaitFor(&mutex_, absl::ToChronoNanoseconds(left));
    }
    if (ending_) return;
  }
}

absl::Duration FollowPace::After(const absl::StatusOr<int>& polled) {
  if (polled.ok() && *polled > 0) {
    quick_left_ = kQuickPolls;
  } else {
    quick_left_ = polled.ok() ? std::max(0, quick_left_ - 1) : 0;
  }
  wait_ = quick_left_ > 0 ? kFollowWaitMin : std::min(wait_ * 2, kFollowWaitMax);
  return wait_;
}

}  // namespace berth::services
