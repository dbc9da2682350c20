// Edge: the steps that all unary handlers share: check the request, convert it, read or write,
// convert the result, end the call.
//
// A handler gives Edge its converters. Edge checks the parts that all requests have, submits a
// write to the ledger or reads the state, and counts and logs the call. It never blocks the
// handler's thread: writes are answered on the ledger's answering thread, expensive reads on a
// worker. Thread-safe; must outlive the server.
#ifndef BERTH_SERVICES_API_EDGE_H_
#define BERTH_SERVICES_API_EDGE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "berth/placement/v1/revision.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/fair_queue.h"
#include "placement/ledger/ledger.h"
#include "services/access/policy.h"
#include "services/log/log.h"
#include "services/process/caller.h"
#include "services/process/metrics.h"
#include "services/process/open_calls.h"
#include "services/process/workers.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

enum class AccessLog { kNone, kFailures, kAll };

// Counts and logs calls when they end. Finds the method by the type of the request. Of the failures
// of one method that one caller has in a second, the log gets one line, with the number of those
// that were left out before it: a caller that fails all the time does not fill the log. Failures
// that refuse the caller (RefusesCaller) get one line for each reason instead, also with
// AccessLog::kNone. With AccessLog::kAll each call gets a line.
class CallRecorder {
 public:
  CallRecorder(Metrics* metrics, AccessLog access_log);
  // Returns the method whose request type is the type of `request`, as "package.Service/Method".
  // Returns an empty text if no method has this request type.
  const std::string& MethodOf(const google::protobuf::Message& request) const;
  // The same method in the form that the log has; null if no method has this request type.
  std::shared_ptr<const std::string> LoggedMethodOf(const google::protobuf::Message& request) const;
  // Records a call that began at `begun` and ends with `status`. Returns the status for the caller.
  // `told`: whoever made the call end because of its caller has told the log, so that the call gets no
  // line for a refusal.
  grpc::Status End(const google::protobuf::Message& request, const Context& context,
                   const absl::Status& status, placement::BootTime begun, bool told = false) const;

 private:
  struct Method {
    std::string name;
    Metrics::Method* metrics;
    std::shared_ptr<const std::string> logged;
  };

  void LogCall(const Method& method, const google::protobuf::Message& request,
               const Context& context, const absl::Status& status, const grpc::Status& wire,
               absl::Duration duration, bool refuses) const;

  const AccessLog access_log_;
  mutable LinePace failures_{absl::Seconds(1)};  // by caller and method
  mutable LinePace refusals_{absl::Seconds(1)};  // by caller and reason
  absl::flat_hash_map<const google::protobuf::Descriptor*, Method> methods_;
};

// A unary call that is not answered yet. Owns itself: OnDone, the last call by gRPC, deletes it.
class UnaryCall : public Reactor {
 public:
  UnaryCall(const CallRecorder* recorder, Context* context,
            const google::protobuf::Message* request);

  // The caller. The gate has already read the certificate, so this is cheaper than CallerOf.
  Caller caller() const { return open_ == nullptr ? CallerOf(*context_) : open_->caller(); }
  // The identity of the caller, as ActorOf says.
  std::string owner() const;
  // The caller's deadline, at most a minute after the begin of the call.
  placement::BootTime deadline() const { return deadline_; }
  // Returns OK if the caller still waits for the answer; otherwise the status with which the call
  // should end. Work that has waited in a queue checks this before it begins.
  absl::Status Listens() const;
  const std::shared_ptr<std::atomic<bool>>& cancelled() const { return cancelled_; }
  // To be called when what the call changes may have begun.
  void AnswerInAnyCase() {
    if (open_ != nullptr) open_->AnswerInAnyCase();
  }
  // Tells the caller, beside the status, the revision at which its write was refused. To be called
  // before End.
  void TellRevision(const placement::Revision& revision);
  // Ends the call with `status`. Called once, from any thread. If the call was cancelled because the
  // caller may not be here any more, ends it with this reason.
  void End(const absl::Status& status);

  void OnCancel() override { cancelled_->store(true); }
  void OnDone() override { delete this; }

 private:
  const CallRecorder* const recorder_;
  Context* const context_;
  const google::protobuf::Message* const request_;
  const placement::BootTime begun_ = placement::BootNow();
  const placement::BootTime deadline_;
  const OpenCallPtr open_ = OpenCall::Current();  // null: the connection has no TLS
  const std::shared_ptr<std::atomic<bool>> cancelled_ = CancelledFlagOf(open_);
};

template <typename Request>
using Convert = std::function<absl::StatusOr<placement::CommandBody>(const Request&)>;
template <typename Response>
using Fill = std::function<void(const WriteAnswer&, Response*)>;

template <typename Request, typename Response>
using Answer = std::function<absl::Status(const placement::State&, const Request&, Response*)>;

