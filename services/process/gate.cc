#include "services/process/gate.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/impl/rpc_service_method.h"
#include "grpcpp/impl/service_type.h"
#include "grpcpp/security/auth_metadata_processor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/server_interceptor.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/check.h"
#include "placement/values/refusal.h"
#include "services/client/cpp/spiffe_id.h"
#include "services/process/open_connections.h"
#include "services/process/status.h"

namespace berth::services {

// gRPC has no way to put something before the handler of a method that can end the call with a
// status of its own: an interceptor can only cancel the call. So the handlers in the service are
// replaced. The list of a service's methods is private; the instantiation of a template may name a
// private member, and so gives the list to MethodsIn.
namespace {
using Methods = std::vector<std::unique_ptr<grpc::internal::RpcServiceMethod>>;
Methods& MethodsIn(grpc::Service* service);
template <Methods grpc::Service::*kMember>
struct MethodsMember {
  friend Methods& MethodsIn(grpc::Service* service) { return service->*kMember; }
};
template struct MethodsMember<&grpc::Service::methods_>;
}  // namespace

namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::internal::MethodHandler;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

constexpr char kTrackerPackage[] = "berth.tracker.";
constexpr char kTrackerDomain[] = "berth.tracker";
constexpr char kGuardedPackages[] = "/berth.";
constexpr char kHealth[] = "grpc.health.";  // guarded, too

// A stream that ends at once, before any message.
template <typename Stream>
class Ended final : public Stream {
 public:
  explicit Ended(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

// Lets `handler` handle `call`, whose request is still bytes.
void Run(MethodHandler* handler, RpcMethod::RpcType type,
         const MethodHandler::HandlerParameter& call) {
  // Only for methods with one request gRPC reads it before it runs the handler.
  if (type != RpcMethod::NORMAL_RPC && type != RpcMethod::SERVER_STREAMING) {
    return handler->RunHandler(call);
  }
  grpc::Status read;
  void* data = nullptr;
  void* const request = handler->Deserialize(
      call.call->call(), static_cast<grpc_byte_buffer*>(call.request), &read, &data);
  handler->RunHandler({call.call, call.server_context, request, read, data, call.call_requester});
}

// Ends a call of the kind that `Handler` handles with `status`.
template <typename Handler, typename Stream>
void EndWith(const grpc::Status& status, RpcMethod::RpcType type,
             const MethodHandler::HandlerParameter& call) {
  Handler handler([&status](auto...) { return new Ended<Stream>(status); });
  Run(&handler, type, call);
}

void Deny(const grpc::Status& status, RpcMethod::RpcType type,
          const MethodHandler::HandlerParameter& call) {
  using grpc::internal::CallbackBidiHandler;
  using grpc::internal::CallbackClientStreamingHandler;
  using grpc::internal::CallbackServerStreamingHandler;
  using grpc::internal::CallbackUnaryHandler;
  switch (type) {
    case RpcMethod::CLIENT_STREAMING:
      return EndWith<CallbackClientStreamingHandler<ByteBuffer, ByteBuffer>,
                     grpc::ServerReadReactor<ByteBuffer>>(status, type, call);
    case RpcMethod::SERVER_STREAMING:
      return EndWith<CallbackServerStreamingHandler<ByteBuffer, ByteBuffer>,
                     grpc::ServerWriteReactor<ByteBuffer>>(status, type, call);
    case RpcMethod::BIDI_STREAMING:
      return EndWith<CallbackBidiHandler<ByteBuffer, ByteBuffer>,
                     grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>>(status, type, call);
    default:
      return EndWith<CallbackUnaryHandler<ByteBuffer, ByteBuffer>, grpc::ServerUnaryReactor>(
          status, type, call);
  }
}

// Whether the connection has TLS. gRPC names how each connection is secured.
bool HasTls(const grpc::AuthContext* connection) {
  if (connection == nullptr) return false;
  const auto types = connection->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  return !types.empty() && types[0] != "insecure";
}

grpc::Status DenialOf(const absl::Status& status, const std::string& method) {
  if (!absl::StartsWith(method, kTrackerPackage)) return PlacementStatus(status);
  return WireStatus(status.code(), status.message(), kTrackerDomain, *placement::RefusalOf(status));
}

}  // namespace

std::string ActorOf(const Caller& caller) {
  return caller.identified() ? IdentityOf(caller) : "anonymous";
}

std::string ActorOf(const grpc::ServerContextBase& context) { return ActorOf(CallerOf(context)); }

// The handler that replaces the handler of a guarded method. The request stays bytes until the
// caller is known to be allowed.
class Gate::Handler final : public MethodHandler {
 public:
  Handler(Gate* gate, const MethodAccess* access, std::unique_ptr<RpcServiceMethod> guarded)
      : gate_(gate), access_(access), guarded_(std::move(guarded)) {}

