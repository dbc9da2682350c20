// OpenCall: one call that is open on a connection with TLS. OpenCalls: all of them in this process.
//
// A certificate may end, or its identity may be denied, while a call is open: a stream for days, or
// a read that waits for a revision. The gate enters every call into OpenCalls before the handler
// begins, and gRPC takes it out when the call is over. Whoever finds that a caller may not be here
// any more ends the caller's calls, each in two steps:
//   1. The call is told why it must end. A stream then ends itself with this reason (OnEnding). A
//      command that waits in the ledger's queue is refused as not done (CancelledFlagOf).
//   2. A call that is still open half a second later is cancelled; its client gets the status, but
//      no ErrorInfo. Only a call that may have changed something is not cancelled: it is answered as
//      always.
//
// Thread-safe.
#ifndef BERTH_SERVICES_PROCESS_OPEN_CALLS_H_
#define BERTH_SERVICES_PROCESS_OPEN_CALLS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "services/process/caller.h"

struct grpc_call;

namespace grpc {
class AuthContext;
}  // namespace grpc

namespace berth::services {

class OpenCall {
 public:
  using Ender = std::function<void(const absl::Status& why)>;

  // The call whose handler this thread begins just now. Null: it begins none, or the connection of
  // the call has no TLS.
  static const std::shared_ptr<OpenCall>& Current();

  // `method`: "package.Service/Method"; it must live as long as the process.
  OpenCall(grpc_call* call, const std::string* method, Caller caller,
           std::shared_ptr<const grpc::AuthContext> connection);
  ~OpenCall();
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

  const std::string& method() const { return *method_; }
  const Caller& caller() const { return caller_; }
  const grpc::AuthContext* connection() const { return connection_.get(); }

  // OK, or why the call must end.
  absl::Status ending() const;

  // Calls `ender` once, when the call must end: from any thread, and at once if it must already.
  // `ender` must be safe to call until the call is over, and shortly after; it is destroyed before
  // gRPC lets the server end. Called once at most.
  void OnEnding(Ender ender);
  // To be called when what the call changes may have begun.
  void AnswerInAnyCase() { answered_in_any_case_.store(true); }

  // Makes the call end because of `why`. The first reason counts. Returns whether this is it.
  bool End(const absl::Status& why, placement::BootTime now);
  // Cancels the call if it had to end and is late at `now`.
  void CancelIfLate(placement::BootTime now);
  // To be called when the call is over. Destroys what was given to OnEnding.
  void Leave();

 private:
  friend std::shared_ptr<std::atomic<bool>> CancelledFlagOf(const std::shared_ptr<OpenCall>&);

  void Cancel(const absl::Status& why);

  grpc_call* const call_;  // this object has a reference to it
  const std::string* const method_;
  const Caller caller_;
  const std::shared_ptr<const grpc::AuthContext> connection_;
  std::atomic<bool> cancelled_{false};  // see CancelledFlagOf
  std::atomic<bool> answered_in_any_case_{false};

  mutable placement::Mutex mutex_;
  absl::Status ending_ ABSL_GUARDED_BY(mutex_);
  Ender ender_ ABSL_GUARDED_BY(mutex_);
  placement::BootTime late_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
};
using OpenCallPtr = std::shared_ptr<OpenCall>;

// A flag that is true as soon as `call` must end, and that the handler sets, too, when its client
// has gone. Null: a flag that only the handler sets.
std::shared_ptr<std::atomic<bool>> CancelledFlagOf(const OpenCallPtr& call);
// `status`, with which a call is about to end; or, if that is CANCELLED because `call`, which may be
// null, must end, the reason why it must.
absl::Status EndingOf(const OpenCallPtr& call, const absl::Status& status);

// Makes `call`, which may be null, the current one of this thread while this object lives.
class BeginningOfCall {
 public:
  explicit BeginningOfCall(OpenCallPtr call);
  ~BeginningOfCall();
  BeginningOfCall(const BeginningOfCall&) = delete;
  BeginningOfCall& operator=(const BeginningOfCall&) = delete;

 private:
  const OpenCallPtr outer_;  // null, unless gRPC begins a call while another one begins
};

class OpenCalls {
 public:
  // The reason why a call must end; OK: it need not.
  using Judge = std::function<absl::Status(const OpenCall&)>;
  // Called for each call that is ended.
  using Tell = std::function<void(const OpenCall&, const absl::Status& why)>;

  void Enter(const OpenCallPtr& call);
  void Leave(const OpenCallPtr& call);

  // Asks `judge` about every open call, and ends those that must end. Calls that were told earlier
  // and are late at `now` are cancelled.
  void EndWhere(const Judge& judge, const Tell& tell, placement::BootTime now);

  size_t size() const;

 private:
  std::vector<OpenCallPtr> All() const;

  mutable placement::Mutex mutex_;
  absl::flat_hash_set<OpenCallPtr> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_OPEN_CALLS_H_
