#include "tests/bench/closed_loop.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/byte_buffer.h"

namespace berth::bench {
namespace {

constexpr absl::Duration kCallLimit = absl::Seconds(20);
constexpr int kMessageBytesMax = 64 << 20;

using Reader = grpc::ClientAsyncResponseReader<grpc::ByteBuffer>;

// The place of one call in flight, used again for the next.
struct Slot {
  grpc::GenericStub* stub = nullptr;
  int64_t number = 0;
  std::optional<grpc::ClientContext> context;
  std::unique_ptr<Reader> reader;
  grpc::ByteBuffer reply;
  grpc::Status status;
  absl::Time begun;
};

class Loop {
 public:
  explicit Loop(const LoopOptions& options) : options_(options), slots_(options.in_flight) {
    for (int i = 0; i < options.connections; ++i) {
      grpc::ChannelArguments arguments;
      // Else all channels would use one connection.
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
      stubs_.push_back(std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(
          options.address, grpc::InsecureChannelCredentials(), arguments)));
    }
    for (size_t i = 0; i < slots_.size(); ++i) slots_[i].stub = stubs_[i % stubs_.size()].get();
  }

  LoopResult Run() {
    begun_ = absl::Now();
    for (Slot& slot : slots_) Start(slot);
    while (in_flight_ > 0) {
      void* tag = nullptr;
      bool ok = false;
      queue_.Next(&tag, &ok);
      --in_flight_;
      Slot& slot = *static_cast<Slot*>(tag);
      End(slot);
      Start(slot);
    }
    queue_.Shutdown();
    return Summary();
  }

 private:
  void Start(Slot& slot) {
    const absl::Time now = absl::Now();
    if (started_ >= options_.calls_max || now - begun_ >= options_.duration) return;
    slot.number = started_++;
    const grpc::Slice slice(options_.request(slot.number));
    const grpc::ByteBuffer request(&slice, 1);
    slot.context.emplace();
    slot.context->set_deadline(absl::ToChronoTime(now + kCallLimit));
    slot.reply.Clear();
    slot.begun = now;
    slot.reader = slot.stub->PrepareUnaryCall(&*slot.context, options_.method, request, &queue_);
    slot.reader->StartCall();
    slot.reader->Finish(&slot.reply, &slot.status, &slot);
    ++in_flight_;
  }

  bool IsRight(const Slot& slot) const {
    if (!options_.is_right) return true;
    grpc::Slice slice;
    if (!slot.reply.TrySingleSlice(&slice).ok() && !slot.reply.DumpToSingleSlice(&slice).ok()) {
      return false;
    }
    const auto* bytes = reinterpret_cast<const char*>(slice.begin());
    return options_.is_right(slot.number, absl::string_view(bytes, slice.size()));
  }

  void End(const Slot& slot) {
    const absl::Time now = absl::Now();
    const bool right = slot.status.ok() && IsRight(slot);
    if (!right) {
      if (result_.failed++ == 0) {
        result_.first_failure = slot.status.ok() ? "a wrong answer"
                                                 : absl::StrCat("code ", slot.status.error_code(),
                                                                ": ", slot.status.error_message());
      }
      return;
    }
    ++result_.done;
    if (now - begun_ < options_.warm_up || now - begun_ >= options_.duration) return;
    times_us_.push_back(absl::ToDoubleMicroseconds(now - slot.begun));
    last_ = now;
  }

  LoopResult Summary() {
    if (times_us_.empty()) return result_;
    const absl::Duration measured = last_ - begun_ - options_.warm_up;
    result_.per_second = static_cast<double>(times_us_.size()) / absl::ToDoubleSeconds(measured);
    std::sort(times_us_.begin(), times_us_.end());
    result_.median_us = times_us_[times_us_.size() / 2];
    result_.p99_us = times_us_[times_us_.size() * 99 / 100];
    return result_;
  }

  const LoopOptions& options_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
  std::vector<Slot> slots_;
  int in_flight_ = 0;
  int64_t started_ = 0;
  absl::Time begun_;
  absl::Time last_;  // when the last one that counts ended
  std::vector<double> times_us_;
  LoopResult result_;
};

}  // namespace

LoopResult RunLoop(const LoopOptions& options) { return Loop(options).Run(); }

}  // namespace berth::bench
