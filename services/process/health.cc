#include "services/process/health.h"

#include <map>
#include <optional>
#include <set>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "placement/ground/mutex.h"

namespace berth::services {
namespace {

using ::berth::placement::Mutex;
using ::berth::placement::MutexLock;
using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ServingStatus = HealthCheckResponse::ServingStatus;

// One open Watch call. It writes each new status. If several statuses come while one is being
// written, it writes only the newest of them.
class HealthWatcher : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  HealthWatcher(std::string name, std::function<void(HealthWatcher*)> on_done)
      : name_(std::move(name)), on_done_(std::move(on_done)) {}

  const std::string& name() const { return name_; }

  void Send(ServingStatus status) {
    MutexLock lock(&mutex_);
    wanted_ = status;
    WriteNext();
  }
  void End() {
    MutexLock lock(&mutex_);
    ending_ = true;
    WriteNext();
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(&mutex_);
    writing_ = false;
    if (!ok) ending_ = true;
    if (!ok) wanted_ = sent_;
    WriteNext();
  }
  void OnCancel() override { End(); }
  void OnDone() override {
    on_done_(this);
    delete this;
  }

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return;
    if (wanted_ != sent_) {
      sent_ = wanted_;
      message_.set_status(*sent_);
      writing_ = true;
      StartWrite(&message_);
    } else if (ending_) {
      finished_ = true;
      Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is stopping"));
    }
  }

  const std::string name_;
  const std::function<void(HealthWatcher*)> on_done_;
  Mutex mutex_;
  std::optional<ServingStatus> wanted_ ABSL_GUARDED_BY(mutex_);
  std::optional<ServingStatus> sent_ ABSL_GUARDED_BY(mutex_);
  HealthCheckResponse message_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

class Health::Impl : public grpc::health::v1::Health::CallbackService {
 public:
  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const HealthCheckRequest* request,
                                  HealthCheckResponse* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const ServingStatus status = StatusOf(request->service());
    response->set_status(status);
    reactor->Finish(status == HealthCheckResponse::SERVICE_UNKNOWN
                        ? grpc::Status(grpc::StatusCode::NOT_FOUND, "no such service")
                        : grpc::Status::OK);
    return reactor;
  }

  grpc::ServerWriteReactor<HealthCheckResponse>* Watch(grpc::CallbackServerContext*,
                                                       const HealthCheckRequest* request) override {
    auto* const watcher =
        new HealthWatcher(request->service(), [this](HealthWatcher* done) { Forget(done); });
    MutexLock lock(&mutex_);
    watchers_.insert(watcher);
    watcher->Send(StatusLocked(watcher->name()));
    if (stopped_) watcher->End();
    return watcher;
  }

  void Set(const std::string& name, bool serving) {
    MutexLock lock(&mutex_);
    const ServingStatus status =
        serving && !stopped_ ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
    const auto [at, inserted] = statuses_.try_emplace(name, status);
    if (!inserted && at->second == status) return;
    at->second = status;
    for (HealthWatcher* watcher : watchers_) {
      if (watcher->name() == name) watcher->Send(status);
    }
  }

  void Stop() {
    MutexLock lock(&mutex_);
    stopped_ = true;
    for (auto& [name, status] : statuses_) status = HealthCheckResponse::NOT_SERVING;
    for (HealthWatcher* watcher : watchers_) {
      watcher->Send(StatusLocked(watcher->name()));
      watcher->End();
    }
  }

 private:
  ServingStatus StatusOf(const std::string& name) {
    MutexLock lock(&mutex_);
    return StatusLocked(name);
  }
  ServingStatus StatusLocked(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = statuses_.find(name);
    return found == statuses_.end() ? HealthCheckResponse::SERVICE_UNKNOWN : found->second;
  }
  void Forget(HealthWatcher* watcher) {
    MutexLock lock(&mutex_);
    watchers_.erase(watcher);
  }

  Mutex mutex_;
  std::map<std::string, ServingStatus> statuses_ ABSL_GUARDED_BY(mutex_);
  std::set<HealthWatcher*> watchers_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

Health::Health() : impl_(std::make_unique<Impl>()) {}
Health::~Health() = default;
void Health::Set(const std::string& service, bool serving) { impl_->Set(service, serving); }
void Health::Stop() { impl_->Stop(); }
grpc::Service* Health::service() { return impl_.get(); }

}  // namespace berth::services
