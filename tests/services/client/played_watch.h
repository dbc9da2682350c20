// PlayedWatch: a placement process that is watched, and says what the script of a test says.
//
// Thread-safe.
#ifndef BERTH_TESTS_SERVICES_CLIENT_PLAYED_WATCH_H_
#define BERTH_TESTS_SERVICES_CLIENT_PLAYED_WATCH_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "services/client/cpp/endpoint.h"

namespace berth::client {

// Answers each stream with the next part of a script.
class PlayedWatch final : public placement::v1::WatchService::Service {
 public:
  using Part = std::function<grpc::Status(const placement::v1::WatchRequest&, grpc::ServerContext*,
                                          grpc::ServerWriter<placement::v1::WatchResponse>*)>;

  explicit PlayedWatch(std::vector<Part> parts) : parts_(std::move(parts)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~PlayedWatch() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status Watch(grpc::ServerContext* context, const placement::v1::WatchRequest* request,
                     grpc::ServerWriter<placement::v1::WatchResponse>* writer) override {
    const size_t now = streams_.fetch_add(1);
    return now < parts_.size() ? parts_[now](*request, context, writer) : Silence(context);
  }
  // Says nothing until the caller goes.
  static grpc::Status Silence(grpc::ServerContext* context) {
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
    return grpc::Status::CANCELLED;
  }
  static placement::v1::WatchResponse Complete(int64_t number, bool snapshot) {
    placement::v1::WatchResponse message;
    message.mutable_revision()->set_epoch(1);
    message.mutable_revision()->set_number(number);
    message.set_snapshot(snapshot);
    message.set_complete(true);
    return message;
  }

  int streams() const { return streams_; }
  std::shared_ptr<Endpoints> endpoints() const {
    return std::make_shared<Endpoints>(std::vector<std::string>{address_});
  }

 private:
  std::vector<Part> parts_;
  std::atomic<int> streams_{0};
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

inline placement::v1::Revision At(int64_t number) {
  return PlayedWatch::Complete(number, false).revision();
}

}  // namespace berth::client

#endif  // BERTH_TESTS_SERVICES_CLIENT_PLAYED_WATCH_H_
