#include "tests/bench/closed_loop.h"

#include <sys/prctl.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "tests/bench/credentials.h"

namespace berth::bench {
namespace {

constexpr int kMessageBytesMax = 64 << 20;
// To wake more often would cost the cores more than the calls: what is due meanwhile waits so long.
constexpr absl::Duration kTick = absl::Microseconds(500);

using Reader = grpc::ClientAsyncResponseReader<grpc::ByteBuffer>;

// The place of one operation in flight, used again for the next.
struct Slot {
  grpc::GenericStub* stub = nullptr;
  int64_t number = 0;
  std::optional<grpc::ClientContext> context;
  std::unique_ptr<Reader> reader;
  grpc::ByteBuffer reply;
  grpc::Status status;
  absl::Time begun;  // or when it was due
};

class Loop {
 public:
  explicit Loop(const LoopOptions& options) : options_(options), slots_(options.in_flight) {
    for (int i = 0; i < options.connections; ++i) {
      grpc::ChannelArguments arguments;
      // Else all channels would use one connection.
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
      channels_.push_back(grpc::CreateCustomChannel(options.address, LoadCredentials(), arguments));
      stubs_.push_back(std::make_unique<grpc::GenericStub>(channels_.back()));
    }
    for (size_t i = 0; i < slots_.size(); ++i) slots_[i].stub = stubs_[i % stubs_.size()].get();
  }

  LoopResult Run() {
    AwaitConnections();
    std::thread reaper([this] { Reap(); });
    {
      std::unique_lock<std::mutex> lock(mutex_);
      begun_ = absl::Now();
      for (Slot& slot : slots_) idle_.push_back(&slot);
      if (options_.rate > 0) {
        StartWhenDue(lock);
      } else {
        StartIdle();
      }
      changed_.wait(lock, [this] { return in_flight_ == 0; });
    }
    queue_.Shutdown();
    reaper.join();
    return Summary();
  }

 private:
  // Calls of channels that cannot connect fail later.
  void AwaitConnections() {
    for (const auto& channel : channels_) channel->GetState(/*try_to_connect=*/true);
    const auto deadline = absl::ToChronoTime(absl::Now() + options_.call_limit);
    for (const auto& channel : channels_) {
      if (!channel->WaitForConnected(deadline)) return;
    }
  }
  bool MayStart() const {
    return started_ < options_.calls_max && absl::Now() - begun_ < options_.duration;
  }
  absl::Time Due(int64_t number) const {
    return begun_ + absl::Seconds(static_cast<double>(number) / options_.rate);
  }

  // Takes the answers, each as it comes, and begins the next where no rate is given.
  void Reap() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      const absl::Time now = absl::Now();
      const std::lock_guard<std::mutex> lock(mutex_);
      Slot& slot = *static_cast<Slot*>(tag);
      if (!GoOn(slot, now)) {
        --in_flight_;
        idle_.push_back(&slot);
      }
      if (options_.rate <= 0) StartIdle();
      // Whom nothing keeps waiting is not woken: that would cost more than all else here.
      if (in_flight_ == 0 || all_busy_) changed_.notify_one();
    }
  }

  void StartIdle() {
    while (!idle_.empty() && MayStart()) {
      const std::string request = options_.request(started_);
      Call(Take(absl::Now()), options_.method, request);
    }
  }

  // The queue's own time-outs would not do: they are milliseconds, rounded up.
  void StartWhenDue(std::unique_lock<std::mutex>& lock) {
    prctl(PR_SET_TIMERSLACK, 1);
    absl::Time woke = begun_;
    while (MayStart()) {
      const absl::Time due = Due(started_);
      const std::string request = options_.request(started_);
      if (due > absl::Now()) {
        woke = std::max(due, woke + kTick);
        lock.unlock();
        absl::SleepFor(woke - absl::Now());
        lock.lock();
      }
      all_busy_ = idle_.empty();
      changed_.wait(lock, [this] { return !idle_.empty(); });
      all_busy_ = false;
      if (!MayStart()) return;
      Slot& slot = Take(due);
      lock.unlock();
      Call(slot, options_.method, request);
      lock.lock();
    }
  }

  Slot& Take(absl::Time begun) {
    Slot& slot = *idle_.back();
    idle_.pop_back();
    slot.number = started_++;
    slot.begun = begun;
    ++in_flight_;
    return slot;
  }

  void Call(Slot& slot, const std::string& method, const std::string& bytes) {
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    slot.context.emplace();
    slot.context->set_deadline(absl::ToChronoTime(absl::Now() + options_.call_limit));
    slot.reply.Clear();
    slot.reader = slot.stub->PrepareUnaryCall(&*slot.context, method, request, &queue_);
    slot.reader->StartCall();
    slot.reader->Finish(&slot.reply, &slot.status, &slot);
  }

  // Judges the answer that is there since `now`. Whether the operation has begun a further call.
  bool GoOn(Slot& slot, absl::Time now) {
    grpc::Slice reply;
    const bool is_looked_at = options_.next || (options_.is_right && slot.status.ok() &&
                                                slot.number % options_.looked_at_each == 0);
    if (is_looked_at && slot.reply.Valid() && !slot.reply.TrySingleSlice(&reply).ok()) {
      slot.reply.DumpToSingleSlice(&reply);
    }
    const absl::string_view bytes(reinterpret_cast<const char*>(reply.begin()), reply.size());
    if (options_.next) {
      absl::StatusOr<std::optional<NextCall>> next = options_.next(slot.number, slot.status, bytes);
      if (next.ok() && next->has_value()) {
        Call(slot, (*next)->method, (*next)->request);
        return true;
      }
      End(slot, now, next.status());
    } else if (!slot.status.ok()) {
      End(slot, now,
          absl::UnknownError(
              absl::StrCat("code ", slot.status.error_code(), ": ", slot.status.error_message())));
    } else {
      const bool right = !is_looked_at || options_.is_right(slot.number, bytes);
      End(slot, now, right ? absl::OkStatus() : absl::InternalError("a wrong answer"));
    }
    return false;
  }

  void End(const Slot& slot, absl::Time now, const absl::Status& status) {
    if (!status.ok()) {
      if (result_.failed++ == 0) result_.first_failure = std::string(status.message());
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
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::vector<Slot*> idle_;
  int in_flight_ = 0;
  bool all_busy_ = false;  // one is due and waits for a slot
  int64_t started_ = 0;
  absl::Time begun_;
  absl::Time last_;  // when the last one that counts ended
  std::vector<double> times_us_;
  LoopResult result_;
};

}  // namespace

LoopResult RunLoop(const LoopOptions& options) { return Loop(options).Run(); }

}  // namespace berth::bench
