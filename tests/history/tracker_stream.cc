#include "tests/history/tracker_stream.h"

#include <grpcpp/create_channel.h>

#include <utility>

namespace berth::history {
namespace {

namespace pb = ::berth::placement::v1;

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

TrackerStream::TrackerStream(const std::string& address)
    : stub_(pb::ReportService::NewStub(ChannelTo(address))),
      stream_(stub_->Session(&context_)),
      thread_([this] { Read(); }) {}

TrackerStream::~TrackerStream() {
  context_.TryCancel();
  thread_.join();
}

void TrackerStream::Read() {
  pb::SessionResponse response;
  while (stream_->Read(&response)) {
    const placement::MutexLock lock(&mutex_);
    received_.push_back(std::move(response));
    response = pb::SessionResponse();
    changed_.Signal();
  }
  (void)stream_->Finish();
  const placement::MutexLock lock(&mutex_);
  ended_ = true;
  changed_.Signal();
}

std::optional<pb::SessionResponse> TrackerStream::Next(std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  const placement::MutexLock lock(&mutex_);
  while (received_.empty()) {
    const auto left = until - std::chrono::steady_clock::now();
    if (ended_ || left.count() <= 0) return std::nullopt;
    (void)changed_.WaitFor(&mutex_, left);
  }
  pb::SessionResponse first = std::move(received_.front());
  received_.pop_front();
  return first;
}

bool TrackerStream::ended() const {
  const placement::MutexLock lock(&mutex_);
  return ended_ && received_.empty();
}

}  // namespace berth::history