enum class Cost {
  kLight,  // well below 50 us: answered on gRPC's own thread
  kHeavy,  // searches, long lists: answered on a worker
  kAudit,  // heavy, and less urgent than other reads (Priority::kBulk)
};

class Edge {
 public:
  // `workers` run searches and lists. `database_worker` runs work that waits for the database; a
  // search never waits for this work. `policy` says for which projects a caller may write; null: for
  // all.
  Edge(placement::Ledger* ledger, Workers* workers, Workers* database_worker, Metrics* metrics,
       AccessLog access_log, const AccessPolicy* policy = nullptr)
      : ledger_(ledger),
        workers_(workers),
        database_worker_(database_worker),
        recorder_(metrics, access_log),
        policy_(policy) {}

  placement::Ledger* ledger() const { return ledger_; }
  Workers* workers() const { return workers_; }
  Workers* database_worker() const { return database_worker_; }
  const CallRecorder& recorder() const { return recorder_; }

  UnaryCall* Begin(Context* context, const google::protobuf::Message* request) {
    return new UnaryCall(&recorder_, context, request);
  }

  // Ends a call before its handler returns. This is cheaper than ending the call later, because
  // gRPC wakes no thread for it.
  Reactor* EndAtOnce(Context* context, const google::protobuf::Message& request,
                     placement::BootTime begun, const absl::Status& status) const;

  // Handles a write. `convert` makes the command or refuses the request; `fill` makes the reply
  // from the command's result.
  template <typename Request, typename Response>
  Reactor* Write(Context* context, const Request* request, Response* response,
                 const std::type_identity_t<Convert<Request>>& convert,
                 std::type_identity_t<Fill<Response>> fill = nullptr) {
    UnaryCall* const call = Begin(context, request);
    absl::StatusOr<placement::Command> command =
        CommandFor(*call, *request, [&] { return convert(*request); });
    if (!command.ok()) {
      call->End(command.status());
      return call;
    }
    Submit(*std::move(command), call,
           [response, fill = std::move(fill)](const WriteAnswer& answer) {
             SetRevision(answer.decision.revision, response->mutable_revision());
             if (fill) fill(answer, response);
           });
    return call;
  }

  // Handles a read. `answer` fills the reply from one state, or refuses the request. Edge sets the
  // reply's revision before it calls `answer`.
  template <typename Request, typename Response>
  Reactor* Read(Context* context, const Request* request, Response* response, Cost cost,
                std::type_identity_t<Answer<Request, Response>> answer) {
    UnaryCall* const call = Begin(context, request);
    WithState(call, *request,
              request->has_minimum_revision() ? &request->minimum_revision() : nullptr, cost,
              [request, response, answer = std::move(answer)](const placement::State& state) {
                SetRevision(state.position().revision, response->mutable_revision());
                return answer(state, *request, response);
              });
    return call;
  }

  // Submits `command` and ends `call` with the decision. If the command succeeded, calls `fill`
  // first. If the command was refused and `refused` is given, calls `refused`; if `refused` returns
  // true, then `refused` ends the call, now or later, and Submit does not.
  void Submit(placement::Command command, UnaryCall* call,
              std::function<void(const WriteAnswer&)> fill,
              std::function<bool(const absl::Status&)> refused = nullptr);
  // Waits for a state at revision `minimum` or later (null: any state is new enough). If the request
  // asks for a later page of a list, the state is also at the revision of the first page or later.
  // Then calls `answer`, and ends `call` with the status that `answer` returns.
  void WithState(UnaryCall* call, const google::protobuf::Message& request,
                 const pb::Revision* minimum, Cost cost,
                 std::function<absl::Status(const placement::State&)> answer);
  // Runs `work` on a worker, in the turn of the caller. If the queue is full, and at the caller's
  // expense (Workers::Submit), ends `call` with OVERLOADED instead, now or later.
  void OnWorker(UnaryCall* call, placement::Priority priority, std::function<void()> work);
  // Like OnWorker, for `worker`, whose work waits for the database. If the work is refused, calls
  // `refused` before the call ends; null: calls nothing.
  void On(Workers* worker, UnaryCall* call, placement::Priority priority,
          std::function<void()> work, const std::function<void()>& refused = nullptr);

  // Checks that the caller may send such a request, then its texts and its request id. Makes a
  // command with the caller as its actor, with this request id, and with the caller's projects. The
  // command of a tracker with a certificate says so (TrackerProcess::identified).
  absl::StatusOr<placement::Command> CommandFor(
      const UnaryCall& call, const google::protobuf::Message& request,
      absl::FunctionRef<absl::StatusOr<placement::CommandBody>()> convert) const;

 private:
  placement::Ledger* const ledger_;
  Workers* const workers_;
  Workers* const database_worker_;
  const CallRecorder recorder_;
  const AccessPolicy* const policy_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_EDGE_H_
