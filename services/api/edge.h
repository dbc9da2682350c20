// Edge: what every handler stands on: reads and writes as four beats, in one place.
//
// A handler names its converters; Edge checks what all requests share, delegates to the ledger or
// the state, converts back, counts and logs. A handler's thread never blocks: writes are answered
// from the ledger's answering thread, heavy reads from a worker. Thread-safe; must outlive the
// server.
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
#include "absl/time/clock.h"
#include "berth/placement/v1/revision.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "placement/ledger/ledger.h"
#include "services/process/metrics.h"
#include "services/process/workers.h"
#include "services/wire/form.h"
#include "services/wire/write_answer.h"

namespace berth::services {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

enum class AccessLog { kNone, kFailures, kAll };

// Counts and logs calls as they end. Methods are known by the type of their request.
class CallRecorder {
 public:
  CallRecorder(Metrics* metrics, AccessLog access_log);
  // The method of `request`, as "package.Service/Method"; empty: none.
  const std::string& MethodOf(const google::protobuf::Message& request) const;
  // Records a call that began at `begun` as it ends with `status`; what its caller gets.
  grpc::Status End(const google::protobuf::Message& request, const Context& context,
                   const absl::Status& status, absl::Time begun) const;

 private:
  void Record(const google::protobuf::Message& request, const std::string& peer,
              const grpc::Status& status, absl::Duration duration) const;
  bool WantsPeer(const grpc::Status& status) const;

  struct Method {
    std::string name;
    Metrics::Method* metrics;
  };
  const AccessLog access_log_;
  absl::flat_hash_map<const google::protobuf::Descriptor*, Method> methods_;
};

// One unary call in flight. Owns itself; gone when gRPC is done with it.
class UnaryCall : public Reactor {
 public:
  UnaryCall(const CallRecorder* recorder, Context* context,
            const google::protobuf::Message* request)
      : recorder_(recorder), context_(context), request_(request) {}

  // When the caller stops listening; a minute at the most.
  absl::Time deadline() const;
  // OK while somebody waits for the answer, else what to end with: work that was queued asks first.
  absl::Status Listens() const;
  const std::shared_ptr<std::atomic<bool>>& cancelled() const { return cancelled_; }
  // Answers. Called once, from any thread.
  void End(const absl::Status& status);

  void OnCancel() override { cancelled_->store(true); }
  void OnDone() override { delete this; }

 private:
  const CallRecorder* const recorder_;
  Context* const context_;
  const google::protobuf::Message* const request_;
  const absl::Time begun_ = absl::Now();
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
};

template <typename Request>
using Convert = std::function<absl::StatusOr<placement::CommandBody>(const Request&)>;
template <typename Response>
using Fill = std::function<void(const WriteAnswer&, Response*)>;

template <typename Request, typename Response>
using Answer = std::function<absl::Status(const placement::State&, const Request&, Response*)>;

enum class Cost {
  kLight,  // well below 50 us: answered on gRPC's own thread
  kHeavy,  // searches, long lists: a worker's
};

class Edge {
 public:
  Edge(placement::Ledger* ledger, Workers* workers, Metrics* metrics, AccessLog access_log)
      : ledger_(ledger), workers_(workers), recorder_(metrics, access_log) {}

  placement::Ledger* ledger() const { return ledger_; }
  Workers* workers() const { return workers_; }
  const CallRecorder& recorder() const { return recorder_; }

  UnaryCall* Begin(Context* context, const google::protobuf::Message* request) {
    return new UnaryCall(&recorder_, context, request);
  }

  // A call that its handler answers before it returns: gRPC then wakes no thread to be done with it.
  Reactor* EndAtOnce(Context* context, const google::protobuf::Message& request, absl::Time begun,
                     const absl::Status& status) const;

  // A write: `convert` makes the command or refuses, `fill` the reply from what it did.
  template <typename Request, typename Response>
  Reactor* Write(Context* context, const Request* request, Response* response,
                 const std::type_identity_t<Convert<Request>>& convert,
                 std::type_identity_t<Fill<Response>> fill = nullptr) {
    UnaryCall* const call = Begin(context, request);
    absl::StatusOr<placement::Command> command =
        CommandFor(*request, [&] { return convert(*request); });
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

  // A read: `answer` fills the reply from one state, or refuses. The revision is set before.
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

  // Queues `command` and ends `call` with its decision, after `fill` for a success. A refusal goes
  // to `refused` first, where given: true says that it ends the call itself.
  void Submit(placement::Command command, UnaryCall* call,
              std::function<void(const WriteAnswer&)> fill,
              std::function<bool(const absl::Status&)> refused = nullptr);
  // Runs `answer` once there is a state of at least `minimum` (null: any), and ends `call`.
  void WithState(UnaryCall* call, const google::protobuf::Message& request,
                 const pb::Revision* minimum, Cost cost,
                 std::function<absl::Status(const placement::State&)> answer);
  // Runs `work` on a worker; else ends `call` with OVERLOADED and returns false.
  bool OnWorker(UnaryCall* call, std::function<void()> work);

  // The command of `request`, with who asks and under which id. Checks the text first.
  absl::StatusOr<placement::Command> CommandFor(
      const google::protobuf::Message& request,
      absl::FunctionRef<absl::StatusOr<placement::CommandBody>()> convert) const;

 private:
  placement::Ledger* const ledger_;
  Workers* const workers_;
  const CallRecorder recorder_;
};

// Who asks: nobody has to prove it yet.
inline constexpr char kAnonymous[] = "anonymous";

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_EDGE_H_
