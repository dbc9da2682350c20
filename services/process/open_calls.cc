#include "services/process/open_calls.h"

#include <utility>

#include "grpc/grpc.h"

namespace berth::services {

using placement::BootTime;
using placement::MutexLock;

namespace {

// How long a call that was told to end may take before it is cancelled.
constexpr absl::Duration kEndsWithin = absl::Milliseconds(500);

OpenCallPtr& CurrentCall() {
  thread_local OpenCallPtr current;
  return current;
}

}  // namespace

const OpenCallPtr& OpenCall::Current() { return CurrentCall(); }

BeginningOfCall::BeginningOfCall(OpenCallPtr call)
    : outer_(std::exchange(CurrentCall(), std::move(call))) {}

BeginningOfCall::~BeginningOfCall() { CurrentCall() = outer_; }

OpenCall::OpenCall(grpc_call* call, const std::string* method, Caller caller,
                   std::shared_ptr<const grpc::AuthContext> connection)
    : call_(call), method_(method), caller_(std::move(caller)), connection_(std::move(connection)) {
  if (call_ != nullptr) grpc_call_ref(call_);
}

OpenCall::~OpenCall() {
  if (call_ != nullptr) grpc_call_unref(call_);
}

absl::Status OpenCall::ending() const {
  MutexLock lock(&mutex_);
  return ending_;
}

void OpenCall::OnEnding(Ender ender) {
  absl::Status why;
  {
    MutexLock lock(&mutex_);
    if (ending_.ok()) {
      ender_ = std::move(ender);
      return;
    }
    why = ending_;
  }
  ender(why);
}

bool OpenCall::End(const absl::Status& why, BootTime now) {
  Ender ender;
  {
    MutexLock lock(&mutex_);
    if (!ending_.ok()) return false;
    ending_ = why;
    late_at_ = now + kEndsWithin;
    ender = std::exchange(ender_, nullptr);
  }
  cancelled_.store(true);
  if (ender != nullptr) ender(why);
  return true;
}

void OpenCall::CancelIfLate(BootTime now) {
  absl::Status why;
  {
    MutexLock lock(&mutex_);
    if (now < late_at_) return;
    late_at_ = absl::InfiniteDuration();
    why = ending_;
  }
  if (!answered_in_any_case_.load()) Cancel(why);
}

void OpenCall::Leave() {
  Ender ender;
  MutexLock lock(&mutex_);
  ender.swap(ender_);  // destroyed without the lock
}

void OpenCall::Cancel(const absl::Status& why) {
  if (call_ == nullptr) return;
  const std::string words(why.message());
  grpc_call_cancel_with_status(call_, static_cast<grpc_status_code>(why.code()), words.c_str(),
                               nullptr);
}

std::shared_ptr<std::atomic<bool>> CancelledFlagOf(const OpenCallPtr& call) {
  if (call == nullptr) return std::make_shared<std::atomic<bool>>(false);
  return {call, &call->cancelled_};
}

absl::Status EndingOf(const OpenCallPtr& call, const absl::Status& status) {
  if (call == nullptr || !absl::IsCancelled(status)) return status;
  const absl::Status why = call->ending();
  return why.ok() ? status : why;
}

void OpenCalls::Enter(const OpenCallPtr& call) {
  MutexLock lock(&mutex_);
  calls_.insert(call);
}

void OpenCalls::Leave(const OpenCallPtr& call) {
  call->Leave();
  MutexLock lock(&mutex_);
  calls_.erase(call);
}

void OpenCalls::EndWhere(const Judge& judge, const Tell& tell, BootTime now) {
  for (const OpenCallPtr& call : All()) {
    const absl::Status why = judge(*call);
    if (!why.ok() && call->End(why, now)) tell(*call, why);
    call->CancelIfLate(now);
  }
}

size_t OpenCalls::size() const {
  MutexLock lock(&mutex_);
  return calls_.size();
}

std::vector<OpenCallPtr> OpenCalls::All() const {
  MutexLock lock(&mutex_);
  return {calls_.begin(), calls_.end()};
}

}  // namespace berth::services
