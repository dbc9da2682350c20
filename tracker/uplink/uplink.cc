#include "tracker/uplink/uplink.h"

#include <grpcpp/grpcpp.h>

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/ground/mutex.h"
#include "tracker/uplink/session.h"

namespace berth::tracker {

class Uplink::Worker {
 public:
  Worker(Options options, std::vector<Node*> nodes, Callbacks callbacks)
      : options_(std::move(options)),
        nodes_(std::move(nodes)),
        callbacks_(std::move(callbacks)),
        backoff_(options_.backoff, options_.seed),
        thread_([this] { Run(); }) {}

  ~Worker() {
    {
      MutexLock lock(&mutex_);
      stopping_ = true;
      if (session_ != nullptr) session_->Stop();
      changed_.NotifyAll();
    }
    thread_.join();
  }

  void Notify() {
    MutexLock lock(&mutex_);
    if (session_ != nullptr) session_->Notify();
  }

  void Greet() {
    MutexLock lock(&mutex_);
    if (session_ != nullptr) session_->Greet();
  }

  void AuditDone(const std::string& order_id) {
    MutexLock lock(&mutex_);
    if (session_ != nullptr) session_->AuditDone(order_id);
  }

  Status status() const {
    MutexLock lock(&mutex_);
    Status status = status_;
    if (session_ != nullptr) {
      status.heartbeats += session_->heartbeats();
      status.conflicts += session_->conflicts();
      if (session_->welcomed()) {
        status.state = State::kConnected;
        ++status.sessions;
      }
    }
    return status;
  }

 private:
  void Run();
  // Records how a session ended. Returns false if no further session may follow.
  bool Conclude(const UplinkEnd& end);
  void Wait(std::chrono::milliseconds patience) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  const std::vector<Node*> nodes_;
  const Callbacks callbacks_;
  Backoff backoff_;       // used by the thread only
  int64_t failures_ = 0;  // in a row; used by the thread only

  mutable Mutex mutex_;
  CondVar changed_;
  Status status_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<UplinkSession> session_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool welcomed_once_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

void Uplink::Worker::Run() {
  grpc::ChannelArguments arguments;
  // Keepalive finds out that placement has vanished without closing the connection. It must do so
  // before the lease that placement keeps for the tracker expires.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  // Placement limits the sizes of its messages by an option that the tracker does not know.
  arguments.SetMaxReceiveMessageSize(-1);
  const auto channel =
      grpc::CreateCustomChannel(options_.target, grpc::InsecureChannelCredentials(), arguments);
  while (true) {
    UplinkSession* session = nullptr;
    {
      MutexLock lock(&mutex_);
      if (stopping_) break;
      session_ =
          std::make_unique<UplinkSession>(options_, nodes_, callbacks_, channel, !welcomed_once_);
      session = session_.get();
    }
    const auto begun = std::chrono::steady_clock::now();
    UplinkEnd end = session->Run();
    end.lasted = std::chrono::steady_clock::now() - begun >= options_.heartbeat;
    {
      MutexLock lock(&mutex_);
      status_.heartbeats += session->heartbeats();
      status_.conflicts += session->conflicts();
      if (session->welcomed()) {
        ++status_.sessions;
        welcomed_once_ = true;
      }
      status_.state = State::kConnecting;
      session_.reset();
    }
    for (Node* const node : nodes_) node->Disconnect();
    if (!Conclude(end)) return;
    Wait(backoff_.Next());
  }
  MutexLock lock(&mutex_);
  status_.state = State::kStopped;
}

bool Uplink::Worker::Conclude(const UplinkEnd& end) {
  MutexLock lock(&mutex_);
  status_.error = std::string(end.status.message());
  if (stopping_) {
    status_.state = State::kStopped;
    return false;
  }
  if (end.fenced || end.deleted) {
    status_.state = end.fenced ? State::kFenced : State::kDeleted;
    callbacks_.log(end.status,
                   end.fenced ? "a newer tracker process of this host has taken over"
                              : "placement has deleted the service record: restart the tracker");
    return false;
  }
  if (end.welcomed) failures_ = 0;
  // Only a session that lasted for a while resets the waits. A session that ended soon after its
  // Welcome does not.
  if (end.welcomed && end.lasted) backoff_.Reset();
  // Of several failures in a row, logs the first and then every tenth one (T-199).
  if (failures_++ % 10 == 0) callbacks_.log(end.status, "there is no session with placement");
  return true;
}

void Uplink::Worker::Wait(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  MutexLock lock(&mutex_);
  while (!stopping_ && std::chrono::steady_clock::now() < deadline) {
    changed_.WaitUntil(&mutex_, deadline);
  }
}

Uplink::Uplink(Options options, std::vector<Node*> nodes, Callbacks callbacks)
    : worker_(
          std::make_unique<Worker>(std::move(options), std::move(nodes), std::move(callbacks))) {}

Uplink::~Uplink() = default;

void Uplink::Notify() { worker_->Notify(); }

void Uplink::Greet() { worker_->Greet(); }

void Uplink::AuditDone(const std::string& order_id) { worker_->AuditDone(order_id); }

Uplink::Status Uplink::status() const { return worker_->status(); }

}  // namespace berth::tracker
