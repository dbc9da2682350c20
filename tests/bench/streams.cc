#include "tests/bench/streams.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/client_callback.h"
#include "tests/bench/credentials.h"

namespace berth::bench {
namespace {

using grpc::ByteBuffer;
using Stub = grpc::TemplatedGenericStub<ByteBuffer, ByteBuffer>;

}  // namespace

class Streams::Impl {
 public:
  explicit Impl(const StreamOptions& options) : options_(options) {}

  void Open(const std::shared_ptr<grpc::Channel>& channel, const std::string& request) {
    streams_.push_back(std::make_unique<Stream>(this, channel));
    streams_.back()->Begin(request);
  }

  void EndAll() {
    for (const auto& stream : streams_) stream->Cancel();
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [this] { return open_ == 0; });
  }

  StreamCounts counts() {
    const std::lock_guard<std::mutex> lock(mutex_);
    StreamCounts counts;
    counts.answered = answered_;
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
      stub_.PrepareBidiStreamingCall(&context_, impl_->options_.method, {}, this);
      if (impl_->options_.half_close) {
        StartWriteLast(&request_, grpc::WriteOptions());
      } else {
        StartWrite(&request_);
      }
      StartRead(&message_);
      StartCall();
    }
    void Cancel() { context_.TryCancel(); }

    void OnReadDone(bool ok) override {
      if (!ok) return;
      ++impl_->messages_;
      if (!std::exchange(answered_, true)) ++impl_->answered_;
      impl_->bytes_ += static_cast<int64_t>(message_.Length());
      if (impl_->options_.look) Look();
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
      impl_->options_.look(text);
    }

    Impl* const impl_;
    Stub stub_;
    grpc::ClientContext context_;
    ByteBuffer request_;
    ByteBuffer message_;
    bool answered_ = false;
  };

  const StreamOptions options_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::atomic<int64_t> answered_{0};
  std::atomic<int64_t> messages_{0};
  std::atomic<int64_t> bytes_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  int open_ = 0;
  int64_t ended_count_ = 0;
  std::string first_end_;
};

Streams::Streams(const StreamOptions& options, const std::vector<std::string>& requests)
    : impl_(std::make_unique<Impl>(options)) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int c = 0; c < options.connections; ++c) {
    grpc::ChannelArguments arguments;
    arguments.SetInt("bench.connection", c);  // else all would share one
    channels.push_back(grpc::CreateCustomChannel(
        options.address, options.credentials.empty() ? LoadCredentials() : options.credentials[c],
        arguments));
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    impl_->Open(channels[i % channels.size()], requests[i]);
  }
}

Streams::~Streams() { impl_->EndAll(); }

StreamCounts Streams::counts() const { return impl_->counts(); }

}  // namespace berth::bench
