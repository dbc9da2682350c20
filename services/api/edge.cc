#include "services/api/edge.h"

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/allocation.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "services/access/table.h"
#include "services/api/kept_reply.h"
#include "services/api/page.h"
#include "services/log/log.h"
#include "services/log/refusal_log.h"
#include "services/process/caller.h"
#include "services/process/digest.h"
#include "services/process/gate.h"
#include "services/process/status.h"
#include "services/wire/instance.h"

namespace berth::services {
namespace {

using google::protobuf::Message;

constexpr absl::Duration kDeadlineMax = absl::Minutes(1);
constexpr absl::Duration kOverloadedRetry = absl::Milliseconds(50);
constexpr absl::Duration kDatabaseRetry = absl::Seconds(1);

std::string RequestIdOf(const Message& request) {
  const auto* field = request.GetDescriptor()->FindFieldByName("request_id");
  return field == nullptr ? "" : request.GetReflection()->GetString(request, field);
}

// Checks what the role of `caller` may put into the request of `method`.
absl::Status PermitRequest(const Caller& caller, const std::string* method,
                           const Message& request) {
  if (!caller.identified() || method == nullptr) return absl::OkStatus();
  const MethodAccess* const access = AccessTable::Get().Find(*method);
  if (access == nullptr) return absl::OkStatus();
  return access->PermitRequest(RoleOf(caller.role), caller.name, request);
}

absl::Status TooManyCalls() {
  return placement::Refuse(absl::StatusCode::kUnavailable, "OVERLOADED",
                           "too many calls are waiting: nothing was done, try again", {},
                           kOverloadedRetry);
}

absl::Status TooManyDatabaseCalls() {
  return placement::Refuse(absl::StatusCode::kUnavailable, "OVERLOADED",
                           "too many calls wait for the database: nothing was done", {},
                           kDatabaseRetry);
}

// The reason that the caller is told; empty if the call succeeded.
std::string ReasonTold(const grpc::Status& wire) {
  google::rpc::Status error;
  google::rpc::ErrorInfo info;
  const bool has_info = error.ParseFromString(wire.error_details()) && error.details_size() > 0 &&
                        error.details(0).UnpackTo(&info);
  return has_info ? info.reason() : "";
}

}  // namespace

CallRecorder::CallRecorder(Metrics* metrics, AccessLog access_log) : access_log_(access_log) {
  // This pool has the descriptors of all services. The request type identifies the method, because
  // no two methods have the same request type.
  const auto* pool = pb::SetAllocationsRequest::descriptor()->file()->pool();
  for (const char* file :
       {"allocation", "association", "audit", "candidate", "catalog", "consumer", "fleet", "host",
        "instance", "inventory", "ledger", "provider", "reshape", "usage"}) {
    const auto* described =
        pool->FindFileByName(absl::StrCat("berth/placement/v1/", file, ".proto"));
    for (int s = 0; described != nullptr && s < described->service_count(); ++s) {
      const auto* service = described->service(s);
      for (int m = 0; m < service->method_count(); ++m) {
        const auto* method = service->method(m);
        const std::string name = absl::StrCat(service->full_name(), "/", method->name());
        methods_[method->input_type()] = {
            name, metrics->ForMethod(name),
            std::make_shared<const std::string>(absl::StrCat("/", name))};
      }
    }
  }
}

const std::string& CallRecorder::MethodOf(const Message& request) const {
  static const auto* const none = new std::string();
  const auto method = methods_.find(request.GetDescriptor());
  return method == methods_.end() ? *none : method->second.name;
}

std::shared_ptr<const std::string> CallRecorder::LoggedMethodOf(const Message& request) const {
  const auto method = methods_.find(request.GetDescriptor());
  return method == methods_.end() ? nullptr : method->second.logged;
}

void CallRecorder::LogCall(const Method& method, const Message& request, const Context& context,
                           const absl::Status& status, const grpc::Status& wire,
                           absl::Duration duration, bool refuses) const {
  const bool is_wanted = access_log_ == AccessLog::kAll || refuses ||
                         (access_log_ == AccessLog::kFailures && !wire.ok());
  if (!is_wanted) return;
  const std::string caller = ActorOf(context);
  int64_t omitted = 0;
  if (access_log_ != AccessLog::kAll) {
    LinePace& pace = refuses ? refusals_ : failures_;
    const std::string key = absl::StrCat(caller, " ", refuses ? ReasonIn(status) : method.name);
    if (!pace.Lets(key, placement::BootNow(), &omitted)) return;
  }
  Log(refuses ? LogLevel::kWarning : LogLevel::kInfo, wire.ok() ? "call" : wire.error_message(),
      {{"request_id", RequestIdOf(request)},
       {"peer", context.peer()},
       {"caller", caller},
       {"method", method.name},
       {"code", static_cast<int64_t>(wire.error_code())},
       {"reason", ReasonTold(wire)},
       {"duration_ms", absl::ToDoubleMilliseconds(duration)},
       {"omitted", omitted}});
}

UnaryCall::UnaryCall(const CallRecorder* recorder, Context* context, const Message* request)
    : recorder_(recorder),
      context_(context),
      request_(request),
      deadline_(begun_ + TimeLeft(*context, kDeadlineMax)) {}

std::string UnaryCall::owner() const { return ActorOf(caller()); }

absl::Status UnaryCall::Listens() const {
  if (cancelled_->load()) return absl::CancelledError("the caller has gone");
  if (placement::BootNow() < deadline()) return absl::OkStatus();
  return absl::DeadlineExceededError("the deadline passed before the call was begun");
}

grpc::Status CallRecorder::End(const Message& request, const Context& context,
                               const absl::Status& status, placement::BootTime begun,
                               bool told) const {
  const grpc::Status wire = PlacementStatus(status);
  const auto method = methods_.find(request.GetDescriptor());
  if (method == methods_.end()) return wire;
  const absl::Duration duration = placement::BootNow() - begun;
  method->second.metrics->Record(wire.error_code(), duration);
  LogCall(method->second, request, context, status, wire, duration, !told && RefusesCaller(status));
  return wire;
}

void UnaryCall::TellRevision(const placement::Revision& revision) {
  // The ledger has no revision for what no rule has decided.
  if (revision == placement::Revision()) return;
  context_->AddTrailingMetadata("berth-revision",
                                absl::StrCat(revision.epoch, ":", revision.number));
}

void UnaryCall::End(const absl::Status& status) {
  const absl::Status ending = EndingOf(open_, status);
  Finish(recorder_->End(*request_, *context_, ending, begun_, ending != status));
}

Reactor* Edge::EndAtOnce(Context* context, const Message& request, placement::BootTime begun,
                         const absl::Status& status) const {
  Reactor* const reactor = context->DefaultReactor();
  reactor->Finish(recorder_.End(request, *context, status, begun));
  return reactor;
}

absl::StatusOr<placement::Command> Edge::CommandFor(
    const UnaryCall& call, const Message& request,
    absl::FunctionRef<absl::StatusOr<placement::CommandBody>()> convert) const {
  const Caller caller = call.caller();
  placement::Command command;
  command.actor = ActorOf(caller);
  command.method = recorder_.LoggedMethodOf(request);
  BERTH_RETURN_IF_ERROR(PermitRequest(caller, command.method.get(), request));
  command.request_id = RequestIdOf(request);
  BERTH_RETURN_IF_ERROR(CheckText(request));
  BERTH_RETURN_IF_ERROR(CheckRequestId(command.request_id));
  BERTH_ASSIGN_OR_RETURN(command.body, convert());
  if (RoleOf(caller.role) == access::v1::ROLE_TRACKER) SetIdentified(&command.body);
  if (policy_ != nullptr) command.projects = policy_->ProjectsOf(command.actor);
  if (!command.request_id.empty()) {
    // A tracker that was restarted may repeat what its old process has sent.
    command.body_hash = MessageDigest(request, {"request_id", "tracker"});
    command.asked = AskedBy(request, recorder_.MethodOf(request));
  }
  return command;
}

void Edge::Submit(placement::Command command, UnaryCall* call,
                  std::function<void(const WriteAnswer&)> fill,
                  std::function<bool(const absl::Status&)> refused) {
  placement::Ledger* const ledger = ledger_;
  call->AnswerInAnyCase();
  ledger_->Submit(std::move(command), call->deadline(), call->cancelled(),
                  [ledger, call, fill = std::move(fill),
                   refused = std::move(refused)](const placement::Decision& decision) {
                    if (decision.status.ok()) {
                      placement::StatePtr state = ledger->Recent(decision.revision);
                      if (state == nullptr) state = ledger->Newest();
                      fill(WriteAnswer{decision, *state, state->catalog()});
                    } else {
                      call->TellRevision(decision.revision);
                      if (refused && refused(decision.status)) return;
                    }
                    call->End(decision.status);
                  });
}

void Edge::WithState(UnaryCall* call, const Message& request, const pb::Revision* minimum,
                     Cost cost, std::function<absl::Status(const placement::State&)> answer) {
  if (absl::Status status = CheckText(request); !status.ok()) return call->End(status);
  auto with_state = [this, call, cost,
                     answer = std::move(answer)](absl::StatusOr<placement::StatePtr> state) {
    if (!state.ok()) return call->End(state.status());
    if (cost == Cost::kLight) return call->End(answer(**state));
    const auto priority =
        cost == Cost::kAudit ? placement::Priority::kBulk : placement::Priority::kReads;
    OnWorker(call, priority, [call, answer, state = *std::move(state)] {
      if (absl::Status gone = call->Listens(); !gone.ok()) return call->End(gone);
      call->End(answer(*state));
    });
  };
  std::optional<placement::Revision> least = Page::FirstRevision(request);
  if (minimum != nullptr && (!least || *least < RevisionOf(*minimum))) least = RevisionOf(*minimum);
  if (!least) return with_state(ledger_->Fresh());
  ledger_->AwaitRevision(*least, call->deadline(), {call->owner(), call->cancelled()},
                         std::move(with_state));
}

void Edge::OnWorker(UnaryCall* call, placement::Priority priority, std::function<void()> work) {
  const bool taken = workers_->Submit({call->owner(), priority}, std::move(work),
                                      [call] { call->End(TooManyCalls()); });
  if (!taken) call->End(TooManyCalls());
}

void Edge::On(Workers* worker, UnaryCall* call, placement::Priority priority,
              std::function<void()> work, const std::function<void()>& refused) {
  const auto refuse = [call, refused] {
    if (refused) refused();
    call->End(TooManyDatabaseCalls());
  };
  if (!worker->Submit({call->owner(), priority}, std::move(work), refuse)) refuse();
}

}  // namespace berth::services
