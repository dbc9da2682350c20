// ChangeWatcher: a watcher of all providers, which notes when it hears of one.
//
// Owns a stream and a thread. For one thread.
#ifndef BERTH_TESTS_FLEET_CHANGE_WATCHER_H_
#define BERTH_TESTS_FLEET_CHANGE_WATCHER_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "berth/placement/v1/watch.grpc.pb.h"
#include "tracker/ground/mutex.h"

namespace berth::fleet {

class ChangeWatcher {
 public:
  // Waits until the stream has begun.
  explicit ChangeWatcher(const std::string& target);
  ~ChangeWatcher();
  ChangeWatcher(const ChangeWatcher&) = delete;
  ChangeWatcher& operator=(const ChangeWatcher&) = delete;

  // Waits until a change of this provider has been heard since the last call. False if that takes
  // longer than `limit`.
  bool Await(const std::string& provider_uuid, std::chrono::nanoseconds limit);

 private:
  void Listen();

  grpc::ClientContext context_;
  const std::unique_ptr<placement::v1::WatchService::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<placement::v1::WatchResponse>> stream_;
  tracker::Mutex mutex_;
  tracker::CondVar changed_;
  std::set<std::string> heard_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace berth::fleet

#endif  // BERTH_TESTS_FLEET_CHANGE_WATCHER_H_
