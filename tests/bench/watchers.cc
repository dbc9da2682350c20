#include "tests/bench/watchers.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/client_callback.h"

namespace berth::bench {
namespace {

using grpc::ByteBuffer;
using Stub = grpc::TemplatedGenericStub<ByteBuffer, ByteBuffer>;

constexpr char kMethod[] = "/berth.placement.v1.WatchService/Watch";

}  // namespace

class Watchers::Impl {
 public:
  explicit Impl(std::function<void(absl::string_view)> look) : look_(std::move(look)) {}

  void Open(const std::shared_ptr<grpc::Channel>& channel, const std::string& request) {
    streams_.push_back(std::make_unique<Stream>(this, channel));
    streams_.back()->Begin(request);
  }

  void EndAll() {
    for (const auto& stream : streams_) stream->Cancel();
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [this] { return open_ == 0; });
  }

  WatchCounts counts() {
    const std::lock_guard<std::mutex> lock(mutex_);
    WatchCounts counts;
    counts.messages = messages_;
    counts.bytes = bytes_;
    counts.ended = ended_count_;
    counts.first_end = first_end_;
    return counts;
  }

 private:
  class Stream final : public grpc::ClientBidiReactor<ByteBuffer, ByteBuffer> {
   public:
    Stream(Impl* impl, const std::shared_ptr<grpc::Channel>& channel)
        : impl_(impl), stub_(channel) {}

    void Begin(const std::string& request) {
      {
        const std::lock_guard<std::mutex> lock(impl_->mutex_);
        ++impl_->open_;
      }
      const grpc::Slice slice(request);
      request_ = ByteBuffer(&slice, 1);
      stub_.PrepareBidiStreamingCall(&context_, kMethod, {}, this);
      StartWriteLast(&request_, grpc::WriteOptions());
      StartRead(&message_);
      StartCall();
    }
    void Cancel() { context_.TryCancel(); }

    void OnReadDone(bool ok) override {
      if (!ok) return;
      ++impl_->messages_;
      impl_->bytes_ += static_cast<int64_t>(message_.Length());
      if (impl_->look_) Look();
      StartRead(&message_);
    }
    void OnDone(const grpc::Status& status) override {
      const std::lock_guard<std::mutex> lock(impl_->mutex_);
      if (status.error_code() != grpc::StatusCode::CANCELLED) {
        ++impl_->ended_count_;
        if (impl_->first_end_.empty()) impl_->first_end_ = status.error_message();
      }
      --impl_->open_;
      impl_->ended_.notify_all();
    }

   private:
    void Look() {
      std::vector<grpc::Slice> slices;
      std::string text;
      if (!message_.Dump(&slices).ok()) return;
      for (const grpc::Slice& slice : slices) {
        text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
      }
      impl_->look_(text);
    }

    Impl* const impl_;
    Stub stub_;
    grpc::ClientContext context_;
    ByteBuffer request_;
    ByteBuffer message_;
  };

  const std::function<void(absl::string_view)> look_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::atomic<int64_t> messages_{0};
  std::atomic<int64_t> bytes_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  int open_ = 0;
  int64_t ended_count_ = 0;
  std::string first_end_;
};

Watchers::Watchers(const std::string& address, int connections,
                   const std::vector<std::string>& requests,
                   std::function<void(absl::string_view)> look)
    : impl_(std::make_unique<Impl>(std::move(look))) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int c = 0; c < connections; ++c) {
    grpc::ChannelArguments arguments;
    arguments.SetInt("bench.connection", c);  // else all would share one
    channels.push_back(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    impl_->Open(channels[i % channels.size()], requests[i]);
  }
}

Watchers::~Watchers() { impl_->EndAll(); }

WatchCounts Watchers::counts() const { return impl_->counts(); }

}  // namespace berth::bench