  void RunHandler(const HandlerParameter& call) override {
    if (gate_->connections_ != nullptr) {
      gate_->connections_->NoteCall([&call] { return call.server_context->peer(); });
    }
    const auto connection = call.server_context->auth_context();
    const Caller caller = CallerOf(*call.server_context);
    // Entered before the check: whoever is denied from now on is found here or there.
    const OpenCallPtr open = caller.identified() ? Enter(call, caller, connection) : nullptr;
    const absl::Status status = gate_->Check(connection.get(), caller, *access_);
    const HandlerParameter entered = open == nullptr ? call : LeavesAtEnd(call, open);
    if (!status.ok()) {
      return Deny(DenialOf(status, access_->method), guarded_->method_type(), entered);
    }
    const BeginningOfCall beginning(open);
    Run(guarded_->handler(), guarded_->method_type(), entered);
  }

  // Keeps the bytes for RunHandler, which gRPC always calls next.
  void* Deserialize(grpc_call* /*call*/, grpc_byte_buffer* request, grpc::Status* /*status*/,
                    void** /*handler_data*/) override {
    return request;
  }

 private:
  OpenCallPtr Enter(const HandlerParameter& call, const Caller& caller,
                    const std::shared_ptr<const grpc::AuthContext>& connection) {
    auto open = std::make_shared<OpenCall>(call.call->call(), &access_->method, caller, connection);
    gate_->calls_->Enter(open);
    return open;
  }

  // `call`, which takes `open` out when it is over: gRPC then calls call_requester.
  HandlerParameter LeavesAtEnd(const HandlerParameter& call, const OpenCallPtr& open) {
    return {call.call,
            call.server_context,
            call.request,
            call.status,
            call.internal_data,
            [calls = gate_->calls_, open, next = call.call_requester] {
              calls->Leave(open);
              next();
            }};
  }

  Gate* const gate_;
  const MethodAccess* const access_;
  const std::unique_ptr<RpcServiceMethod> guarded_;
};

class Gate::AllCalls final : public grpc::AuthMetadataProcessor {
 public:
  explicit AllCalls(Gate* gate) : gate_(gate) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* connection,
                       OutputMetadata* /*consumed*/, OutputMetadata* /*answer*/) override {
    const auto path = metadata.find(":path");
    if (path == metadata.end()) return {grpc::StatusCode::INTERNAL, "the call has no path"};
    const absl::string_view method(path->second.data(), path->second.size());
    if (absl::StartsWith(method, kGuardedPackages)) return grpc::Status::OK;
    const MethodAccess* const access = gate_->table_.Find(method);
    if (access == nullptr) {
      return {grpc::StatusCode::UNIMPLEMENTED, "the server does not offer this method"};
    }
    const absl::Status status = gate_->Check(connection, CallerOn(*connection), *access);
    return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
  }

