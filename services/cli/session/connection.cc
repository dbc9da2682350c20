#include "services/cli/session/connection.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/byte_buffer.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"
#include "placement/ground/status_macros.h"
#include "services/cli/session/failure.h"
#include "services/client/cpp/own_certificate.h"
#include "services/client/cpp/spiffe_id.h"
#include "services/process/caller.h"
#include "services/process/version.h"
#include "services/tls/grpc_log.h"

namespace berth::cli {
namespace {

constexpr int kAnswerBytesMax = 64 << 20;
constexpr absl::Duration kCertificateStep = absl::Seconds(1);
constexpr absl::Duration kLook =
    absl::Milliseconds(50);  // time between two checks for an interrupt

std::atomic<int> interrupts{0};

void OnInterrupt(int number) {
  if (interrupts.fetch_add(1) > 0) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Text(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!bytes.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

absl::Status Interrupted() {
  return Refused(absl::StatusCode::kCancelled, kInterrupted, "interrupted");
}

absl::Status StatusOf(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return WithDetails(
      absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()),
      status.error_details());
}

// The roles of the servers that serve `method`. Trackers and placement serve health and reflection.
std::vector<std::string> RolesFor(const std::string& method) {
  if (absl::StartsWith(method, "/berth.tracker.")) return {client::kTrackerRole};
  if (absl::StartsWith(method, "/berth.")) return {client::kPlacementRole};
  return {client::kPlacementRole, client::kTrackerRole};
}

// Keeps why the last TLS handshake failed. Thread-safe.
class HandshakeFailure {
 public:
  void Tell(const std::string& text) {
    placement::MutexLock lock(&mutex_);
    // Our own check says more than gRPC's log line about it.
    if (text_.empty() || absl::StartsWith(text, "refused")) text_ = text;
  }
  std::string text() {
    placement::MutexLock lock(&mutex_);
    return text_;
  }

 private:
  placement::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void CatchInterrupts() {
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
}

class Connection::Impl {
 public:
  Impl(const std::string& server, const client::TlsSettings& settings)
      : endpoint(server), tls_settings(settings) {}

  // Makes `channel` and `stub` those for calls of `method`.
  absl::Status Use(const std::string& method) {
    const std::vector<std::string> roles = RolesFor(method);
    const bool fits = !tls || (roles == roles_used && tls->renewals() == renewals_used);
    if (channel != nullptr && fits) return absl::OkStatus();
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
    if (tls_settings.given()) {
      BERTH_RETURN_IF_ERROR(OpenTls());
      renewals_used = tls->renewals();
      credentials = tls->ForChannel(roles);
    }
    grpc::ChannelArguments arguments;
    arguments.SetUserAgentPrefix(absl::StrCat("berth/", services::kVersion));
    arguments.SetMaxReceiveMessageSize(kAnswerBytesMax);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    channel = grpc::CreateCustomChannel(endpoint, credentials, arguments);
    stub = std::make_unique<grpc::GenericStub>(channel);
    roles_used = roles;
    return absl::OkStatus();
  }

  absl::Status OpenTls() {
    if (tls) return absl::OkStatus();
    client::CertificateUse use;
    use.client = true;
    const client::OwnCertificate::Tell tell = [told = failure](bool wrong,
                                                               const std::string& text) {
      if (wrong) told->Tell(text);
    };
    services::PassOnGrpcLog(tell);
    BERTH_ASSIGN_OR_RETURN(tls, client::OwnCertificate::Open(tls_settings, use, tell));
    next_look = placement::BootNow() + kCertificateStep;
    return absl::OkStatus();
  }

  // A command may run for days, longer than a certificate is valid.
  void LookAtCertificates() {
    if (!tls || placement::BootNow() < next_look) return;
    tls->Look();
    next_look = placement::BootNow() + kCertificateStep;
  }

  std::string WhyNot() {
    const std::string why = failure->text();
    return why.empty() ? absl::StrCat("no server answers at ", endpoint)
                       : absl::StrCat("no connection to the server at ", endpoint, ": ", why);
  }

  ~Impl() {
    queue.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
    }
  }

  // Waits for the operation in progress, and calls the tick function meanwhile. If an interrupt
  // comes, cancels the call and goes on waiting. Returns whether the operation succeeded.
  bool Wait(grpc::ClientContext* context, const std::function<void()>& tick) {
    void* tag = nullptr;
    bool ok = false;
    bool cancelled = false;
    while (true) {
      const auto until = services::Within(kLook);
      if (queue.AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::TIMEOUT) return ok;
      if (tick) tick();
      LookAtCertificates();
      if (interrupts > 0 && !cancelled) {
        context->TryCancel();
        cancelled = true;
      }
    }
  }

  const std::string endpoint;
  const client::TlsSettings tls_settings;
  const std::shared_ptr<HandshakeFailure> failure = std::make_shared<HandshakeFailure>();
  std::optional<client::OwnCertificate> tls;  // absent: not opened yet, or no TLS
  placement::BootTime next_look;
  // What `channel` was made for.
  std::vector<std::string> roles_used;
  int64_t renewals_used = 0;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
  grpc::CompletionQueue queue;
};

Connection::Connection(const std::string& endpoint, const client::TlsSettings& tls)
    : endpoint_(endpoint), impl_(std::make_unique<Impl>(endpoint, tls)) {}
Connection::~Connection() = default;

absl::Status Connection::Connect(const std::string& method, absl::Duration timeout) {
  impl_->LookAtCertificates();
  BERTH_RETURN_IF_ERROR(impl_->Use(method));
  const placement::BootTime deadline = placement::BootNow() + timeout;
  grpc_connectivity_state state = impl_->channel->GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY) {
    if (interrupts > 0) return Interrupted();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || placement::BootNow() >= deadline) {
      return Refused(absl::StatusCode::kUnavailable, kUnreachable, impl_->WhyNot(),
                     {{{"endpoint", endpoint_}}});
    }
    const absl::Duration look = std::min(deadline - placement::BootNow(), kLook);
    impl_->channel->WaitForStateChange(state, services::Within(look));
    state = impl_->channel->GetState(/*try_to_connect=*/true);
  }
  return absl::OkStatus();
}

bool Connection::TakeRenewal() {
  if (!impl_->tls) return false;
  impl_->tls->Look();
  return impl_->tls->renewals() != impl_->renewals_used;
}

absl::StatusOr<std::string> Connection::Call(const std::string& method, const std::string& request,
                                             absl::Duration timeout) {
  BERTH_RETURN_IF_ERROR(Connect(method, timeout));
  grpc::ClientContext context;
  context.set_deadline(services::Within(timeout));
  const auto call = impl_->stub->PrepareUnaryCall(&context, method, Bytes(request), &impl_->queue);
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->StartCall();
  call->Finish(&answer, &status, this);
  impl_->Wait(&context, tick_);
  if (interrupts > 0) return Interrupted();
  if (!status.ok()) return StatusOf(status);
  return Text(answer);
}

absl::Status Connection::Stream(const std::string& method, const std::vector<std::string>& requests,
                                std::optional<absl::Duration> timeout,
                                const std::function<absl::Status(const std::string&)>& receive,
                                const std::function<void(size_t)>& sent) {
  BERTH_RETURN_IF_ERROR(Connect(method, timeout.value_or(absl::Seconds(10))));
  grpc::ClientContext context;
  if (timeout) context.set_deadline(services::Within(*timeout));
  const auto call = impl_->stub->PrepareCall(&context, method, &impl_->queue);
  call->StartCall(this);
  bool writing = impl_->Wait(&context, tick_);
  for (size_t i = 0; writing && i < requests.size(); ++i) {
    call->Write(Bytes(requests[i]), this);
    writing = impl_->Wait(&context, tick_);
    if (sent) sent(i + 1);
  }
  if (writing) {
    call->WritesDone(this);
    impl_->Wait(&context, tick_);
  }
  absl::Status received = absl::OkStatus();
  grpc::ByteBuffer answer;
  for (bool reading = true; reading && received.ok();) {
    call->Read(&answer, this);
    reading = impl_->Wait(&context, tick_);
    if (reading) received = receive(Text(answer));
    if (!received.ok()) context.TryCancel();
  }
  grpc::Status status;
  call->Finish(&status, this);
  impl_->Wait(&context, tick_);
  if (!received.ok()) return received;
  return interrupts > 0 ? Interrupted() : StatusOf(status);
}

}  // namespace berth::cli
