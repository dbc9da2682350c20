#include "services/client/cpp/mirror.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/watch.grpc.pb.h"

namespace berth::client {
namespace {

namespace pb = ::berth::placement::v1;

constexpr absl::Duration kLook = absl::Seconds(1);  // between two looks at a stream that is silent

}  // namespace

Mirror::Mirror(std::shared_ptr<Endpoints> endpoints, MirrorOptions options, MirrorListener listener)
    : endpoints_(std::move(endpoints)),
      options_(std::move(options)),
      listener_(std::move(listener)),
      state_(options_.kinds),
      thread_([this] { Run(); }) {}

Mirror::~Mirror() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  changed_.SignalAll();
  thread_.join();
}

std::shared_ptr<const View> Mirror::view() const {
  MutexLock lock(&mutex_);
  return view_;
}

std::shared_ptr<const View> Mirror::Await(const pb::Revision& revision,
                                          absl::Duration timeout) const {
  const absl::Duration deadline = Now() + timeout;
  MutexLock lock(&mutex_);
  while (view_ == nullptr || Compare(view_->revision, revision) < 0) {
    const absl::Duration left = deadline - Now();
    if (left <= absl::ZeroDuration()) return nullptr;
    changed_.WaitFor(&mutex_, left);
  }
  return view_;
}

Mirror::Status Mirror::status() const {
  MutexLock lock(&mutex_);
  Status status = status_;
  if (view_ != nullptr) status.age = Now() - heard_at_;
  return status;
}

void Mirror::Run() {
  while (true) {
    Failure failure;
    const Ended ended = FollowOnce(&failure);
    if (ended == Ended::kStopping) return;
    if (ended == Ended::kRenewed) failure = Failure();
    const bool anew = state_.End(failure);
    {
      MutexLock lock(&mutex_);
      status_.following = false;
      status_.failure = failure;
      if (anew) ++status_.begun_anew;
    }
    if (anew && listener_.begins_anew) listener_.begins_anew(failure);
    if (ended == Ended::kRenewed) continue;
    if (listener_.interrupted) listener_.interrupted(failure);
    if (!Pause(backoff_.Next())) return;
  }
}

Mirror::Ended Mirror::FollowOnce(Failure* failure) {
  renewals_ = endpoints_->renewals();
  const std::shared_ptr<grpc::Channel> channel = endpoints_->Channel();
  const auto stub = pb::WatchService::NewStub(channel);
  grpc::ClientContext context;
  if (!Register(&context)) return Ended::kStopping;
  grpc::CompletionQueue queue;
  Ended ended = Ended::kFailed;
  const auto stream = stub->PrepareAsyncWatch(&context, state_.Begin(), &queue);
  stream->StartCall(this);
  bool going = Wait(&context, &queue, &ended, failure);
  while (going) {
    pb::WatchResponse message;
    stream->Read(&message, this);
    going = Wait(&context, &queue, &ended, failure);
    if (going && failure->ok()) Hear(&message, &context, failure);
  }
  grpc::Status status;
  stream->Finish(&status, this);
  Wait(&context, &queue, &ended, failure);
  // If this side has cancelled the stream, `failure` says why.
  if (failure->ok()) *failure = FailureOf(status);
  if (ended == Ended::kFailed) endpoints_->Failed(channel);
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
  return Register(nullptr) ? ended : Ended::kStopping;
}

bool Mirror::Wait(grpc::ClientContext* context, grpc::CompletionQueue* queue, Ended* ended,
                  Failure* failure) {
  const absl::Duration silent_at = Now() + options_.silence_max;
  void* tag = nullptr;
  bool ok = false;
  while (true) {
    const bool cancelled = *ended == Ended::kRenewed || !failure->ok();
    if (!cancelled && endpoints_->renewals() != renewals_) {
      *ended = Ended::kRenewed;
      context->TryCancel();
    } else if (!cancelled && Now() >= silent_at) {
      failure->code = absl::StatusCode::kUnavailable;
      failure->message =
          absl::StrCat("nothing came for ", absl::FormatDuration(options_.silence_max));
      context->TryCancel();
    }
    const gpr_timespec look = Within(std::min(kLook, options_.silence_max));
    if (queue->AsyncNext(&tag, &ok, look) != grpc::CompletionQueue::TIMEOUT) return ok;
  }
}

void Mirror::Hear(pb::WatchResponse* message, grpc::ClientContext* context, Failure* failure) {
  const absl::StatusOr<bool> complete = state_.Apply(message);
  if (!complete.ok()) {
    failure->code = complete.status().code();
    failure->message = std::string(complete.status().message());
    context->TryCancel();
    return;
  }
  if (!*complete) return;
  backoff_.Reset();
  const ViewChange change = state_.TakeChange();
  if (listener_.changed) listener_.changed(change);
  {
    MutexLock lock(&mutex_);
    view_ = change.after;
    heard_at_ = Now();
    status_.following = true;
  }
  changed_.SignalAll();
}

// Returns whether the mirror goes on.
bool Mirror::Register(grpc::ClientContext* context) {
  MutexLock lock(&mutex_);
  context_ = context;
  if (context != nullptr && !stopping_) ++status_.streams;
  return !stopping_;
}

// The same.
bool Mirror::Pause(absl::Duration pause) {
  const absl::Duration until = Now() + pause;
  MutexLock lock(&mutex_);
  while (!stopping_ && Now() < until) changed_.WaitFor(&mutex_, until - Now());
  return !stopping_;
}

}  // namespace berth::client