 private:
  Gate* const gate_;
};

// A call of a service that gRPC brings. Such a call passes no Handler, so this interceptor enters it
// when its metadata have come. gRPC destroys the interceptor when the call is over.
class Gate::ForeignCall final : public grpc::experimental::Interceptor {
 public:
  ForeignCall(Gate* gate, const MethodAccess* access, grpc::ServerContextBase* context)
      : gate_(gate), access_(access), context_(context) {}
  ~ForeignCall() override {
    if (open_ != nullptr) gate_->calls_->Leave(open_);
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    using grpc::experimental::InterceptionHookPoints;
    if (open_ == nullptr &&
        batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      Enter();
    }
    batch->Proceed();
  }

 private:
  void Enter() {
    const auto connection = context_->auth_context();
    const Caller caller = CallerOf(*context_);
    if (!caller.identified()) return;
    open_ = std::make_shared<OpenCall>(context_->c_call(), &access_->method, caller, connection);
    gate_->calls_->Enter(open_);
    // The Processor has asked before the call was entered.
    const absl::Status still = gate_->admission_->Check(caller, connection.get(), absl::Now());
    if (!still.ok()) open_->End(still, placement::BootNow());
  }

  Gate* const gate_;
  const MethodAccess* const access_;
  grpc::ServerContextBase* const context_;
  OpenCallPtr open_;
};

class Gate::ForeignCalls final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ForeignCalls(Gate* gate) : gate_(gate) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    const absl::string_view path = info->method();
    const MethodAccess* const access = gate_->table_.Find(path);
    if (absl::StartsWith(path, kGuardedPackages) || access == nullptr) return nullptr;
    const bool is_guarded = absl::StartsWith(access->method, kHealth);
    return is_guarded ? nullptr : new ForeignCall(gate_, access, info->server_context());
  }

 private:
  Gate* const gate_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Gate::Interceptors() {
  return std::make_unique<ForeignCalls>(this);
}

void Gate::Guard(grpc::Service* service) {
  for (std::unique_ptr<RpcServiceMethod>& method : MethodsIn(service)) {
    const MethodAccess* const access = table_.Find(method->name());
    BERTH_CHECK(access != nullptr);             // a new service that AccessTable does not know
    BERTH_CHECK(method->handler() != nullptr);  // an asynchronous method has no handler
    const char* const name = method->name();
    const RpcMethod::RpcType type = method->method_type();
    const RpcServiceMethod::ApiType api = method->api_type();
    auto handler = std::make_unique<Handler>(this, access, std::move(method));
    method = std::make_unique<RpcServiceMethod>(name, type, handler.release());
    method->SetServerApiType(api);
  }
}

std::shared_ptr<grpc::AuthMetadataProcessor> Gate::Processor() {
  return std::make_shared<AllCalls>(this);
}

absl::Status Gate::Check(const grpc::AuthContext* connection, const Caller& caller,
                         const MethodAccess& method) {
  if (!caller.identified()) {
    if (!HasTls(connection)) return absl::OkStatus();
    return Refused(caller, method,
                   placement::Refuse(absl::StatusCode::kUnauthenticated, "UNAUTHENTICATED",
                                     "the certificate names no identity: it needs exactly one "
                                     "URI, spiffe://DOMAIN/ROLE/NAME"));
  }
  absl::Status status = admission_->Check(caller, connection, absl::Now());
  if (status.ok()) status = method.Permit(RoleOf(caller.role));
  const bool is_limited = policy_ != nullptr && policy_->version() != 0;  // else builds no text
  if (status.ok() && is_limited && !absl::StartsWith(method.method, kHealth)) {
    status = policy_->CountCall(IdentityOf(caller), placement::BootNow());
  }
  if (status.ok()) return status;
  return Refused(caller, method, std::move(status));
}

absl::Status Gate::Refused(const Caller& caller, const MethodAccess& method, absl::Status why) {
  refusals_.Tell(ActorOf(caller), method.method, why);
  return why;
}

}  // namespace berth::services
