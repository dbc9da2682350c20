#include <memory>
#include <string>
#include <utility>

#include "berth/placement/v1/watch.grpc.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/server_callback.h"
#include "services/api/services.h"
#include "services/log/refusal_log.h"
#include "services/process/gate.h"
#include "services/process/open_calls.h"
#include "services/process/status.h"
#include "services/watch/hub.h"

namespace berth::services {
namespace {

using grpc::ByteBuffer;

// Returns a buffer with the bytes of `message`. The bytes are not copied: the buffer keeps the
// message alive.
ByteBuffer BufferOf(const WatchMessage& message) {
  auto* keep = new WatchMessage(message);
  const grpc::Slice slice(
      const_cast<char*>(message->data()), message->size(),
      [](void* kept) { delete static_cast<WatchMessage*>(kept); }, keep);
  return ByteBuffer(&slice, 1);
}

// If `status` refuses the caller (RefusesCaller), the log has it.
void TellRefusal(const std::string& caller, const absl::Status& status) {
  static auto& refusals = *new RefusalLog("a call was refused");
  if (RefusesCaller(status)) {
    refusals.Tell(caller, "berth.placement.v1.WatchService/Watch", status);
  }
}

// One gRPC stream of Watch. Owns itself: OnDone, the last call by gRPC, deletes it.
class WatchStream final : public grpc::ServerWriteReactor<ByteBuffer>, public WatchSink {
 public:
  WatchStream(WatchHub* hub, const std::string& owner)
      : hub_(hub), owner_(owner), watcher_(std::make_shared<Watcher>(this, WatchLimits(), owner)) {}

  void Open(const ByteBuffer& bytes) {
    pb::WatchRequest request;
    grpc::ProtoBufferReader reader(const_cast<ByteBuffer*>(&bytes));
    const bool parsed = reader.status().ok() && request.ParseFromZeroCopyStream(&reader);
    // Open may end the stream; the stream then deletes itself with its member watcher_. This copy
    // keeps the watcher alive.
    const WatcherPtr watcher = watcher_;
    if (call_ != nullptr) {
      call_->OnEnding([watcher](const absl::Status& why) { watcher->End(why); });
    }
    if (parsed) return hub_->Open(watcher, request);
    watcher->End(InvalidField("request", "cannot be read as a WatchRequest"));
  }

  void Send(const WatchMessage& message) override {
    buffer_ = BufferOf(message);
    StartWrite(&buffer_);
  }
  void Finish(const absl::Status& status) override {
    // Whoever made the call end has told it.
    const bool told = call_ != nullptr && !call_->ending().ok();
    if (!told) TellRefusal(owner_, status);
    ServerWriteReactor::Finish(PlacementStatus(status));
  }

  void OnWriteDone(bool ok) override {
    const WatcherPtr watcher = watcher_;
    watcher->Sent(ok);
    hub_->Continue(watcher);
  }
  void OnCancel() override { watcher_->End(absl::CancelledError("the watcher has gone")); }
  void OnDone() override {
    hub_->Closed(watcher_);
    delete this;
  }

 private:
  WatchHub* const hub_;
  const std::string owner_;
  const OpenCallPtr call_ = OpenCall::Current();  // null: the connection has no TLS
  const WatcherPtr watcher_;
  ByteBuffer buffer_;  // the bytes that are being sent
};

// Sends encoded messages. Watchers without a filter share the messages about changes.
class WatchService final
    : public pb::WatchService::WithRawCallbackMethod_Watch<pb::WatchService::Service> {
 public:
  explicit WatchService(WatchHub* hub) : hub_(hub) {}

  grpc::ServerWriteReactor<ByteBuffer>* Watch(grpc::CallbackServerContext* context,
                                              const ByteBuffer* request) override {
    auto* stream = new WatchStream(hub_, ActorOf(*context));
    stream->Open(*request);
    return stream;
  }

 private:
  WatchHub* const hub_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeWatchService(WatchHub* hub) {
  return std::make_unique<WatchService>(hub);
}

}  // namespace berth::services
