#include "tests/fairness/probe.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace berth::fairness {

using placement::MutexLock;

Probe::Probe(absl::Duration each, std::function<grpc::Status()> call)
    : each_(each), call_(std::move(call)), due_(absl::Now()), thread_([this] { Run(); }) {}

Probe::~Probe() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
  }
  wake_.SignalAll();
  thread_.join();
}

CallFigures Probe::Take() {
  MutexLock lock(&mutex_);
  const absl::Duration so_far = absl::Now() - due_;
  if (so_far > each_) tally_.Add(grpc::Status::OK, so_far);
  return tally_.Take();
}

void Probe::Run() {
  while (true) {
    absl::Time due;
    {
      MutexLock lock(&mutex_);
      due = due_;
      while (!ending_ && absl::Now() < due) {
        wake_.WaitFor(&mutex_, absl::ToChronoNanoseconds(due - absl::Now()));
      }
      if (ending_) return;
    }
    const grpc::Status status = call_();
    const absl::Time now = absl::Now();
    MutexLock lock(&mutex_);
    tally_.Add(status, now - due);
    due_ = std::max(due + each_, now);
  }
}

}  // namespace berth::fairness
